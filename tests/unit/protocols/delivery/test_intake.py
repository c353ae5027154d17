"""What every dissemination does with a received message: refuse it, or take it in and relay it."""

import msgspec
import pytest

from gossamer.model.values.errors import MachineMisuse
from gossamer.model.values.ids import Role
from gossamer.protocols.contract.actions import Deliver, Observe, Send
from gossamer.protocols.contract.events import MessageReceived, Publish, Subscribe
from gossamer.protocols.contract.facts import Arrived, ArrivedBurst, PeerMisbehaved
from gossamer.protocols.contract.messages import HOPS_MAX, Data
from gossamer.protocols.delivery.history import History
from gossamer.protocols.delivery.seen import FETCHED
from gossamer.protocols.delivery.state import DeliveryState
from gossamer.protocols.dissemination.flood import Flood
from gossamer.protocols.dissemination.tree import Tree
from gossamer.protocols.dissemination.tree_messages import TreeBurst, TreeData
from tests.decoding import decode_message
from tests.unit.protocols.delivery.one_part import ME, ONE, TWO, every_dissemination, give, make, message, sent_to


def intake_with(recovers):
    held = DeliveryState(ME, history=History(), recovers=recovers)
    held.set_interest(Subscribe(ONE, Role.FOLLOWS))
    return held


def test_without_recovery_an_accepted_message_is_delivered_at_once():
    out = []
    onward, facts = intake_with(recovers=False).intake.accept(Data(ONE, 9, 1, 0, 5, b"x"), 2, 5, out)
    assert onward == Data(ONE, 9, 1, 1, 5, b"x")
    assert (out, facts) == ([Deliver(ONE, b"x", 9, 1, 1, 5)], ())
    burst = TreeBurst(ONE, 9, 2, 0, ((6, b"y"),), 1)
    onward, facts = intake_with(recovers=False).intake.accept_burst(burst, 2, 5, out)
    assert onward == TreeBurst(ONE, 9, 2, 1, ((6, b"y"),), 1)
    assert (out[1:], facts) == ([Deliver(ONE, b"y", 9, 2, 1, 6)], ())


def test_with_recovery_an_accepted_message_becomes_a_fact_and_recovery_delivers_it():
    out = []
    onward, facts = intake_with(recovers=True).intake.accept(Data(ONE, 9, 1, 0, 5, b"x"), 2, 5, out)
    assert facts == (Arrived(onward, 2),)
    whole, facts = intake_with(recovers=True).intake.accept_burst(TreeBurst(ONE, 9, 2, 0, ((6, b"y"),), 1), 2, 5, out)
    assert facts == (ArrivedBurst(whole, 2),)
    assert out == []


def test_an_accepted_message_is_kept_one_hop_further_under_each_held_topic():
    held = intake_with(recovers=True)
    held.set_interest(Subscribe(TWO, Role.PUBLISHES))
    onward, _ = held.intake.accept(Data(99, 9, 1, 0, 5, b"x", 0, ((ONE, 0), (TWO, 0))), 2, 5, [])
    assert onward.hops == 1
    assert held.history.latest(ONE, 9, 0) == held.history.latest(TWO, 9, 0) == [(5, onward)]
    assert held.history.count(99) == 0


def test_a_fetched_message_that_arrives_later_is_handed_out_for_relaying_once():
    held = intake_with(recovers=True)
    data = Data(ONE, 9, 1, 0, 5, b"x")
    held.seen.add(9, 1, FETCHED)
    assert held.intake.fetched_copy(data, 2) is None, "the validator did not accept it, so it is not kept"
    kept, _ = held.intake.accept(data, 3, 5, [])
    assert held.intake.fetched_copy(data, 2) == kept
    assert held.intake.fetched_copy(data, 2) is None
    assert held.seen.first_sender(9, 1) == 2


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (Data(TWO, 9, 1, 0, 0, b""), "sent a topic that this node does not hold"),
        (Data(ONE, 9, 3, 0, 0, b"", 3), "sent a message that follows itself"),
        (Data(ONE, 9, 3, 0, 0, b"", 2, ((TWO, 3),)), "sent a message that follows itself"),
        (Data(ONE, 9, 3, HOPS_MAX, 0, b"", 2), "sent a message that has come too far"),
    ],
)
def test_a_wrong_message_is_refused_and_its_sender_is_reported(data, reason):
    out = []
    assert intake_with(recovers=False).intake.refuses(4, data, out)
    assert out == [Observe(PeerMisbehaved(4, reason))]


@pytest.mark.parametrize(
    "field", [{"sequence": 2**64 - 1}, {"hops": 2**64 - 1}, {"hops": -1}, {"also": ((1, 0),) * 64}]
)
def test_numbers_beyond_their_limits_and_too_many_topics_are_refused_by_the_decoder(field):
    data = msgspec.structs.replace(TreeData(ONE, 9, 1, 0, 0, b""), **field)
    with pytest.raises(msgspec.ValidationError):
        decode_message(msgspec.msgpack.encode(data))


@every_dissemination
def test_a_message_on_two_topics_crosses_each_link_once(kind):
    part = make(kind)
    for topic in (ONE, TWO):
        give(part, Subscribe(topic, Role.BOTH))
    assert sent_to(give(part, Publish(ONE, b"", (TWO,)))) == [(2, 3, 4)]
    actions = give(part, MessageReceived(2, message(kind, also=((TWO, 0),))))
    assert sent_to(actions) == [(3, 4)]
    (deliver,) = [action for action in actions if type(action) is Deliver]
    assert (deliver.topic, deliver.also) == (ONE, (TWO,))


@pytest.mark.parametrize("kind", [Flood, Tree])
def test_a_node_that_holds_one_of_two_topics_relays_to_neighbours_on_that_topic(kind):
    part = make(kind)
    give(part, Subscribe(TWO, Role.FOLLOWS))
    actions = give(part, MessageReceived(3, message(kind, also=((TWO, 0),))))
    assert sent_to(actions) == [(4,)]
    (deliver,) = [action for action in actions if type(action) is Deliver]
    assert (deliver.topic, deliver.also) == (TWO, ())


@pytest.mark.parametrize("kind", [Flood, Tree])
def test_a_system_that_does_not_disclose_topics_neither_sends_nor_takes_a_message_on_several(kind):
    part = make(kind, DeliveryState(ME, discloses=False))
    for topic in (ONE, TWO):
        give(part, Subscribe(topic, Role.BOTH))
    with pytest.raises(MachineMisuse, match="one topic at a time"):
        give(part, Publish(ONE, b"", (TWO,)))
    (observed,) = give(part, MessageReceived(3, message(kind, also=((TWO, 0),))))
    assert isinstance(observed.fact, PeerMisbehaved)


@every_dissemination
def test_a_message_with_too_many_hops_to_decode_after_one_more_is_not_relayed(kind):
    part = make(kind)
    give(part, Subscribe(ONE, Role.BOTH))
    for hops, is_relayed in ((HOPS_MAX - 1, True), (HOPS_MAX, False)):
        far = msgspec.structs.replace(message(kind, hops), hops=hops)
        actions = give(part, MessageReceived(2, far))
        assert bool(sent_to(actions)) == is_relayed
        for action in actions:
            if type(action) is Send:
                encoded = msgspec.msgpack.encode(action.message)
                assert msgspec.msgpack.decode(encoded, type=type(action.message)) == action.message
    assert actions[-1].fact == PeerMisbehaved(2, "sent a message that has come too far")
