"""The properties of generated workloads, and the input that generators refuse."""

from collections import Counter
from itertools import permutations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from gossamer.model.arrays.churn import CRASH, JOIN
from gossamer.model.values.errors import InputError
from gossamer.model.values.run import GridLaw
from gossamer.workloads.churn import fail_at_once, make_churn
from gossamer.workloads.interests import (
    DOUBAN,
    Figures,
    make_douban_interests,
    make_grid_interests,
    make_interests,
    rank_sizes,
)
from gossamer.workloads.laws import duration_law, nyse_rate, popularity, size_law
from gossamer.workloads.social import SocialLaw, interests_of_graph, make_social_graph


@pytest.mark.parametrize("law", ["rss", "zipf:0.5", "zipf:2", "nyse", "uniform", "expo", "expo:3"])
@pytest.mark.parametrize("count", [1, 7, 200])
def test_popularities_are_probabilities_in_descending_order(law, count):
    probabilities = popularity(law, count)
    assert probabilities.sum() == pytest.approx(1)
    assert (np.diff(probabilities) <= 1e-15).all()


def test_rss_is_zipf_with_exponent_one_half():
    assert popularity("rss", 50) == pytest.approx(popularity("zipf:0.5", 50))
    assert popularity("rss", 50)[3] == pytest.approx(popularity("rss", 50)[0] / 2)


@pytest.mark.parametrize("count", [20, 100, 1000])
def test_the_top_tenth_of_nyse_topics_has_55_percent_of_the_probability(count):
    assert popularity("nyse", count)[: count // 10].sum() == pytest.approx(0.55)
    assert nyse_rate(count) > 0


@pytest.mark.parametrize("law", ["", "zip", "zipf", "zipf:", "zipf:x", "zipf:-1", "rss:2", "uniform:1", "nyse:0.5"])
def test_the_error_for_an_unknown_popularity_lists_the_known_ones(law):
    with pytest.raises(InputError, match=r"rss, zipf:A|must"):
        popularity(law, 10)


@pytest.mark.parametrize("text", ["0", "-3", "5:2", "11", "1:11", "a", "1:2:3", "", "power:1", "power:0:3", "power"])
def test_impossible_subscription_sizes_are_refused(text):
    if text == "power:1":
        assert size_law(text, 10).high == 1
        return
    with pytest.raises(InputError, match="subscriptions must"):
        size_law(text, 10)


def test_each_node_holds_the_requested_number_of_distinct_topics():
    interest = make_interests(500, 40, "3:9", "rss", seed=5)
    assert interest.sizes.min() == 3
    assert interest.sizes.max() == 9
    for node in range(500):
        topics = interest.topics_of(node).tolist()
        assert topics == sorted(set(topics))


def test_a_power_law_of_sizes_has_the_right_proportions():
    sizes = make_interests(60_000, 100, "power:10:90:2", "uniform", seed=1).sizes
    weights = np.arange(10, 91, dtype=float) ** -2
    expected = weights / weights.sum()
    assert np.bincount(sizes, minlength=91)[10] / 60_000 == pytest.approx(expected[0], rel=0.03)
    assert sizes.mean() == pytest.approx((expected * np.arange(10, 91)).sum(), rel=0.01)


def test_nodes_with_one_topic_choose_it_by_popularity():
    counts = make_interests(200_000, 20, "1", "zipf:1", seed=3).popularity
    assert counts / 200_000 == pytest.approx(popularity("zipf:1", 20), rel=0.05)


def exact_sets(probabilities, count):
    """The probability of each set of topics, when topics are drawn one after another without replacement."""
    exact = {}
    for order in permutations(range(len(probabilities)), count):
        chance, left = 1.0, 1.0
        for topic in order:
            chance *= probabilities[topic] / left
            left -= probabilities[topic]
        key = tuple(sorted(order))
        exact[key] = exact.get(key, 0.0) + chance
    return exact


# In the first two cases nodes get their topics by repeated draws. In the others many nodes need more draws than they may
# take, and exponential keys give the rest of their topics.
@pytest.mark.parametrize(
    ("law", "topics", "count"),
    [("uniform", 6, 3), ("zipf:1.5", 4, 2), ("zipf:5", 4, 3), ("zipf:4", 6, 4), ("expo:20", 5, 3), ("zipf:9", 5, 2)],
)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_sets_of_topics_have_the_distribution_of_draws_without_replacement(law, topics, count, seed):
    """Chi-square tests of the sets of topics, and of the topic that a node holds, against exact probabilities."""
    nodes = 100_000
    interest = make_interests(nodes, topics, str(count), law, seed)
    exact = exact_sets(popularity(law, topics), count)
    drawn = Counter(map(tuple, interest.node_topics.reshape(nodes, count).tolist()))
    assert is_plausible([drawn[key] for key in exact], [nodes * chance for chance in exact.values()])
    for topic in range(topics):
        held = nodes * sum(chance for key, chance in exact.items() if topic in key)
        counted = int(interest.popularity[topic])
        assert is_plausible([counted, nodes - counted], [held, nodes - held]), topic


def is_plausible(counts, expected):
    """Whether a chi-square test does not refuse the counts at a level of 1e-5; rare cases are taken together."""
    counts, expected = np.array(counts, float), np.array(expected)
    rare = expected < 10
    counts = np.append(counts[~rare], counts[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    if expected[-1] < 10:
        # Too few for a term of the statistic: the largest case takes them.
        largest = int(np.argmax(expected[:-1]))
        counts[largest] += counts[-1]
        expected[largest] += expected[-1]
        counts, expected = counts[:-1], expected[:-1]
    if len(counts) < 2:
        return True
    return bool(chisquare(counts, expected).pvalue > 1e-5)


def test_a_node_can_hold_every_topic_even_with_very_uneven_popularity():
    interest = make_interests(20, 300, "300", "zipf:3", seed=1)
    assert (interest.popularity == 20).all()


def test_the_same_seed_gives_the_same_workload_and_another_seed_another_one():
    one, again, other = (make_interests(300, 50, "5", "rss", seed) for seed in (1, 1, 2))
    assert (one.node_topics == again.node_topics).all()
    assert (one.node_topics != other.node_topics).any()


def test_the_topics_of_a_node_do_not_depend_on_the_number_of_nodes():
    few, many = (make_interests(count, 50, "5", "rss", seed=4) for count in (10, 1000))
    assert (few.node_topics == many.node_topics[:50]).all()


MANY_IDS = GridLaw(
    nodes=1000, topics=100, ids_most=30, ids_exponent=1.5, area_low=0.003, area_high=0.5, area_exponent=1.7
)


def test_nodes_that_are_close_on_the_grid_share_more_topics():
    from gossamer.simulator.measure import interest_correlation

    shuffled = make_interests(1000, 100, "7", "rss", seed=2)
    for law in (GridLaw(nodes=1000, topics=100), MANY_IDS):
        interest = make_grid_interests(law, seed=2)
        assert np.median(interest.sizes) < interest.sizes.mean()
        assert interest_correlation(interest, 0.99) > 2 * interest_correlation(shuffled, 0.99)


def test_topics_with_many_ids_on_the_grid_are_popular():
    popular = np.sort(make_grid_interests(MANY_IDS, seed=2).popularity)[::-1]
    assert popular[0] > 5 * np.median(popular)


def test_the_douban_generator_reaches_its_four_figures():
    interest, reached = make_douban_interests(DOUBAN, seed=1)
    assert reached == DOUBAN
    assert interest.popularity.min() == 2
    assert (interest.popularity <= 16).mean() > 0.7


@pytest.mark.parametrize("figures", [(1000, 100, 20_000, 900), (100, 50, 2_500, 100), (60, 300, 3_000, 60)])
def test_the_douban_generator_reaches_the_figures_of_dense_tables_too(figures):
    assert make_douban_interests(Figures(*figures), seed=2)[1] == Figures(*figures)


def test_a_large_exponent_favours_the_smallest_size():
    assert make_interests(50, 100, "power:10:90:400", "rss", seed=1).sizes.max() == 10


def test_extremely_long_durations_do_not_overflow():
    on, off = duration_law("exp:2000000000h", "--on"), duration_law("exp:1s", "--off")
    churn = make_churn(200, on, off, 10_000_000, crash_share=0, seed=1)
    assert (churn.at_us >= 0).all()
    assert (churn.at_us <= 10_000_000).all()


@settings(max_examples=200)
@given(st.integers(1, 60), st.integers(1, 3), st.integers(0, 80), st.floats(0, 1))
def test_rank_sizes_have_the_exact_sum_and_stay_in_range(count, smallest, extra, share):
    largest = smallest + extra
    total = smallest * count + round(share * extra * count)
    sizes = rank_sizes(count, total, largest, smallest, "topic")
    assert sizes.sum() == total
    assert sizes.min() >= smallest
    assert sizes.max() <= largest


def test_impossible_figures_are_refused():
    with pytest.raises(InputError, match="cannot have 10 in all"):
        make_douban_interests(Figures(users=5, topics=20, subscriptions=10, largest_topic=4), seed=1)
    with pytest.raises(InputError, match="at most as many subscribers"):
        make_douban_interests(Figures(users=5, topics=3, subscriptions=20, largest_topic=9), seed=1)


@pytest.mark.parametrize("directed", [False, True])
def test_a_social_graph_has_heavy_tails_and_communities(directed):
    source, target = make_social_graph(5_000, SocialLaw(mean_degree=12), directed, seed=3)
    assert (source != target).all()
    assert len(set(zip(source.tolist(), target.tolist(), strict=True))) == len(source)
    degrees = np.bincount(target if directed else np.concatenate((source, target)), minlength=5_000)
    assert degrees.mean() == pytest.approx(12)
    assert degrees.max() > 10 * degrees.mean()
    if not directed:
        graph = nx.Graph(list(zip(source.tolist(), target.tolist(), strict=True)))
        random_clustering = degrees.mean() / 5_000
        assert nx.average_clustering(graph) > 10 * random_clustering


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize(
    ("nodes", "mean"),
    [
        (100, 0.5),
        (100, 40),
        (100, 49.5),
        (1_000, 0.1),
        (1_000, 1),
        (1_000, 2.5),
        (300, 100),
        (2, 0.5),
        (3, 1),
        (20, 9.5),
    ],
)
def test_a_social_graph_has_the_requested_mean_degree(nodes, mean, directed):
    for seed in (1, 2):
        source, target = make_social_graph(nodes, SocialLaw(mean_degree=mean), directed, seed)
        # The number of links is a whole number.
        assert len(source) == int(nodes * mean / (1 if directed else 2) + 0.5)
        keys = source * nodes + target
        assert (np.diff(keys) > 0).all()
        assert (source != target).all() if directed else (source < target).all()
        assert max(source.max(), target.max()) < nodes


def test_friends_follow_each_other_and_followers_follow_one_way():
    source, target = np.array([0, 1]), np.array([2, 2])
    friends = interests_of_graph(source, target, 3, directed=False)
    assert [friends.topics_of(node).tolist() for node in range(3)] == [[2], [2], [0, 1]]
    followers = interests_of_graph(source, target, 3, directed=True)
    assert [followers.topics_of(node).tolist() for node in range(3)] == [[2], [2], []]


def test_generated_churn_has_the_right_share_of_present_nodes_and_the_right_rate():
    on, off = duration_law("exp:300s", "--on"), duration_law("exp:75s", "--off")
    churn = make_churn(4_000, on, off, 1_000_000_000, crash_share=0.25, seed=1)
    assert churn.present_at_start(4_000).mean() == pytest.approx(0.8, abs=0.02)
    goes = churn.events != JOIN
    # Each present node departs once in 300 s on average.
    assert goes.sum() == pytest.approx(4_000 * 0.8 * 1000 / 300, rel=0.03)
    assert (churn.events == CRASH).sum() / goes.sum() == pytest.approx(0.25, abs=0.02)


def test_a_node_that_never_joins_is_absent_from_the_start():
    on, off = duration_law("fixed:10s", "--on"), duration_law("fixed:1000s", "--off")
    churn = make_churn(300, on, off, 5_000_000, crash_share=0, seed=1)
    assert churn.present_at_start(300).mean() < 0.1


@pytest.mark.parametrize(
    "text", ["300s", "exp", "exp:", "exp:0s", "uniform:5s", "uniform:9s-5s", "normal:3s", "fixed:1s-2s"]
)
def test_a_bad_duration_law_is_refused(text):
    with pytest.raises(InputError, match="`on` must"):
        duration_law(text, "`on`")


def test_the_requested_share_of_nodes_fails_at_the_same_time_for_good():
    churn = fail_at_once(5_000, 0.2, 1_000_000, seed=1)
    assert set(churn.at_us.tolist()) == {600_000}
    assert 900 < len(churn.nodes) < 1_100
    assert churn.present_at_start(5_000).all()
    with pytest.raises(InputError, match="must lie between 0 and 1, got 1"):
        fail_at_once(10, 1.0, 1_000, seed=1)
