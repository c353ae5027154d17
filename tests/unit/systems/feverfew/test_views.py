"""Feverfew's choices by interest: the greedy ln-cover, and the cover that stays."""

import pytest

from gossamer.systems.feverfew.sizes import hops, needed
from gossamer.systems.feverfew.views import Utility, ViewCandidate, ln_cover, merged, most_similar, settled_cover

TOPICS = {1: {7}, 2: {7, 8}, 3: {8}, 4: {7, 8, 9}, 5: {1, 2, 3, 7, 8, 9}, 6: set()}


def utility(jaccard=False, topics=TOPICS):
    return Utility(lambda node: frozenset(topics[node]), jaccard)


@pytest.mark.parametrize(
    ("size", "neighbours"), [(0, 0), (1, 0), (2, 1), (3, 2), (4, 2), (7, 2), (8, 3), (20, 3), (21, 4), (1304, 8)]
)
def test_a_topic_of_n_subscribers_needs_ln_n_neighbours_and_never_more_than_there_are(size, neighbours):
    assert needed(size) == neighbours


def test_a_search_in_a_network_of_absurd_size_still_has_a_bounded_number_of_hops():
    assert 0 <= hops(2**40, 2, 10) <= 46
    assert hops(1, 1, 10) == 1
    assert hops(2, 10**9, 10) == 1
    assert hops(10, 10**9, 10) >= 0


def test_a_cover_takes_the_node_that_covers_most_first():
    chosen, missing = ln_cover([1, 2, 3, 4], {7: 1, 8: 1, 9: 1}, utility(), 0)
    assert chosen == [4]
    assert missing == {7: 0, 8: 0, 9: 0}


def test_a_cover_states_what_its_topics_lack_and_takes_no_useless_node():
    chosen, missing = ln_cover([1, 3, 6], {7: 2, 8: 1, 9: 1}, utility(), 0)
    assert sorted(chosen) == [1, 3]
    assert missing == {7: 1, 8: 0, 9: 1}


def test_the_jaccard_utility_prefers_a_node_with_fewer_other_topics():
    assert ln_cover([4, 5], {7: 1, 8: 1, 9: 1}, utility(jaccard=True), 0)[0] == [4]


def test_nodes_that_come_first_stay_in_a_cover_even_if_they_cover_nothing():
    chosen, _ = ln_cover([4], {7: 1, 8: 1, 9: 1}, utility(), 0, first=(6, 1))
    assert chosen == [6, 1, 4]


def test_merging_keeps_the_youngest_age_and_the_address_that_came_with_it():
    found = merged([ViewCandidate(1, 5, b"old")], [ViewCandidate(1, 2, b"new"), ViewCandidate(1, 9, b"older")])
    assert (found[1].age, found[1].address) == (2, b"new")
    found = merged([ViewCandidate(1, 5, b"old")], [ViewCandidate(1, 2)])
    assert found[1].address == b"old", "younger news without an address does not lose the address"


def test_the_similar_view_is_the_best_candidates_in_order():
    ranked = most_similar([ViewCandidate(node, 0) for node in (1, 4, 2)], {7, 8, 9}, utility(), 0, 2)
    assert [each.node for each in ranked] == [4, 2]


def test_a_settled_cover_stays_though_a_new_one_would_be_as_small():
    for key in range(20):
        assert settled_cover((1, 3), (), [1, 2, 3], {7: 1, 8: 1}, utility(topics={1: {7}, 2: {7}, 3: {8}}), key)[0] == [
            1,
            3,
        ]


def test_a_settled_cover_gives_way_to_a_clearly_smaller_one():
    topics = {1: {7}, 2: {8}, 3: {9}, 4: {7, 8, 9}}
    assert settled_cover((1, 2, 3), (), [1, 2, 3, 4], {7: 1, 8: 1, 9: 1}, utility(topics=topics), 0)[0] == [4]


def test_a_settled_cover_grows_by_what_it_lacks():
    chosen, missing = settled_cover((1,), (), [1, 2, 3], {7: 1, 8: 1}, utility(topics={1: {7}, 2: {7}, 3: {8}}), 0)
    assert chosen == [1, 3]
    assert missing == {7: 0, 8: 0}


def test_a_settled_cover_releases_a_node_only_when_each_of_its_topics_has_one_neighbour_to_spare():
    topics = {key: {7} for key in range(1, 5)}
    assert len(settled_cover((1, 2), (), [1, 2], {7: 1}, utility(topics=topics), 0)[0]) == 1, "half as many are enough"
    topics = {key: {7} for key in range(1, 12)}
    cover = tuple(range(1, 12))
    assert len(settled_cover(cover, (), cover, {7: 10}, utility(topics=topics), 0)[0]) == 11
    assert len(settled_cover(cover, (), cover, {7: 9}, utility(topics=topics), 0)[0]) in (9, 10)


def test_a_settled_cover_keeps_bridges_and_drops_nodes_that_share_nothing():
    chosen, _ = settled_cover((6, 1), (6,), [6, 1], {7: 1}, utility(), 0)
    assert chosen == [6, 1]
    assert settled_cover((6, 1), (), [6, 1], {7: 1}, utility(), 0)[0] == [1]


def test_a_settled_cover_prefers_nodes_that_keep_a_link_on_their_own_account():
    topics = {1: {7}, 2: {7}, 3: {7}}
    for key in range(20):
        assert settled_cover((), (), [1, 2, 3], {7: 1}, utility(topics=topics), key, {3: None})[0] == [3]


def test_a_settled_cover_gives_way_to_one_that_needs_clearly_fewer_links_of_its_own():
    topics = {1: {7}, 2: {8}, 3: {7}, 4: {8}}
    needs = {7: 1, 8: 1}
    assert settled_cover((1, 2), (), [1, 2, 3, 4], needs, utility(topics=topics), 0, {3: None, 4: None})[0] in (
        [3, 4],
        [4, 3],
    )
    assert settled_cover((1, 2), (), [1, 2, 3, 4], needs, utility(topics=topics), 0)[0] == [1, 2]
