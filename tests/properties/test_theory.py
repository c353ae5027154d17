"""The theory of gossip, compared with the paper's recurrences summed term by term."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import gamma as gamma_function
from scipy.special import zeta

from gossamer.model.arrays.degrees import DegreeLaw, degree_law, law_of_overlay, power_law, read_scale_free
from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.overlay import Overlay
from gossamer.model.values.errors import InputError
from gossamer.theory.buffers import full_share, load_for, loss_at, mean_full_shares
from gossamer.theory.inverse import degree_for, gossip_for, topics_on
from gossamer.theory.percolation import (
    GossipSettings,
    gossip_threshold,
    mean_receivers,
    mean_subscribers,
    reach,
    subscriber_threshold,
    threshold,
)

# The number of terms that are summed; the remaining probability belongs to events that reach more nodes.
TERMS = 400

shares = st.floats(0, 1)


@st.composite
def laws(draw):
    """A degree law with a few small degrees."""
    weights = draw(st.lists(st.floats(0.01, 1), min_size=2, max_size=5))
    degrees = draw(st.lists(st.integers(0, 6), min_size=len(weights), max_size=len(weights), unique=True))
    assume(any(degrees))
    total = sum(weights)
    text = ",".join(f"{degree}={weight / total:.17g}" for degree, weight in zip(degrees, weights, strict=True))
    return degree_law(f"given:{text}")


def forwards(law: DegreeLaw, link: float) -> tuple[np.ndarray, np.ndarray]:
    """Equations 1 and 2: the probabilities that a node, or the end of a link, forwards an event to i others."""
    f, f_link = np.zeros(8), np.zeros(8)
    for degree, share in zip(law.degrees.astype(int), law.shares, strict=True):
        for i in range(degree + 1):
            f[i] += share * math.comb(degree, i) * link**i * (1 - link) ** (degree - i)
        for i in range(degree):
            excess = degree * share / law.mean
            f_link[i] += excess * math.comb(degree - 1, i) * link**i * (1 - link) ** (degree - 1 - i)
    return f, f_link


def composed(outer: np.ndarray, inner: np.ndarray) -> np.ndarray:
    """x * outer(inner(x)) up to TERMS."""
    result = np.zeros(TERMS)
    for coefficient in outer[::-1]:
        result = np.convolve(result, inner)[:TERMS]
        result[0] += coefficient
    return np.concatenate(([0.0], result[:-1]))


def receivers(law: DegreeLaw, link: float) -> np.ndarray:
    """r_i of equations 9 and 10: the probability that an event reaches i nodes."""
    f, f_link = forwards(law, link)
    along_link = np.zeros(TERMS)
    for _ in range(TERMS):
        further = composed(f_link, along_link)
        if np.abs(further - along_link).max() < 1e-15:
            break
        along_link = further
    return composed(f, along_link)


def ends_in_time(r: np.ndarray) -> bool:
    """Whether the terms that are not summed are negligible, except for events that never die out."""
    return bool(r[-TERMS // 10 :].sum() < 1e-12)


@settings(max_examples=60)
@given(law=laws(), subscribers=shares, gamma=shares)
def test_equation_17_is_the_mean_of_the_papers_recurrence(law, subscribers, gamma):
    gossip = GossipSettings(subscribers, gamma)
    assume(gossip.link * law.mean_excess < 0.8)
    r = receivers(law, gossip.link)
    assume(ends_in_time(r))
    assert r.sum() == pytest.approx(1, abs=1e-9)
    expected = r @ np.arange(TERMS)
    assert mean_receivers(law, gossip) == pytest.approx(expected, rel=1e-4)
    found = reach(law, gossip, 10**9)
    assert not found.percolates
    assert found.mean_receivers == mean_receivers(law, gossip)
    assert found.messages_per_event == pytest.approx(expected - 1, rel=1e-4, abs=1e-9)
    # The form in which the paper prints the equation.
    link, p, p2 = gossip.link, law.mean, law.mean_square
    assert mean_receivers(law, gossip) == pytest.approx(1 + link * p * p / ((1 + link) * p - link * p2))


@settings(max_examples=60)
@given(law=laws(), subscribers=shares, gamma=shares)
def test_above_the_threshold_the_remaining_probability_is_that_of_events_that_take_off(law, subscribers, gamma):
    gossip = GossipSettings(subscribers, gamma)
    assume(gossip.link * law.mean_excess > 1.3)
    found = reach(law, gossip, 10**6)
    assert found.percolates
    r = receivers(law, gossip.link)
    assume(ends_in_time(r))
    assert found.takes_off == pytest.approx(1 - r.sum(), abs=1e-7)
    inside = (
        found.takes_off
        * 10**6
        * (subscribers * found.subscribers_reached + (1 - subscribers) * found.others_reached)
        / found.takes_off
    )
    small = found.receivers_per_event - inside
    assert small == pytest.approx(r @ np.arange(TERMS), rel=1e-3, abs=1e-3)


@settings(max_examples=60)
@given(law=laws(), subscribers=shares, gamma=shares)
def test_shares_lie_between_0_and_1_and_subscribers_are_reached_more_often(law, subscribers, gamma):
    found = reach(law, GossipSettings(subscribers, gamma), 1000)
    assert 0 <= found.others_reached <= found.subscribers_reached + 1e-12
    assert found.subscribers_reached <= found.takes_off + 1e-12 <= 1 + 2e-12
    if found.receivers_per_event is None:
        # The formulas do not apply close to the threshold.
        assert abs(GossipSettings(subscribers, gamma).link * law.mean_excess - 1) < 0.02
        return
    assert 0 <= found.messages_per_event <= 1000 * law.mean + 1e-6
    assert 1 - 1e-9 <= found.receivers_per_event <= 1000
    assert 0 <= found.subscribers_per_event <= found.receivers_per_event + 1e-9


@settings(max_examples=40)
@given(law=laws(), subscribers=st.floats(0.01, 0.99), target=st.floats(0.01, 0.99))
def test_the_smallest_gossip_probability_reaches_the_target_and_a_smaller_one_does_not(law, subscribers, target):
    def reached(gamma):
        return reach(law, GossipSettings(subscribers, gamma), 1).subscribers_reached

    if reached(1.0) < target:
        with pytest.raises(InputError, match=f"the best, with 1, is {reached(1.0):.6g}"):
            gossip_for(law, subscribers, target)
        return
    gamma = gossip_for(law, subscribers, target)
    assert reached(gamma) >= target
    assert gamma == 0 or reached(max(gamma - 1e-9, 0)) < target


def test_the_smallest_mean_degree_reaches_the_target_and_a_smaller_one_does_not():
    gossip = GossipSettings(0.1, 0.3)
    mean = degree_for("poisson", gossip, 0.99)
    assert reach(degree_law(f"poisson:{mean:.17g}"), gossip, 1).subscribers_reached >= 0.99
    assert reach(degree_law(f"poisson:{mean - 1e-6:.17g}"), gossip, 1).subscribers_reached < 0.99
    degree = degree_for("regular", gossip, 0.99)
    reached = [reach(degree_law(f"regular:{k:.0f}"), gossip, 1).subscribers_reached for k in (degree - 1, degree)]
    assert reached[0] < 0.99 <= reached[1]


@given(law=laws(), subscribers=shares, gamma=shares)
def test_events_percolate_above_the_threshold_and_not_below(law, subscribers, gamma):
    gossip = GossipSettings(subscribers, gamma)
    assume(abs(gossip.link * law.mean_excess - 1) > 1e-3)
    assert reach(law, gossip, 1000).percolates == (gossip.link > threshold(law))
    least = gossip_threshold(law, subscribers)
    assert (least is not None and gamma >= least) == (gossip.link > threshold(law))
    fewest = subscriber_threshold(law, gamma)
    assert (fewest is not None and subscribers >= fewest) == (gossip.link > threshold(law))


def test_independently_computed_figures_are_reproduced():
    law = degree_law("poisson:5")
    for subscribers, gamma, expected in ((0.3, 0.1, 5587), (0.1, 0.3, 9966), (0.1, 0.6, 18032)):
        found = reach(law, GossipSettings(subscribers, gamma), 20_000)
        assert found.receivers_per_event == pytest.approx(expected, abs=1)
    assert mean_subscribers(law, GossipSettings(0.05, 0.05)) == pytest.approx(0.538, abs=5e-4)
    assert mean_subscribers(law, GossipSettings(0.1, 0.05)) == pytest.approx(1.918, abs=5e-4)
    assert 0.05 * mean_receivers(law, GossipSettings(0.05, 0.05)) == pytest.approx(0.098, abs=5e-4)
    assert threshold(law) == pytest.approx(0.2)


def test_an_event_exactly_at_the_threshold_does_not_percolate():
    ring = reach(degree_law("regular:2"), GossipSettings(1.0, 1.0), 1000)
    assert (ring.percolates, ring.mean_receivers) == (False, None)
    assert ring.receivers_per_event is ring.subscribers_per_event is ring.messages_per_event is None
    nobody = reach(degree_law("poisson:5"), GossipSettings(0.0, 0.0), 1000)
    assert (nobody.mean_receivers, nobody.mean_subscribers, nobody.messages_per_event) == (1, 0, 0)
    alone = reach(degree_law("regular:0"), GossipSettings(0.5, 1.0), 1000)
    assert (alone.receivers_per_event, alone.messages_per_event) == (1, 0)


@pytest.mark.parametrize("distance", [-1e-5, -1e-9, 0, 1e-9, 1e-5])
def test_close_to_the_threshold_no_number_of_receivers_is_given(distance):
    """The mean of the infinite network exceeds the finite one; simulations (20 networks, 400 events each) give 13."""
    gossip = GossipSettings(0.1, (0.2 * (1 + distance) - 0.1) / 0.9)
    found = reach(degree_law("poisson:5"), gossip, 1000)
    assert found.takes_off < 1e-4
    assert found.receivers_per_event is found.subscribers_per_event is found.messages_per_event is None
    # A larger network may come closer.
    larger = reach(degree_law("poisson:5"), gossip, 10**13)
    assert (larger.receivers_per_event is None) == (distance == 0)


@pytest.mark.parametrize(
    ("law", "loss"), [("regular:2", 0), ("regular:1", 0), ("regular:3", 0.5), ("regular:11", 0.9), ("poisson:1", 0)]
)
def test_there_is_no_threshold_where_events_never_percolate(law, loss):
    found = degree_law(law)
    for subscribers in (0.0, 0.3, 1.0):
        assert not reach(found, GossipSettings(subscribers, 1.0, loss), 1000).percolates
        assert gossip_threshold(found, subscribers, loss) is None
        assert subscriber_threshold(found, subscribers, loss) is None


def test_lost_copies_count_as_sent():
    law = degree_law("poisson:5")
    for loss in (0.5, 1.0):
        found = reach(law, GossipSettings(0.1, 0.1, loss), 1000)
        assert found.messages_per_event * (1 - loss) == pytest.approx(found.mean_receivers - 1)
    assert reach(law, GossipSettings(0.1, 0.1, 1.0), 1000).messages_per_event == pytest.approx(5 * 0.19)
    # Without subscribers, loss has the same effect as a smaller gamma.
    assert reach(law, GossipSettings(0.0, 0.6, 0.5), 1000).takes_off == pytest.approx(
        reach(law, GossipSettings(0.0, 0.3), 1000).takes_off
    )


def test_scale_free_networks_have_the_published_number_of_nodes():
    nodes = [int(read_scale_free(f"scale-free:6:{b}")[1].sum()) for b in (1, 1.1, 1.2, 1.3, 1.4, 1.5)]
    assert nodes == [2482, 1831, 1448, 1206, 1041, 919]


@given(mean=st.floats(0, 300), z=shares)
def test_the_generating_function_of_a_poisson_law_equals_its_closed_form(mean, z):
    law = degree_law(f"poisson:{mean:.17g}")
    assert law.reach(z) == pytest.approx(-math.expm1(-mean * z), abs=1e-9)
    if mean > 1e-3:
        assert law.excess_reach(z) == pytest.approx(-math.expm1(-mean * z), abs=1e-9)
        assert law.excess_slope(z) == pytest.approx(mean * math.exp(-mean * z), rel=1e-6, abs=1e-9)


@given(law=laws(), z=st.floats(0, 1))
def test_generating_functions_equal_their_sums(law, z):
    g0 = sum(p * (1 - z) ** k for k, p in zip(law.degrees, law.shares, strict=True))
    g1 = sum(k * p / law.mean * (1 - z) ** (k - 1) for k, p in zip(law.degrees, law.shares, strict=True) if k)
    assert law.reach(z) == pytest.approx(1 - g0, abs=1e-12)
    assert law.excess_reach(z) == pytest.approx(1 - g1, abs=1e-12)
    assert law.mean_excess == pytest.approx(law.degrees * (law.degrees - 1) @ law.shares / law.mean, abs=1e-9)


def test_a_power_law_without_a_cutoff_is_the_limit_of_laws_with_a_cutoff():
    endless = power_law(3.3, None)
    assert endless.mean == pytest.approx(power_law(3.3, 1_000_000).mean, rel=1e-7)
    # zeta(1.3) / zeta(3.3): the sum of a million terms is still 5% too small.
    assert endless.mean_square == pytest.approx(3.4133139)
    for z in (1e-4, 0.01, 0.3, 1):
        assert endless.reach(z) == pytest.approx(power_law(3.3, 1_000_000).reach(z), abs=1e-9)
    heavy = power_law(2.5, None)
    assert math.isinf(heavy.mean_square)
    # Because of the hubs, some events percolate even if links rarely carry them.
    assert threshold(heavy) == 0
    assert reach(heavy, GossipSettings(0.0, 0.01), 1000).percolates


def polylogarithm(order: float, x: float) -> float:
    """Li_order(x), the sum of x^k / k^order, by its integral."""

    def integrand(t: float) -> float:
        return t ** (order - 1) / (math.exp(t) / x - 1)

    spans = ((0, 1e-4), (1e-4, 0.01), (0.01, 1), (1, 60), (60, 700))
    return sum(quad(integrand, *span, epsabs=0, limit=500)[0] for span in spans) / gamma_function(order)


@pytest.mark.parametrize("exponent", [2.0000001, 2.001, 2.01, 2.2, 2.7, 3, 4.5, 6.9, 7, 8, 12, 30, 100])
def test_a_power_law_without_a_cutoff_has_the_generating_functions_of_its_closed_form(exponent):
    law = power_law(exponent, None)
    assert law.shares.sum() == pytest.approx(1)
    assert law.degrees @ law.shares == pytest.approx(law.mean)
    assert law.mean == pytest.approx(zeta(exponent - 1) / zeta(exponent))
    assert law.mean_square == (pytest.approx(zeta(exponent - 2) / zeta(exponent)) if exponent > 3 else math.inf)
    for z in (0.01, 0.3, 0.9):
        g0 = polylogarithm(exponent, 1 - z) / zeta(exponent)
        g1 = polylogarithm(exponent - 1, 1 - z) / (1 - z) / zeta(exponent - 1)
        assert law.reach(z) == pytest.approx(1 - g0, rel=1e-6, abs=1e-12)
        assert law.excess_reach(z) == pytest.approx(1 - g1, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("exponent", [2.0000001, 2.001, 2.01])
def test_with_an_exponent_near_two_nearly_every_link_leads_to_a_hub(exponent):
    """In the limit of exponent 2, a message that leaves its publisher over any link takes off."""
    law, gossip = power_law(exponent, None), GossipSettings(0.5, 0.6)
    found = reach(law, gossip, 1000)
    limit = 1 - polylogarithm(2, 1 - gossip.link) / zeta(2)
    assert found.takes_off == pytest.approx(limit, abs=0.01)
    assert found.subscribers_reached == pytest.approx(limit, abs=0.02)
    assert mean_full_shares(law, 8, 1e9)[0] == pytest.approx(1)


def test_topics_of_a_workload_percolate_by_their_shares():
    rng = np.random.default_rng(1)
    overlay = Overlay.from_links(rng.integers(0, 200, 500), rng.integers(0, 200, 500), 200)
    nodes = np.concatenate((np.arange(4), np.arange(120)))
    interest = Interest.from_pairs(nodes, np.repeat([0, 1], [4, 120]), 200, 2)
    law = law_of_overlay("it", overlay)
    assert law.mean == pytest.approx(overlay.degrees.mean())
    rare, common = topics_on(law, interest, 0.05)
    assert (rare.subscribers, common.subscribers, common.share) == (4, 120, 0.6)
    assert not rare.reach.percolates
    assert common.reach == reach(law, GossipSettings(0.6, 0.05), 200)


@pytest.mark.parametrize(
    ("places", "load"), [(1, 0.5), (2, 0.8), (4, 0.9), (8, 1.2), (16, 0.95), (300, 1.5), (3, 30), (1, 30)]
)
def test_the_share_of_full_buffers_equals_that_of_a_simulated_queue(places, load):
    rng = np.random.default_rng(places)
    ends: list[float] = []
    lost = first = 0
    free_at = 0.0
    for at in np.cumsum(rng.exponential(1 / load, 60_000)):
        while first < len(ends) and ends[first] <= at:
            first += 1
        if len(ends) - first >= places:
            lost += 1
        else:
            free_at = max(free_at, at) + 1
            ends.append(free_at)
    assert full_share(places, load) == pytest.approx(lost / 60_000, abs=0.01)


def test_a_larger_loss_or_buffer_allows_a_larger_load():
    law, gossip = degree_law("poisson:5"), GossipSettings(0.1, 0.3)
    rates = [load_for(law, gossip, loss, 8, 1000, 1000).events_per_second for loss in (0.001, 0.01, 0.1)]
    assert rates == sorted(rates)
    assert load_for(law, gossip, 0.01, 64, 1000, 1000).events_per_second > rates[1]
    found = load_for(law, gossip, 0.01, 8, 1000, 1000)
    # The arrival rate of copies divided by the handling rate.
    assert found.events_per_second * found.messages_per_event / (1000 * 1000) == pytest.approx(found.utilisation)
    # The inverse function gives the same value.
    assert loss_at(law, gossip, found.events_per_second, 8, 1000, 1000) == pytest.approx(0.01, rel=1e-3)


@pytest.mark.parametrize("loss", [0.99, 0.999, 0.9999, 0.999999, 1 - 1e-8])
@pytest.mark.parametrize("law", ["poisson:5", "power:2.5:1000", "regular:4"])
def test_the_load_for_a_large_loss_loses_just_that_share(loss, law):
    found = load_for(degree_law(law), GossipSettings(0.1, 0.3), loss, 8, 1000, 1000)
    assert 1 - mean_full_shares(degree_law(law), 8, found.utilisation)[0] == pytest.approx(1 - loss, rel=1e-4)
    # A node handles one copy in the time in which `utilisation` copies arrive.
    assert found.utilisation >= 0.99 / (1 - loss)


@pytest.mark.parametrize("rate", [1e3, 1e7, 1e12])
def test_any_rate_of_events_has_a_loss_between_0_and_1_that_grows_with_the_rate(rate):
    law, gossip = degree_law("poisson:5"), GossipSettings(0.1, 0.3)
    low, high = (loss_at(law, gossip, each, 8, 10, 100) for each in (rate, 100 * rate))
    assert 0 < low < high < 1


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (lambda: GossipSettings(1.5, 0.1), "subscribers must lie between 0 and 1, got 1.5; did you mean 0.015"),
        (lambda: GossipSettings(0.5, -0.1), "gossip must lie between 0 and 1"),
        (lambda: GossipSettings(0.5, math.nan), "gossip must lie between 0 and 1"),
        (lambda: degree_law("given:1=0.5,2=0.4"), "must sum to one, got 0.9"),
        (lambda: degree_law("given:1"), "must be DEGREE=SHARE"),
        (lambda: degree_law("power:1.8"), "infinite mean; give it a cutoff"),
        (lambda: degree_law("poisson:-1"), "must lie between"),
        (lambda: degree_law("poisson:x"), "not a number"),
        (lambda: degree_law("regular:2.5"), "whole number"),
        (lambda: degree_law("scale-free:20:1"), "the largest allowed degree is"),
        (lambda: degree_law("lattice:3"), "there is no degree distribution"),
        (lambda: gossip_for(degree_law("poisson:5"), 0.1, 0.999), "the best, with 1, is 0.986"),
        (lambda: degree_for("poisson", GossipSettings(0.1, 0.3), 1.0), "some nodes have no link"),
        (lambda: degree_for("regular", GossipSettings(0.0, 0.0), 0.5), "the best is 0"),
        (lambda: load_for(degree_law("poisson:5"), GossipSettings(0.1, 0.3), 0, 8, 10, 10), "above 0 and below 1"),
        (lambda: load_for(degree_law("poisson:5"), GossipSettings(0.1, 0.3), 0.1, 0, 10, 10), "places"),
        (
            lambda: load_for(degree_law("poisson:5"), GossipSettings(0.1, 0.3), 1 - 1e-12, 8, 10, 10),
            "at most 0.999999999",
        ),
        (lambda: load_for(degree_law("regular:3"), GossipSettings(1, 1), 0.5, 8, 10, 10), "threshold of percolation"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(ask, sentence):
    with pytest.raises(InputError, match=sentence):
        ask()
