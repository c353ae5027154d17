"""Which peers outside its view a node shuffles with: first contacts, and peers that stopped answering."""

from gossamer.model.values.time import SECOND_US
from gossamer.protocols.contract.messages import Peer
from gossamer.protocols.membership.rejoining import FIRST_RETRY_US, Rejoining

EVERY_US = 30 * SECOND_US
ONE, TWO, THREE = (Peer(node, bytes([node])) for node in (1, 2, 3))


def rejoining(*contacts, every_us=EVERY_US, most=20, node=9):
    part = Rejoining(seed=1, node=node, every_us=every_us, most=most)
    part.start(contacts, 0)
    return part


def retries(part, until_us, since_us=0):
    """(time, peer) of all retries, looked for every half second."""
    found = [(at_us, part.due(at_us)) for at_us in range(since_us, until_us, SECOND_US // 2)]
    return [(at_us, peer) for at_us, peer in found if peer is not None]


def test_a_lost_peer_is_asked_again_at_growing_intervals_up_to_that_of_first_contacts():
    part = rejoining()
    part.lose(ONE, 0)
    times = [at_us for at_us, _ in retries(part, 300 * SECOND_US)]
    gaps = [later - sooner for sooner, later in zip([0, *times], times, strict=False)]
    assert FIRST_RETRY_US <= gaps[0] <= 1.6 * FIRST_RETRY_US
    assert gaps[1] > gaps[0]
    assert all(EVERY_US * 2 // 3 <= gap <= EVERY_US + SECOND_US for gap in gaps[3:])
    assert len(gaps) > 8, "it is never forgotten"


def test_nodes_that_lost_a_peer_at_the_same_time_ask_it_at_different_times():
    parts = [rejoining(node=node) for node in range(20)]
    for part in parts:
        part.lose(ONE, 0)
    assert len({retries(part, EVERY_US)[0][0] for part in parts}) > 3


def test_lost_peers_are_asked_in_turn_and_all_at_once_when_one_answers():
    part = rejoining()
    for peer in (ONE, TWO, THREE):
        part.lose(peer, 0)
    asked = retries(part, 200 * SECOND_US)
    assert [peer for _, peer in asked[:4]] == [ONE, TWO, THREE, ONE]
    now_us = 200 * SECOND_US
    part.hear(1, now_us)
    assert part.due(now_us) == TWO
    assert part.due(now_us) is None, "it waits for the answer"
    part.hear(2, now_us)
    assert part.due(now_us) == THREE
    part.hear(3, now_us)
    assert retries(part, 400 * SECOND_US, now_us) == []


def test_a_message_of_a_peer_that_was_not_lost_changes_nothing():
    part = rejoining()
    part.lose(ONE, 0)
    part.hear(2, SECOND_US)
    assert part.due(SECOND_US) is None


def test_lost_peers_are_bounded_and_the_oldest_is_forgotten():
    part = rejoining(most=2)
    for peer in (ONE, TWO, THREE):
        part.lose(peer, 0)
    assert {peer for _, peer in retries(part, 200 * SECOND_US)} == {TWO, THREE}


def test_without_an_interval_no_peer_is_remembered():
    part = rejoining(ONE, every_us=0)
    part.lose(TWO, 0)
    assert retries(part, 100 * SECOND_US) == []
    assert [part.to_join() for _ in range(3)] == [ONE, ONE, ONE]


def test_a_node_with_an_empty_view_joins_through_contacts_and_lost_peers_in_turn():
    part = rejoining(ONE)
    part.lose(TWO, 0)
    assert [part.to_join() for _ in range(4)] == [ONE, TWO, ONE, TWO]
    alone = rejoining()
    assert alone.to_join() is None
    alone.lose(TWO, 0)
    assert alone.to_join() == TWO
