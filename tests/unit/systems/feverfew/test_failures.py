"""How a Feverfew node notices that links, nodes and topics are broken."""

import pytest

from gossamer.protocols.contract.events import PeerDown, Stopping
from gossamer.protocols.contract.messages import Digest
from gossamer.systems.feverfew.messages import (
    FarewellNotice,
    HoldOk,
    HoldRequest,
    InterestNotice,
    Match,
    NoLink,
    Pulse,
    ReleaseNotice,
    RootClaims,
)
from tests.unit.systems.feverfew.one_node import ME, OneNode, messages_of, of_kind


def chosen(node, *peers):
    for peer in peers:
        node.meet(peer)
    return node.cover_turn()


def test_a_silent_neighbour_is_given_up_after_the_stated_number_of_periods():
    node = OneNode(suspect_after=5)
    node.hold_from(1, 7)
    # It was heard before the first turn.
    for _ in range(6):
        assert of_kind(node.pulse_turn(), Pulse) == [1]
    assert node.pulse_turn() == []
    assert (node.neighbours, list(node.part.failed)) == ([], [1])


def test_a_node_that_was_busy_itself_blames_nobody():
    node = OneNode(topics=(7, 8))
    node.hold_from(1, 7)
    node.hear(9, Match(8, 2, b"", Digest(1, 1, (8,))))
    node.cover_turn()
    node.pulse_turn(600)
    node.exchange_turn(600)
    assert (node.neighbours, sorted(node.part.cover), list(node.part.failed)) == ([1], [2], [])


def test_any_message_of_a_neighbour_shows_that_it_is_alive():
    node = OneNode(suspect_after=5)
    node.hold_from(1, 7)
    for _ in range(20):
        node.hear(1, Match(9, 2))
        node.pulse_turn()
    assert node.neighbours == [1]


@pytest.mark.parametrize("message", [Pulse(1), InterestNotice(2, 1, (7,))])
def test_a_node_that_takes_this_one_for_its_neighbour_in_error_is_told(message):
    node = OneNode()
    assert of_kind(node.hear(1, message), NoLink) == [1]


def test_a_pulse_that_overtakes_the_answer_to_a_request_does_not_end_the_link():
    node = OneNode(view={1: [7]})
    chosen(node, 1)
    assert node.hear(1, Pulse(1)) == []
    node.hold_ok_from(1, 7)
    assert node.neighbours == [1]


def test_a_link_that_the_other_end_does_not_have_is_dropped_and_asked_for_again():
    node = OneNode(view={1: [7]})
    chosen(node, 1)
    node.hold_ok_from(1, 7)
    node.hear(1, NoLink())
    assert (node.neighbours, dict(node.part.cover), list(node.part.failed)) == ([], {}, [])
    assert of_kind(node.cover_turn(), HoldRequest) == [1]


def test_a_node_without_room_is_not_asked_again_until_it_sends_something():
    node = OneNode(view={1: [7]})
    chosen(node, 1)
    node.hear(1, NoLink())
    assert (node.neighbours, list(node.part.failed)) == ([], [1])
    assert not of_kind(node.cover_turn(), HoldRequest)


def test_a_node_that_leaves_says_so_and_is_forgotten():
    node = OneNode()
    node.hold_from(1, 7)
    assert of_kind(node.give(Stopping()), FarewellNotice) == [1]
    node.hear(1, FarewellNotice())
    assert (node.neighbours, list(node.part.failed)) == ([], [1])


def test_an_unreachable_node_leaves_all_views():
    node = OneNode(view={1: [7], 2: [7]})
    chosen(node, 1)
    node.hold_ok_from(1, 7)
    node.meet(2)
    for peer in (1, 2):
        node.give(PeerDown(peer))
    assert (node.neighbours, node.part.similar, dict(node.part.cover)) == ([], [], {})
    assert list(node.part.failed) == [1, 2]


def test_a_neighbour_that_hung_up_is_asked_again_by_the_next_cover():
    node = OneNode(view={1: [7]})
    chosen(node, 1)
    node.hold_ok_from(1, 7)
    node.give(PeerDown(1, hung_up=True))
    assert (node.neighbours, list(node.part.failed)) == ([], [])
    assert of_kind(node.cover_turn(), HoldRequest) == [1]


def test_a_neighbour_that_restarted_and_asks_again_is_a_neighbour_with_its_new_interest():
    node = OneNode(topics=(7, 8))
    node.hold_from(1, 7, version=4)
    assert of_kind(node.hold_from(1, 8, version=90), HoldOk) == [1]
    assert (node.part.neighbours_on(7), node.part.neighbours_on(8)) == ((), (1,))


# Disconnected topics.


def island(**settings):
    """A node whose only neighbour on topic 7 has a higher id, and that knows a lower holder of the topic."""
    node = OneNode(view={1: [7], 60: [7]}, mend_cycles=2, **settings)
    node.hold_from(60, 7)
    return node


def test_a_node_that_hears_of_no_lower_id_bridges_to_a_lower_holder_of_the_topic():
    node = island()
    asked = [of_kind(node.mend_turn(), HoldRequest) for _ in range(10)]
    assert [each for each in asked if each] == [[1]]
    node.hold_ok_from(1, 7)
    for _ in range(3):
        assert not of_kind(node.cover_turn(), ReleaseNotice), "the cover keeps the bridge"
    node.hear(1, InterestNotice(2, 1, (), (7,)))
    node.mend_turn()
    assert of_kind(node.cover_turn(), ReleaseNotice) == [1], "its ends share no topic any more"


def test_a_node_that_hears_of_a_lower_id_needs_no_bridge():
    node = island()
    for _ in range(20):
        node.hear(60, RootClaims(((7, 1, 1),)))
        assert not of_kind(node.mend_turn(), HoldRequest)


def test_a_node_tells_its_neighbours_the_lowest_id_of_each_of_its_topics():
    node = island()
    node.mend_turn()
    (message,) = messages_of(node.mend_turn(), RootClaims)
    assert message.claims == ((7, ME, 0),)


def test_an_impossible_claim_is_an_offence():
    node = island()
    node.hear(60, RootClaims(((7, 60, 3),)))
    assert len(node.offences) == 1
