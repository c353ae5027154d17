"""Feverfew's handlers, case by case."""

from gossamer.model.values.ids import Role
from gossamer.protocols.contract.actions import Connect, Disconnect, SetTimer
from gossamer.protocols.contract.events import Started, Subscribe, Unsubscribe
from gossamer.protocols.contract.messages import Digest
from gossamer.protocols.membership.cyclon_messages import ShuffleDue, ShuffleReply, ShuffleRequest
from gossamer.protocols.membership.cyclon_view import ViewEntry
from gossamer.protocols.membership.interest_exchange import InterestAsk, InterestPart
from gossamer.systems.feverfew.messages import (
    BridgeDue,
    Bubbles,
    CoverDue,
    Exchange,
    ExchangeDue,
    ExchangeReply,
    HoldOk,
    HoldRequest,
    InterestNotice,
    Match,
    Pulse,
    PulseDue,
    ReleaseNotice,
    Search,
    SimilarEntry,
)
from tests.unit.systems.feverfew.one_node import ME, PERIOD_US, OneNode, entry, messages_of, of_kind


def test_a_node_starts_its_turns_within_a_period_and_a_cover_half_a_period_after_an_exchange():
    node = OneNode()
    node.give(Started(address=b"here"))
    due = {type(action.timer): action.at_us for action in node.actions if isinstance(action, SetTimer)}
    assert node.now_us <= due[ExchangeDue] < node.now_us + PERIOD_US
    assert due[CoverDue] == due[ExchangeDue] + PERIOD_US // 2
    assert due[PulseDue] == node.now_us + PERIOD_US
    assert due[BridgeDue] == due[CoverDue] + 2 * PERIOD_US


# GossipSample: Algorithms 1 and 2.


def test_a_node_without_similar_nodes_exchanges_with_a_random_one():
    node = OneNode(view={1: [7]}, contacts=[1])
    ((receiver, message),) = node.exchange_turn()
    assert receiver == 1
    assert [each.node for each in message.entries] == [ME, 1]
    assert message.entries[0].address == b"here"


def test_an_exchange_is_answered_with_the_own_views_and_both_sides_are_merged():
    node = OneNode(view={1: [7], 2: [7], 3: [7, 8]}, contacts=[1])
    ((receiver, reply),) = node.meet(2, 3)
    assert (receiver, [each.node for each in reply.entries]) == (2, [ME, 1])
    assert sorted(each.node for each in node.part.similar) == [1, 2, 3]


def test_only_the_node_that_was_asked_is_heard_as_a_reply():
    node = OneNode(view={1: [7], 2: [7]}, contacts=[1])
    node.exchange_turn()
    node.hear(3, ExchangeReply((entry(2),)))
    assert node.part.similar == []
    node.hear(1, ExchangeReply((entry(1), entry(2))))
    assert sorted(each.node for each in node.part.similar) == [1, 2]
    node.hear(1, ExchangeReply((entry(4),)))
    assert sorted(each.node for each in node.part.similar) == [1, 2], "a second reply was not asked for"


def test_a_node_that_does_not_reply_is_ignored_until_it_sends_something():
    node = OneNode(view={1: [7], 2: [7]}, contacts=[1])
    node.exchange_turn()
    node.exchange_turn()
    assert list(node.part.failed) == [1]
    node.meet(2, 1)
    assert [each.node for each in node.part.similar] == [2]
    node.meet(1)
    assert list(node.part.failed) == []
    assert sorted(each.node for each in node.part.similar) == [1, 2]


def test_a_failed_node_that_sends_to_another_part_is_taken_for_alive_again():
    node = OneNode(contacts=[1], answer_cycles=1)
    node.exchange_turn()
    node.hear(1, ShuffleRequest((ViewEntry(1, 0),)))
    node.exchange_turn()
    assert list(node.part.failed) == [1]
    node.pulse_turn(0)
    assert list(node.part.failed) == [1], "what it sent before it failed shows nothing"
    node.now_us += 1
    node.hear(1, ShuffleRequest((ViewEntry(1, 0),)))
    node.pulse_turn()
    assert list(node.part.failed) == []


def test_a_live_node_gives_a_busy_one_eight_turns_for_its_reply():
    node = OneNode(contacts=[1])
    node.exchange_turn()
    for _ in range(7):
        node.exchange_turn()
        assert list(node.part.failed) == []
    node.exchange_turn()
    assert list(node.part.failed) == [1]


def test_a_neighbour_that_owes_a_reply_is_judged_by_its_pulses_alone():
    node = OneNode(view={1: [7]}, contacts=[1])
    node.hold_from(1, 7)
    node.exchange_turn()
    node.exchange_turn()
    assert list(node.part.failed) == []
    assert node.neighbours == [1]


def test_entries_of_the_similar_view_grow_older_and_are_dropped():
    node = OneNode(view={1: [7]}, age_max=2)
    node.hear(9, Exchange((SimilarEntry(1),)))
    for age in (1, 2):
        node.exchange_turn(0)
        node.hear(1, ExchangeReply(()))
        assert [(each.node, each.age) for each in node.part.similar] == [(1, age)]
    node.exchange_turn(0)
    assert node.part.similar == []


def test_the_similar_view_is_cleared_every_few_cycles_if_it_is_told_to():
    node = OneNode(view={1: [7]}, clear_cycles=5)
    node.meet(1)
    node.now_us = 13 * PERIOD_US
    node.cover_turn()
    assert node.part.similar
    node.cover_turn()
    assert node.part.similar == []


def test_a_short_exchange_carries_the_entries_that_suit_the_peer_best():
    node = OneNode(view={1: [7], 2: [8], 3: [7], 9: [8]}, contacts=[1, 2, 3], exchange_size=2)
    ((_, reply),) = node.meet(9)
    assert [each.node for each in reply.entries] == [ME, 2]


# The ln-covered view: Algorithm 3.


def chosen(node, *peers):
    for peer in peers:
        node.meet(peer)
    return node.cover_turn()


def test_a_node_that_enters_the_cover_is_asked_and_counts_as_a_neighbour_when_it_answers():
    node = OneNode(view={1: [7]})
    assert of_kind(chosen(node, 1), HoldRequest) == [1]
    assert node.neighbours == []
    node.hold_ok_from(1, 7)
    assert node.neighbours == [1]
    assert node.part.neighbours_on(7) == (1,)
    assert any(isinstance(action, Connect) and action.peer.node == 1 for action in node.actions)


def test_a_node_that_does_not_answer_leaves_the_cover_and_is_ignored():
    node = OneNode(view={1: [7]})
    chosen(node, 1)
    node.exchange_turn()
    assert (dict(node.part.cover), list(node.part.failed), node.links.addresses) == ({}, [1], {})


def test_a_late_answer_of_a_node_that_left_the_cover_is_released():
    node = OneNode(view={1: [7]})
    chosen(node, 1)
    node.exchange_turn()
    assert of_kind(node.hold_ok_from(1, 7), ReleaseNotice) == [1]
    assert node.neighbours == []


def test_a_node_that_is_held_answers_with_its_interest():
    node = OneNode(topics=(7, 8))
    ((receiver, answer),) = node.hold_from(1, 7)
    assert (receiver, type(answer), set(answer.topics), answer.count) == (1, HoldOk, {7, 8}, 2)
    assert node.part.neighbours_on(7) == (1,)


def test_a_link_stays_while_either_end_wants_it():
    node = OneNode(view={1: [7]})
    chosen(node, 1)
    node.hold_ok_from(1, 7)
    node.hold_from(1, 7)
    node.hear(1, ReleaseNotice())
    assert node.neighbours == [1], "this node still holds it"
    node.hold_from(1, 7)
    node.oracle.put(ME, [])
    sent = node.give(Unsubscribe(7)) + node.cover_turn()
    assert of_kind(sent, ReleaseNotice) == [1]
    assert node.neighbours == [1], "the other end still holds it"
    node.hear(1, ReleaseNotice())
    assert node.neighbours == []
    assert Disconnect(1) in node.actions


def test_a_topic_of_one_subscriber_needs_no_neighbour_and_no_search():
    node = OneNode(view={1: [8]}, contacts=[1], bubble_cycles=0)
    sent = chosen(node, 1)
    assert not of_kind(sent, HoldRequest)
    assert node.part.topics[7].missing == 0
    assert node.part.bubbles.agents.searches == []


def test_a_topic_of_two_subscribers_needs_the_other_one():
    node = OneNode(view={1: [7], 2: [8]})
    assert of_kind(chosen(node, 1, 2), HoldRequest) == [1]
    assert node.part.topics[7].missing == 0


# BubbleSample: Algorithms 4 and 5.


def searching(**settings):
    others = {key: [8] for key in range(2, 40)}
    node = OneNode(view={1: [7], **others}, contacts=[2, 3], bubble_cycles=0, **settings)
    node.cover_turn()
    return node


def test_a_subscription_that_lacks_neighbours_is_searched_and_the_node_is_the_first_agent():
    node = searching()
    (search,) = node.part.bubbles.agents.searches
    assert (search.topic, search.node) == (7, ME)
    node.cover_turn()
    assert len(node.part.bubbles.agents.searches) == 1, "not before the last search is over"


def test_a_search_rides_on_the_next_shuffle_and_loses_a_hop():
    node = searching()
    before = node.part.bubbles.agents.searches[0].ttl
    sent = node.wait(ShuffleDue())
    (receiver,) = of_kind(sent, ShuffleRequest)
    assert [to for to, message in sent if isinstance(message, Bubbles)] == [receiver]
    (message,) = messages_of(sent, Bubbles)
    assert message.searches == (Search(7, ME, before - 1, b"here"),)


def test_a_search_is_not_forwarded_in_the_cycle_in_which_it_arrived():
    node = OneNode(view={2: [8]}, contacts=[2])
    node.hear(2, Bubbles((Search(9, 5, 3),)))
    assert not of_kind(node.wait(ShuffleDue(), 0.4), Bubbles)
    node.hear(2, ShuffleReply((ViewEntry(2, 0),)))
    assert of_kind(node.wait(ShuffleDue(), 1), Bubbles) == [2]


def test_an_agent_tells_the_searcher_and_the_node_that_it_found_and_ends_the_search():
    node = OneNode(view={2: [9]}, contacts=[2], bubble_cycles=0)
    node.hear(3, Bubbles((Search(9, 5, 3, b"five"),)))
    sent = [(to, message) for to, message in node.cover_turn() if isinstance(message, Match)]
    assert [(to, message.topic, message.node) for to, message in sent] == [(5, 9, 2), (2, 9, 5)]
    assert node.part.bubbles.agents.searches == []


def test_two_searches_for_one_topic_meet_at_an_agent():
    node = OneNode(view={})
    node.hear(3, Bubbles((Search(9, 5, 3, b"five"),)))
    sent = node.hear(3, Bubbles((Search(9, 6, 3, b"six"),)))
    assert [(to, message.node, message.address) for to, message in sent] == [(6, 5, b"five"), (5, 6, b"six")]


def test_a_node_that_was_found_enters_the_cover_if_the_topic_still_lacks_neighbours():
    node = searching()
    node.hear(9, Match(7, 1, b"one"))
    assert of_kind(node.cover_turn(), HoldRequest) == [1]
    node.hear(9, Match(7, 4, b"four"))
    assert not node.part.bubbles.take_found(), "the topic lacks nothing any more"


def test_a_match_for_a_topic_that_was_given_up_in_the_meantime_changes_nothing():
    node = searching()
    node.give(Unsubscribe(7))
    node.hear(9, Match(7, 1, b"one"))
    assert not of_kind(node.cover_turn(), HoldRequest)
    node.wait(ShuffleDue())


# Interests.


def test_a_change_of_interest_is_told_to_neighbours():
    node = OneNode()
    node.hold_from(1, 7)
    since = node.part._version
    ((receiver, notice),) = node.give(Subscribe(8, Role.FOLLOWS))
    assert (receiver, notice.since, notice.added, notice.removed) == (1, since, (8,), ())
    ((_, notice),) = node.give(Unsubscribe(8))
    assert (notice.added, notice.removed) == ((), (8,))


def test_a_notice_changes_the_interest_of_a_neighbour_and_an_old_one_does_not():
    node = OneNode(topics=(7, 8))
    node.hold_from(1, 7, version=4)
    node.hear(1, InterestNotice(5, 4, (8,), (7,)))
    assert (node.part.neighbours_on(7), node.part.neighbours_on(8)) == ((), (1,))
    node.hear(1, InterestNotice(5, 4, (7,), ()))
    assert node.part.neighbours_on(7) == ()


def test_a_gap_in_the_versions_of_an_interest_is_fetched():
    node = OneNode()
    node.hold_from(1, 7, version=4)
    for message in (InterestNotice(9, 8, (8,)), Pulse(9)):
        node.now_us += 3 * PERIOD_US
        assert of_kind(node.hear(1, message), InterestAsk) == [1]
    node.hear(1, InterestPart(9, 0, 1, (8,)))
    assert node.part.neighbours_on(7) == ()


def test_what_a_neighbour_says_of_its_interest_counts_more_than_what_others_say():
    node = OneNode()
    node.link_to(1, 7)
    node.hear(9, Exchange((SimilarEntry(1, 0, b"", Digest(2**60, 0, ())), SimilarEntry(2, 0, b"", Digest(1, 1, (7,))))))
    node.cover_turn()
    assert node.part.topics[7].missing == 0
    assert 1 in node.part.cover


def test_a_neighbour_that_does_not_hold_what_others_said_of_it_is_replaced():
    node = OneNode()
    node.hear(9, Exchange((SimilarEntry(1, 0, b"", Digest(2**60, 1, (7,))),)))
    assert of_kind(node.cover_turn(), HoldRequest) == [1]
    node.hold_ok_from(1, 8)
    node.hear(9, Exchange((SimilarEntry(2, 0, b"", Digest(1, 1, (7,))),)))
    sent = node.cover_turn()
    assert (of_kind(sent, HoldRequest), of_kind(sent, ReleaseNotice)) == ([2], [1])
