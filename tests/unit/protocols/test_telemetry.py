"""Telemetry records: what one event of a node says."""

from gossamer.protocols.contract.actions import Deliver, Observe, Send, Validate
from gossamer.protocols.contract.events import (
    MessageReceived,
    Outcome,
    Publish,
    PublishBurst,
    Restarted,
    Started,
    Stopping,
    Subscribe,
    TimerFired,
    Unsubscribe,
    Validated,
)
from gossamer.protocols.contract.facts import BufferFull, Lost, NeighbourDown, NeighbourUp, TopicViewChanged
from gossamer.protocols.contract.messages import Data
from gossamer.protocols.dissemination.tree_messages import TreeBurst, TreeData
from gossamer.protocols.telemetry import (
    COUNT_US,
    NOT_HELD,
    OWN,
    SECOND,
    ControlSent,
    CopyReceived,
    InterestChanged,
    LinkChanged,
    MessageDelivered,
    MessageDropped,
    MessagePublished,
    MessagesLost,
    NodeLeft,
    NodeStarted,
    StepTelemetry,
    TopicLinksChanged,
)

ME, PEER, FAR = 1, 2, 3
TOPIC = 9


def data(sequence, publisher=FAR, topic=TOPIC, hops=1):
    return Data(topic, publisher, sequence, hops, 50, b"x")


def follower(**options):
    return StepTelemetry(ME, roles={TOPIC: 3}, **options)


def copies(telemetry, *messages, sender=PEER):
    events = [MessageReceived(sender, message) for message in messages]
    return [record for event in events for record in telemetry.records(100, event, ()) if type(record) is CopyReceived]


def test_a_node_that_comes_changes_its_topics_and_leaves_has_a_record_of_each():
    telemetry = StepTelemetry(ME)
    events = [Started(), Subscribe(TOPIC, 1), Subscribe(TOPIC, 1), Subscribe(TOPIC, 3), Unsubscribe(TOPIC), Stopping()]
    found = [record for at_us, event in enumerate(events) for record in telemetry.records(at_us, event, ())]
    assert found == [
        NodeStarted(0, ME),
        InterestChanged(1, ME, TOPIC, 1),
        InterestChanged(3, ME, TOPIC, 3),
        InterestChanged(4, ME, TOPIC, 0),
        NodeLeft(5, ME),
    ]
    assert StepTelemetry(ME).records(7, Restarted(version=1), ()) == [NodeStarted(7, ME)]


def test_the_first_copy_of_a_message_is_of_use_and_every_further_one_says_why_not():
    telemetry = follower()
    found = copies(telemetry, data(4), data(4), data(5, publisher=ME), data(6, topic=8))
    assert [record.needless for record in found] == ["", SECOND, OWN, NOT_HELD]
    assert found[0] == CopyReceived(100, ME, PEER, TOPIC, FAR, 4, 1, "")


def test_one_message_in_n_is_traced_alone_and_in_bursts():
    telemetry = follower(every=4)
    assert [record.sequence for record in copies(telemetry, *map(data, range(1, 10)))] == [4, 8]
    burst = TreeBurst(TOPIC, FAR, 11, 0, tuple((0, b"x") for _ in range(10)))
    assert [record.sequence for record in copies(telemetry, burst)] == [12, 16, 20]
    delivered = [Deliver(TOPIC, b"x", FAR, number, 2, 30) for number in range(9, 14)]
    assert telemetry.records(100, TimerFired(None), delivered) == [MessageDelivered(100, ME, TOPIC, FAR, 12, 2, 30)]


def test_publications_have_the_numbers_of_the_driver_or_those_that_the_machine_counts():
    telemetry = follower()
    events = [Publish(TOPIC, b"x"), Publish(TOPIC, b"x"), Publish(TOPIC, b"x", (), 500), Publish(TOPIC, b"x")]
    events.append(PublishBurst(TOPIC, ((0, b"x"),) * 3))
    found = [record.sequence for event in events for record in telemetry.records(100, event, ())]
    assert found == [101, 102, 500, 501, 502, 503, 504]
    assert follower().records(7, events[0], ()) == [MessagePublished(7, ME, TOPIC, 8)]


def test_links_views_gaps_and_full_buffers_have_records():
    facts = [NeighbourUp(PEER), NeighbourDown(PEER), TopicViewChanged(TOPIC, (4,), (5,)), Lost(TOPIC, FAR, 3, 7)]
    facts.append(BufferFull(TOPIC, FAR, 3))
    assert follower().records(100, TimerFired(None), list(map(Observe, facts))) == [
        LinkChanged(100, ME, PEER, True),
        LinkChanged(100, ME, PEER, False),
        TopicLinksChanged(100, ME, TOPIC, (4,), (5,)),
        MessagesLost(100, ME, TOPIC, FAR, 3, 7),
        MessageDropped(100, ME, TOPIC, "buffer full"),
    ]


def test_a_message_that_the_validator_rejects_has_a_record():
    telemetry = follower()
    asked = [Validate(1, TOPIC, b"x"), Validate(2, TOPIC, b"y"), Validate(3, TOPIC, b"z")]
    assert telemetry.records(100, TimerFired(None), asked) == []
    answers = [Validated(1, Outcome.ACCEPT), Validated(2, Outcome.REJECT), Validated(3, Outcome.IGNORE)]
    found = [record for event in answers for record in telemetry.records(101, event, ())]
    assert found == [MessageDropped(101, ME, TOPIC, "rejected by the validator")]


def test_control_messages_are_counted_by_kind_and_reported_once_a_second():
    telemetry = follower()
    control, message = Send((PEER, FAR), NeighbourUp(1)), Send((PEER,), TreeData(TOPIC, ME, 1, 0, 0, b""))
    assert telemetry.records(1, TimerFired(None), [control, message]) == []
    assert telemetry.records(COUNT_US, TimerFired(None), [control]) == [ControlSent(COUNT_US, ME, "NeighbourUp", 4)]
    assert telemetry.records(2 * COUNT_US, TimerFired(None), []) == []


def test_a_node_remembers_a_bounded_number_of_first_copies(monkeypatch):
    monkeypatch.setattr("gossamer.protocols.telemetry.FIRST_COPIES_MAX", 2)
    found = copies(follower(), data(1), data(2), data(3), data(3), data(1))
    assert [record.needless for record in found] == ["", "", "", SECOND, ""]
