"""Workloads with communities: their figures, and the correlation of interests."""

import numpy as np
import pytest

from gossamer.model.values.errors import InputError
from gossamer.workloads.communities import CommunityLaw, circle_distance, make_community_interests
from gossamer.workloads.interests import DOUBAN, Figures, make_douban_interests

SMALL = Figures(users=1_000, topics=3_000, subscriptions=20_000, largest_topic=120)


def shared_topics(interest, pairs):
    """The mean number of topics that both nodes of a pair have."""
    held = [set(interest.topics_of(node).tolist()) for node in range(interest.node_count)]
    return np.mean([len(held[one] & held[other]) for one, other in pairs])


def pairs_of(places, generator, near=None):
    """Random pairs of nodes; with `near`, only those at most that far apart on the circle."""
    one, other = generator.integers(0, len(places), (2, 60_000))
    kept = one != other
    if near is not None:
        kept &= circle_distance(places[one], places[other]) <= near
    return list(zip(one[kept].tolist(), other[kept].tolist(), strict=True))


def test_communities_have_the_figures_of_the_douban_like_generator():
    made = make_community_interests(DOUBAN, seed=1)
    sizes = made.interest.popularity
    assert made.figures == DOUBAN
    assert sizes.min() == 2
    assert (sizes <= 16).mean() > 0.7
    assert made.local_share > 0.75
    # The same topics have the same sizes; only the users that hold them differ.
    assert np.sort(sizes).tolist() == np.sort(make_douban_interests(DOUBAN, seed=1)[0].popularity).tolist()


def nearness(interest, places, seed):
    """How many times more topics users share that are close on the circle than random users."""
    generator = np.random.default_rng(seed)
    near = shared_topics(interest, pairs_of(places, generator, near=0.025))
    return near / shared_topics(interest, pairs_of(places, generator))


def test_users_of_the_same_window_share_more_topics_than_random_users():
    correlated, plain = [], []
    for seed in range(1, 6):
        made = make_community_interests(SMALL, seed)
        correlated.append(nearness(made.interest, made.user_places, seed))
        plain.append(nearness(make_douban_interests(SMALL, seed)[0], made.user_places, seed))
    assert min(correlated) > 2
    assert np.mean(plain) == pytest.approx(1, abs=0.25)


def test_the_circle_has_no_edge():
    """Users on both sides of the place 0 find as many local topics as users elsewhere."""
    at_edge, anywhere = [], []
    for seed in range(1, 7):
        made = make_community_interests(SMALL, seed)
        for user in range(SMALL.users):
            place, topics = made.user_places[user], made.interest.topics_of(user)
            share = (circle_distance(np.full(len(topics), place), made.topic_places[topics]) <= 0.05).mean()
            (at_edge if min(place, 1 - place) < 0.05 else anywhere).append(share)
    assert np.mean(at_edge) == pytest.approx(np.mean(anywhere), abs=0.05)


def test_a_wider_window_and_a_smaller_local_share_weaken_the_correlation():
    strong, wide, weak, none = (
        make_community_interests(SMALL, 1, CommunityLaw(window, local))
        for window, local in ((0.1, 0.8), (0.5, 0.8), (0.1, 0.3), (0.1, 0.0))
    )
    generator = np.random.default_rng(1)
    found = [
        shared_topics(each.interest, pairs_of(each.user_places, generator, near=0.025)) for each in (strong, wide, weak)
    ]
    assert found[0] > found[1]
    assert found[0] > found[2]
    assert strong.local_share > 0.7
    assert none.local_share < 0.2


@pytest.mark.parametrize("figures", [(300, 60, 4_000, 250), (100, 50, 2_500, 100), (60, 300, 3_000, 60)])
def test_dense_tables_have_no_user_twice_in_a_topic(figures):
    made = make_community_interests(Figures(*figures), seed=2)
    assert made.figures.subscriptions >= 0.97 * figures[2]
    for node in range(made.interest.node_count):
        topics = made.interest.topics_of(node).tolist()
        assert topics == sorted(set(topics))


def test_the_same_seed_gives_the_same_table_and_another_seed_another_one():
    one, again, other = (make_community_interests(SMALL, seed).interest.node_topics for seed in (1, 1, 2))
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize(
    ("law", "sentence"),
    [(CommunityLaw(window=0), "`window` must lie above 0"), (CommunityLaw(local=1.5), "`local` must lie between")],
)
def test_an_impossible_law_is_refused(law, sentence):
    with pytest.raises(InputError, match=sentence):
        make_community_interests(SMALL, 1, law)


def test_impossible_figures_are_refused():
    with pytest.raises(InputError, match="at most as many subscribers"):
        make_community_interests(Figures(users=5, topics=3, subscriptions=20, largest_topic=9), seed=1)
