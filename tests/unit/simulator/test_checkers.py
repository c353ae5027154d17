"""Checkers raise when a machine breaks a rule."""

from hashlib import md5, sha3_256, sha256

import pytest

from gossamer.model.values.errors import CheckFailed
from gossamer.model.values.ids import Role, identity
from gossamer.protocols.contract.actions import Deliver, Observe, Send
from gossamer.protocols.contract.events import (
    MessageReceived,
    Started,
    Subscribe,
    Unsubscribe,
)
from gossamer.protocols.contract.facts import NeighbourDown, NeighbourUp
from gossamer.protocols.contract.messages import Data, Peer, WireMessage
from gossamer.protocols.delivery.recovery.messages import Answer
from gossamer.protocols.dissemination.tree import TreeBurst
from gossamer.protocols.membership.cyclon_messages import ShuffleReply
from gossamer.protocols.membership.cyclon_view import ViewEntry
from gossamer.simulator.checkers import (
    ClockChecker,
    DataPathChecker,
    DeliveryChecker,
    NeighbourChecker,
    NonDisclosureChecker,
    ReceiverChecker,
    all_checkers,
)
from gossamer.systems.stan.messages import Probe
from gossamer.systems.stan.proofs import prove, topic_key

DELIVERY = Deliver(5, b"", 9, 1, 1, 0)
RELAY = Send((3,), Data(5, 9, 1, 1, 0, b""))


def checker_with(role):
    checker = DeliveryChecker()
    checker.handled(0, 1, Subscribe(5, role), ())
    return checker


def test_a_follower_may_deliver_once_and_relay():
    checker = checker_with(Role.FOLLOWS)
    checker.handled(1, 1, Started(), (DELIVERY, RELAY))
    with pytest.raises(CheckFailed):
        checker.handled(2, 1, Started(), (DELIVERY, RELAY))


def test_a_second_delivery_of_one_message_is_caught():
    checker = checker_with(Role.BOTH)
    checker.handled(1, 1, Started(), (DELIVERY,))
    with pytest.raises(CheckFailed, match="at 2 us node 1 delivered message 1 of 9 twice"):
        checker.handled(2, 1, Started(), (DELIVERY,))


def test_a_message_delivered_under_two_topics_in_turn_is_caught():
    checker = checker_with(Role.BOTH)
    checker.handled(0, 1, Subscribe(6, Role.BOTH), ())
    checker.handled(1, 1, Started(), (DELIVERY,))
    with pytest.raises(CheckFailed, match="twice"):
        checker.handled(2, 1, Started(), (Deliver(6, b"", 9, 1, 1, 0),))


def test_only_a_node_that_holds_one_of_a_message_s_topics_may_relay_it():
    checker = checker_with(Role.FOLLOWS)
    checker.handled(1, 1, Started(), (Send((3,), Data(4, 9, 1, 1, 0, b"", 0, ((5, 0),))),))
    with pytest.raises(CheckFailed, match="on topic 4 without holding it"):
        checker.handled(1, 1, Started(), (Send((3,), Data(4, 9, 1, 1, 0, b"", 0, ((6, 0),))),))
    with pytest.raises(CheckFailed, match="on topic 4 without holding it"):
        checker.handled(1, 1, Started(), (Send((3,), Answer(4, 9, (Data(4, 9, 1, 1, 0, b""),))),))


def test_a_delivery_on_a_further_topic_that_is_not_followed_is_caught():
    with pytest.raises(CheckFailed, match="node 1 delivered message 1 of 9 on topic 6 without following it"):
        checker_with(Role.FOLLOWS).handled(1, 1, Started(), (Deliver(5, b"", 9, 1, 1, 0, (6,)),))


def test_a_delivery_out_of_order_is_caught_where_recovery_promises_order():
    first, second = (Deliver(5, b"", 9, sequence, 1, 0, (6,)) for sequence in (1, 2))
    honest, caught = all_checkers(recovers=True)[-1], all_checkers(recovers=True)[-1]
    honest.handled(1, 1, Started(), (first, Deliver(5, b"", 8, 1, 1, 0), second))
    caught.handled(1, 1, Started(), (second,))
    with pytest.raises(CheckFailed, match="node 1 delivered message 1 of 9 on topic 6 after message 2"):
        caught.handled(1, 1, Started(), (Deliver(6, b"", 9, 1, 1, 0),))
    caught.handled(1, 1, Unsubscribe(6), ())
    caught.handled(1, 1, Subscribe(6, 1), (Deliver(6, b"", 9, 1, 1, 0),))
    assert len(all_checkers()) == len(all_checkers(recovers=True)) - 1


def test_a_publisher_that_does_not_follow_may_relay_but_not_deliver():
    checker = checker_with(Role.PUBLISHES)
    checker.handled(1, 1, Started(), (RELAY,))
    with pytest.raises(CheckFailed, match="without following it"):
        checker.handled(1, 1, Started(), (DELIVERY,))


def test_relaying_or_delivering_after_unsubscribing_is_caught():
    for action in (DELIVERY, RELAY):
        checker = checker_with(Role.FOLLOWS)
        checker.handled(1, 1, Unsubscribe(5), ())
        with pytest.raises(CheckFailed):
            checker.handled(2, 1, Started(), (action,))


def test_a_machine_that_starts_again_has_no_subscriptions():
    checker = checker_with(Role.FOLLOWS)
    checker.gone(1, 1)
    with pytest.raises(CheckFailed):
        checker.handled(2, 1, Started(), (DELIVERY,))


def test_gossip_may_relay_through_nodes_without_the_topic():
    DeliveryChecker(relay_by_others=True).handled(1, 1, Started(), (RELAY,))
    with pytest.raises(CheckFailed):
        DeliveryChecker().handled(1, 1, Started(), (RELAY,))


@pytest.mark.parametrize("facts", [[NeighbourUp(1)], [NeighbourUp(2), NeighbourUp(2)], [NeighbourDown(2)]])
def test_wrong_statements_about_neighbours_are_caught(facts):
    checker = NeighbourChecker()
    with pytest.raises(CheckFailed, match="node 1"):
        checker.handled(0, 1, Started(), tuple(map(Observe, facts)))


def test_a_neighbour_may_come_go_and_come_again():
    checker = NeighbourChecker()
    for fact in (NeighbourUp(2), NeighbourDown(2), NeighbourUp(2)):
        checker.handled(0, 1, Started(), (Observe(fact),))
    with pytest.raises(CheckFailed, match="stated 2 as a new neighbour twice"):
        checker.handled(0, 1, Started(), (Observe(NeighbourUp(2)),))
    checker.gone(0, 1)
    checker.handled(0, 1, Started(), (Observe(NeighbourUp(2)),))


def test_data_sent_to_a_node_that_is_no_neighbour_is_caught():
    neighbour = Observe(NeighbourUp(3))
    watching = DataPathChecker()
    with pytest.raises(CheckFailed, match="at 1 us node 1 sent message 1 of 9 to 3, which is not its neighbour"):
        watching.handled(1, 1, Started(), (RELAY,))
    # Parts answer one after another: the fact may follow the message in the same step.
    watching.handled(1, 1, Started(), (RELAY, neighbour))
    watching.handled(2, 1, Started(), (RELAY, Send((4,), ShuffleReply(()))))
    with pytest.raises(CheckFailed, match="to 3, which is not its neighbour"):
        watching.handled(3, 1, Started(), (Observe(NeighbourDown(3)), RELAY))
    NeighbourChecker().handled(1, 1, Started(), (RELAY,))


def test_data_that_reaches_a_node_that_never_held_its_topic_is_caught():
    checker = ReceiverChecker()
    received = MessageReceived(3, Answer(5, 9, (Data(5, 9, 1, 1, 0, b""),)))
    with pytest.raises(CheckFailed, match="node 1 received message 1 of 9 from 3 and never held topic 5"):
        checker.handled(0, 1, received, ())
    checker.handled(1, 1, Subscribe(5, Role.FOLLOWS), ())
    checker.handled(2, 1, Unsubscribe(5), ())
    checker.handled(3, 1, received, ())
    # Messages that were under way to a machine reach the one that replaces it.
    checker.gone(4, 1)
    checker.handled(5, 1, received, ())


def test_the_checkers_of_a_run_fit_its_dissemination():
    kinds = {name: [type(checker) for checker in all_checkers(name)] for name in (None, "flood", "gossip")}
    assert {name: ReceiverChecker in kinds[name] for name in kinds} == {None: False, "flood": True, "gossip": False}


def test_time_that_goes_back_is_caught():
    checker = ClockChecker()
    checker.handled(5, 1, Started(), ())
    with pytest.raises(CheckFailed, match="handled an event at 4 us after one at 5 us"):
        checker.handled(4, 2, Started(), ())


class Word(WireMessage, frozen=True, array_like=True, tag="test_word"):
    """A message in which a topic may be hidden."""

    number: int = 0
    content: bytes = b""
    peers: tuple = ()


LARGE = 2**60 + 12345  # as ids of live topics are


def tell(message, holds=()):
    checker = NonDisclosureChecker()
    checker.handled(0, 1, Subscribe(LARGE, Role.FOLLOWS), ())
    for topic in holds:
        checker.handled(0, 2, Subscribe(topic, Role.FOLLOWS), ())
    checker.handled(1, 2, MessageReceived(1, message), ())


@pytest.mark.parametrize(
    "message",
    [
        Data(LARGE, 1, 1, 0, 0, b""),
        Data(7, 1, 1, 0, 0, b""),
        Word(number=LARGE),
        Word(content=b"..." + LARGE.to_bytes(8, "big")),
        Word(number=identity(LARGE.to_bytes(8, "big"))),
        Word(content=sha256(str(LARGE).encode()).digest()),
        Word(content=b"x" + md5(LARGE.to_bytes(8, "little")).digest()[:10]),
        ShuffleReply((ViewEntry(3, 0, b"", (LARGE,)),)),
        Word(peers=(Peer(3, LARGE.to_bytes(8, "big")),)),
        Word(content=f"topic {LARGE}".encode()),
        Word(peers=(f"{LARGE:016x}",)),
        Word(peers=({LARGE},)),
        Word(peers=({3: LARGE.to_bytes(8, "big")},)),
        Word(content=sha3_256(str(LARGE).encode()).digest()[:8]),
    ],
    ids=str,
)
def test_a_topic_disclosed_to_a_node_without_it_is_caught_in_any_form(message):
    with pytest.raises(CheckFailed, match=r"disclosed topic \d+ to node 2, which never held it"):
        tell(message)
    tell(message, holds=(LARGE, 7))


def test_keyed_hashes_counts_and_the_application_s_own_bytes_pass():
    key = topic_key(LARGE, b"")
    for message in (
        Probe(5, prove(key, b"probe", 1, 2, 5), b""),
        Word(number=7),
        ShuffleReply((ViewEntry(3, 0, b"there"),)),
    ):
        tell(message)
    tell(Data(3, 1, 1, 0, 0, LARGE.to_bytes(8, "big")), holds=(3,))
    tell(TreeBurst(3, 1, 1, 0, ((0, LARGE.to_bytes(8, "big")),)), holds=(3,))


def test_a_message_about_a_topic_may_reach_a_node_that_unsubscribed_from_it():
    checker = NonDisclosureChecker()
    checker.handled(0, 2, Subscribe(5, Role.FOLLOWS), ())
    checker.handled(1, 2, Unsubscribe(5), ())
    checker.handled(2, 2, MessageReceived(1, Data(5, 1, 1, 0, 0, b"")), ())


def test_disclosure_is_checked_only_for_systems_that_must_not_disclose():
    watched = [
        any(isinstance(each, NonDisclosureChecker) for each in all_checkers(discloses=tells)) for tells in (True, False)
    ]
    assert watched == [False, True]


@pytest.mark.parametrize("has_disk", [True, False])
def test_only_a_node_with_a_disk_must_not_repeat_a_message_after_a_restart(has_disk):
    for checker in all_checkers(recovers=True, has_disk=has_disk):
        checker.handled(0, 1, Subscribe(5, Role.BOTH), (Deliver(5, b"", 9, 2, 1, 0),))
        checker.gone(1, 1)
        checker.handled(2, 1, Subscribe(5, Role.BOTH), ())
        if has_disk and type(checker).__name__ in ("DeliveryChecker", "OrderChecker"):
            repeated = 2 if type(checker).__name__ == "DeliveryChecker" else 1
            with pytest.raises(CheckFailed, match="node 1 delivered"):
                checker.handled(3, 1, Started(), (Deliver(5, b"", 9, repeated, 1, 0),))
        else:
            checker.handled(3, 1, Started(), (Deliver(5, b"", 9, 2, 1, 0),))
