"""AAP against its oracle, the mean of all values; epochs, and values that peers should not send."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.protocols.aggregation import (
    CEILING_SLACK,
    EPOCH_LEAP,
    INSTANCES_MAX,
    RATIO,
    AggregationParameters,
    EpochAverage,
    EpochCount,
    Report,
)
from tests.unit.protocols.gossiping import cycle, exchange, median_size

PARAMETERS = AggregationParameters()
# Variance falls to this share in a cycle in which each node meets one random node (TOCS 2005, section 3).
REDUCTION = 1 / (2 * math.sqrt(math.e))


def averages(values, low=0.0, high=100.0):
    return [EpochAverage(PARAMETERS, lambda value=value: value, low, high) for value in values]


def counts(count, seed=1):
    return [EpochCount(PARAMETERS, seed, node) for node in range(count)]


def run_epoch(nodes, generator, lie=None):
    for _ in range(PARAMETERS.epoch_cycles):
        cycle(nodes, generator, lie)


def test_the_variance_falls_to_the_published_share_in_every_cycle_and_the_mean_stays():
    generator = np.random.default_rng(1)
    values = generator.random(1_000) * 100
    nodes = averages(values)
    for node in nodes:
        node.tick()
    variances = [np.var(values)]
    for _ in range(12):
        cycle(nodes, generator)
        variances.append(np.var([node.present for node in nodes]))
    shares = np.array(variances[1:]) / np.array(variances[:-1])
    assert np.exp(np.log(shares).mean()) == pytest.approx(REDUCTION, rel=0.03)
    assert shares.max() < 1.2 * REDUCTION
    # The oracle: the mean of all values, at every node.
    assert np.mean([node.present for node in nodes]) == pytest.approx(values.mean(), abs=1e-9)
    assert [node.present for node in nodes] == pytest.approx([values.mean()] * 1_000, rel=0.01)


def test_an_average_follows_values_that_change_from_one_epoch_to_the_next():
    generator = np.random.default_rng(2)
    level = [10.0]
    nodes = [EpochAverage(PARAMETERS, lambda: level[0], 0, 100) for _ in range(50)]
    run_epoch(nodes, generator)
    level[0] = 60.0
    for _ in range(2):
        run_epoch(nodes, generator)
    assert {round(node.mean, 9) for node in nodes} == {60.0}


@pytest.mark.parametrize("count", [2, 7, 30, 300])
@pytest.mark.parametrize("seed", [1, 2])
def test_a_count_finds_the_number_of_nodes(count, seed):
    generator = np.random.default_rng(seed)
    nodes = counts(count, seed)
    for _ in range(2):
        run_epoch(nodes, generator)
    cycle(nodes, generator)
    assert [node.size for node in nodes] == pytest.approx([count] * count, rel=0.05)


def test_an_isolated_node_counts_itself():
    (node,) = counts(1)
    for _ in range(100):
        node.tick()
        node.offer()
    assert node.size == 1


def test_a_count_follows_nodes_that_leave_and_nodes_that_join():
    generator = np.random.default_rng(3)
    nodes = counts(200)
    run_epoch(nodes, generator)
    nodes = nodes[:100]
    for _ in range(3):
        run_epoch(nodes, generator)
    assert median_size(nodes) == pytest.approx(100, rel=0.05)
    # Newcomers know no epoch; they hear of it from the first node that they meet.
    nodes += [EpochCount(PARAMETERS, 1, node) for node in range(500, 700)]
    for _ in range(3):
        run_epoch(nodes, generator)
    assert len({node.epoch for node in nodes}) <= 2
    assert median_size(nodes) == pytest.approx(300, rel=0.05)


def test_exchanges_that_cross_keep_the_sum():
    """Between an offer and its answer, both nodes exchange with others."""
    nodes = averages([0.0, 30.0, 60.0, 90.0])
    for node in nodes:
        node.tick()
    first, second = nodes[0].offer(), nodes[1].offer()
    answers = nodes[1].answer(first), nodes[2].answer(second)
    other = nodes[3].answer(nodes[2].offer())
    nodes[0].take(answers[0])
    nodes[1].take(answers[1])
    nodes[2].take(other)
    assert sum(node.present for node in nodes) == pytest.approx(180)


def test_all_nodes_keep_the_same_instances_when_there_are_too_many():
    generator = np.random.default_rng(4)
    nodes = counts(200)
    for _ in range(20):
        cycle(nodes, generator)
    kept = {frozenset(instance for instance, _ in node.offer().values) for node in nodes}
    assert len(kept) == 1
    assert len(next(iter(kept))) == PARAMETERS.instances


def test_nodes_with_the_same_seed_and_the_same_exchanges_have_the_same_state():
    states = []
    for _ in range(2):
        generator = np.random.default_rng(5)
        nodes = counts(40)
        run_epoch(nodes, generator)
        states.append([node.offer() for node in nodes])
    assert states[0] == states[1]


# What a peer may send.


def liars(nodes, share, say):
    """A function for `cycle` that makes the first nodes lie."""
    lying = {id(node) for node in nodes[: round(share * len(nodes))]}

    def lie(node, report):
        if id(node) not in lying:
            return report
        return Report(
            report.epoch, report.cycle, tuple((instance, say(node, value)) for instance, value in report.values)
        )

    return lie


def largest_plausible(node, value):
    return max(2.0 ** -max(node._cycle - CEILING_SLACK, 0), RATIO * value)


@pytest.mark.parametrize(
    ("share", "say", "factor"),
    [
        (0.05, lambda node, value: 0.0, 2.1),
        (0.05, lambda node, value: math.nan, 1.3),
        (0.05, lambda node, value: math.inf, 1.3),
        (0.05, lambda node, value: -1e300, 1.3),
        (0.01, largest_plausible, 5.0),
    ],
    ids=["zero", "nan", "infinite", "negative", "largest"],
)
def test_a_stated_share_of_lying_nodes_changes_a_size_by_less_than_a_stated_factor(share, say, factor):
    generator = np.random.default_rng(6)
    nodes = counts(400)
    lie = liars(nodes, share, say)
    for _ in range(2):
        run_epoch(nodes, generator, lie)
    cycle(nodes, generator, lie)
    assert 400 / factor < median_size(nodes[20:]) < 400 * factor


def test_a_share_of_lying_nodes_moves_an_average_by_a_bounded_part_of_its_range():
    generator = np.random.default_rng(7)
    nodes = averages([50.0] * 400)
    lie = liars(nodes, 0.01, lambda node, value: 100.0)
    run_epoch(nodes, generator, lie)
    # An honest node meets a lying one in 2% of its exchanges, each of which moves it by half of the distance: after 30
    # cycles at most 1 - 0.99^30 of the distance to the claim, 26%.
    assert 50 <= np.mean([node.present for node in nodes[4:]]) < 50 + 0.26 * 50


def test_a_node_that_names_later_and_later_epochs_cannot_keep_others_from_finishing_one():
    generator = np.random.default_rng(8)
    nodes = counts(100)
    run_epoch(nodes, generator)

    def lie(node, report):
        return Report(report.epoch + 1, report.cycle, report.values) if node is nodes[0] else report

    for _ in range(3):
        run_epoch(nodes, generator, lie)
    assert median_size(nodes[1:]) == pytest.approx(100, rel=0.3)


def test_a_newcomer_that_hears_a_false_epoch_comes_back():
    generator = np.random.default_rng(9)
    nodes = counts(60)
    run_epoch(nodes, generator)
    newcomer = EpochCount(PARAMETERS, 1, 1_000)
    assert newcomer.answer(Report(2**60, 0, ())) is not None
    # Nobody else follows.
    assert nodes[0].answer(newcomer.offer()) is None
    nodes.append(newcomer)
    for _ in range(4):
        run_epoch(nodes, generator)
    assert max(node.epoch for node in nodes) < EPOCH_LEAP
    assert newcomer.size == pytest.approx(61, rel=0.05)


def test_an_answer_without_an_offer_and_an_answer_of_another_epoch_change_nothing():
    one, other = counts(2)
    one.tick()
    before = one.offer()
    one.take(None)
    one.take(Report(0, 0, ((9, 0.5),)))
    assert one.offer() == before
    one.take(Report(5, 0, ((9, 0.5),)))
    assert one.offer() == before
    assert other.epoch == 0


reports = st.builds(
    Report,
    st.integers(0, 2**62),
    st.integers(0, 2**62),
    st.lists(st.tuples(st.integers(0, 2**64 - 1), st.floats()), max_size=INSTANCES_MAX).map(tuple),
)


@given(st.lists(st.tuples(st.booleans(), reports), max_size=30))
def test_the_state_stays_bounded_and_valid_whatever_peers_send(steps):
    count, average = EpochCount(PARAMETERS, 1, 3), EpochAverage(PARAMETERS, lambda: 5.0, 0, 10)
    for is_answer, report in steps:
        for node in (count, average):
            node.tick()
            node.offer()
            if is_answer:
                node.take(report)
            else:
                node.answer(report)
        assert len(count.offer().values) <= PARAMETERS.instances
        assert all(0 <= value <= 1 for _, value in count.offer().values)
        assert 0 <= average.present <= 10
        assert count.present is None or count.present >= 1


def test_an_average_reads_a_senseless_local_value_as_its_lower_bound():
    node = EpochAverage(PARAMETERS, lambda: math.nan, 2, 10)
    assert node.mean == 2
    exchange(node, EpochAverage(PARAMETERS, lambda: 4.0, 2, 10))
    assert node.present == 3
