"""The audit of records: correct steps pass, and each breach is caught."""

import io

import msgspec

from gossamer.live.operations.audit import Audit
from gossamer.model.values.ids import Role
from gossamer.protocols.contract import record as records
from gossamer.protocols.contract.actions import Deliver, Observe, Send
from gossamer.protocols.contract.events import (
    MessageReceived,
    Publish,
    Started,
    Subscribe,
    Unsubscribe,
)
from gossamer.protocols.contract.facts import NeighbourDown, NeighbourUp
from gossamer.protocols.contract.messages import Data
from gossamer.systems.gossip.machine import GossipData

HEADER = records.Header(system="spidercast", parameters={}, seed=1, dissemination="flood", recovery={})
GOSSIP = msgspec.structs.replace(HEADER, system="random", dissemination="gossip", recovery=None)
UNORDERED = msgspec.structs.replace(HEADER, recovery=None)


def data(topic=7, sequence=1, publisher=1):
    return Data(topic, publisher, sequence, 0, 0, b"x")


def as_gossip(value):
    """The same event or action with gossip's own message class: a record holds only messages of its stack."""
    if not isinstance(getattr(value, "message", None), Data):
        return value
    return msgspec.structs.replace(value, message=GossipData(*msgspec.structs.astuple(value.message)))


def breaches(*steps, header=HEADER):
    """The breaches that an audit finds in these steps of node 1, and in the record of node 2, which did nothing."""
    content = records.encode_header(header)
    for at_us, values in enumerate(steps):
        event, *actions = map(as_gossip, values) if header.dissemination == "gossip" else values
        content += records.encode_step(at_us, 1, event, actions)
    audit = Audit()
    other = records.encode_header(header) + records.encode_step(0, 2, Started(), ())
    for record, count in ((content, len(steps)), (other, 1)):
        found, read = records.read_record(io.BytesIO(record))
        assert len(list(audit.read(found, read))) == count
    assert audit.findings.breach_count == len(audit.findings.breaches)
    return [breach.split(" us ")[1] for breach in audit.findings.breaches]


START = (Started(),)
SUBSCRIBE = (Subscribe(7, Role.FOLLOWS), Observe(NeighbourUp(2)))
UNSUBSCRIBE = (Unsubscribe(7),)


def test_data_sent_to_a_neighbour_on_a_held_topic_passes():
    assert not breaches(START, SUBSCRIBE, (Publish(7, b"x"), Send((2,), data())))
    # Parts answer one after another: a neighbour may be stated after the first message to it.
    assert not breaches(START, SUBSCRIBE, (Publish(7, b"x"), Send((3,), data()), Observe(NeighbourUp(3))))


def test_data_sent_to_a_node_that_is_no_neighbour_is_caught():
    outsider = "sent message 1 of 1 to 3, which is not its neighbour"
    assert breaches(START, SUBSCRIBE, (Publish(7, b"x"), Send((2, 3), data()))) == [outsider]
    gone = (Publish(7, b"x"), Observe(NeighbourDown(2)), Send((2,), data()))
    assert breaches(START, SUBSCRIBE, gone) == ["sent message 1 of 1 to 2, which is not its neighbour"]
    restarted = (START, SUBSCRIBE, START, (Subscribe(7, Role.FOLLOWS), Send((2,), data())))
    assert breaches(*restarted) == ["sent message 1 of 1 to 2, which is not its neighbour"]
    # Gossip, too, sends only to neighbours.
    assert breaches(START, SUBSCRIBE, (Publish(7, b"x"), Send((3,), data())), header=GOSSIP) == [outsider]


def test_data_on_a_topic_that_is_not_held_is_caught_at_both_ends():
    came = (MessageReceived(2, data(topic=8)), Send((2,), data(topic=8)))
    assert breaches(START, SUBSCRIBE, came) == [
        "sent message 1 of 1 on topic 8 without holding it",
        "received message 1 of 1 from 2 and never held topic 8",
    ]
    assert not breaches(START, SUBSCRIBE, came, header=GOSSIP)
    # Without the sender's record a breach is not proved.
    assert not breaches(START, SUBSCRIBE, (MessageReceived(99, data(topic=8)),))
    # A message that was under way when the node unsubscribed is no breach, but the node must not relay it.
    late = (MessageReceived(2, data()), Send((2,), data()))
    assert breaches(START, SUBSCRIBE, UNSUBSCRIBE, late) == ["sent message 1 of 1 on topic 7 without holding it"]


def test_holding_one_of_a_message_s_topics_is_enough():
    both = msgspec.structs.replace(data(topic=8), also=((7, 0),))
    assert not breaches(START, SUBSCRIBE, (MessageReceived(2, both), Send((2,), both)))


def deliver(sequence=1, topic=7):
    return (MessageReceived(2, data(sequence=sequence)), Deliver(topic, b"x", 1, sequence, 1, 0))


def test_a_second_delivery_is_caught():
    assert not breaches(START, SUBSCRIBE, deliver(1), deliver(2))
    assert breaches(START, SUBSCRIBE, deliver(1), deliver(1)) == ["delivered message 1 of 1 twice"]
    # After a restart the machine remembers no deliveries.
    assert not breaches(START, SUBSCRIBE, deliver(1), START, SUBSCRIBE, deliver(1))


def test_a_delivery_out_of_order_is_caught():
    assert breaches(START, SUBSCRIBE, deliver(2), deliver(1)) == ["delivered message 1 of 1 on topic 7 after message 2"]
    assert not breaches(START, SUBSCRIBE, deliver(2), deliver(1), header=GOSSIP)
    # Without recovery, no stack promises order.
    assert not breaches(START, SUBSCRIBE, deliver(2), deliver(1), header=UNORDERED)
    again = (Subscribe(7, Role.FOLLOWS),)
    assert not breaches(START, SUBSCRIBE, deliver(2), UNSUBSCRIBE, again, deliver(1))


def test_a_delivery_on_a_topic_that_is_not_followed_is_caught():
    assert breaches(START, SUBSCRIBE, UNSUBSCRIBE, deliver(1)) == [
        "delivered message 1 of 1 on topic 7 without following it"
    ]
    publishes = (Subscribe(7, Role.PUBLISHES),)
    assert breaches(START, publishes, deliver(1)) == ["delivered message 1 of 1 on topic 7 without following it"]
    other = deliver(1, topic=8)
    assert breaches(START, SUBSCRIBE, other) == ["delivered message 1 of 1 on topic 8 without following it"]


def test_neighbours_that_are_stated_inconsistently_are_caught():
    wrong = (Publish(7, b"x"), Observe(NeighbourUp(2)), Observe(NeighbourDown(3)), Observe(NeighbourUp(1)))
    assert breaches(START, SUBSCRIBE, wrong) == [
        "stated 2 as a new neighbour twice",
        "lost 3, which is not its neighbour",
        "stated itself as its neighbour",
    ]


def test_all_breaches_are_counted_and_the_first_ones_described():
    audit = Audit()
    header, steps = records.read_record(
        io.BytesIO(
            records.encode_header(HEADER)
            + records.encode_step(0, 1, Started(), ())
            + records.encode_step(1, 1, Subscribe(7, Role.FOLLOWS), [Send(tuple(range(2, 102)), data())])
        )
    )
    assert len(list(audit.read(header, steps))) == 2
    assert (audit.findings.breach_count, len(audit.findings.breaches)) == (100, 20)
    assert audit.findings.data_sent == 100
