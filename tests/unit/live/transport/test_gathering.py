"""The driver gathers messages that are published in one turn of the loop."""

import asyncio

from msgspec.structs import replace

from gossamer.live.transport import wire
from gossamer.live.transport.driver import LiveDriver
from gossamer.protocols.contract.actions import (
    Send,
)
from gossamer.protocols.contract.events import (
    PeerUp,
    Publish,
    PublishBurst,
    Started,
    Stopping,
)
from gossamer.protocols.contract.messages import BURST_MAX, proved
from gossamer.protocols.dissemination.flood import Flood
from gossamer.protocols.dissemination.tree import TreeBurst
from tests.decoding import PART_CLASSES
from tests.unit.live.transport.scripted import Scripted, data


class Publishing:
    """A driver that gathers, with a machine that sends each publication to the nodes `to`."""

    part_classes = (*PART_CLASSES, Flood)

    def __init__(self, to=(3,), burst_bytes=1_000_000, guard=None, **options):
        self.script = Scripted([], **options)
        self.script.handle = self.handle
        self.to = to
        self.events = []
        self.driver = LiveDriver(self.script, 1, b"me", self.script, guard=guard, burst_bytes=burst_bytes)
        self.driver.start(Started())

    def handle(self, event, now_us):
        self.events.append((now_us, event))
        return (Send(self.to, data(event.sequence)),) if isinstance(event, Publish) and self.to else ()

    def publish(self, topic=7, payload=b"x"):
        """Publish as a node does; says whether the message was gathered."""
        given = len(self.events)
        tally = self.driver.publish(topic, payload, sequence=self.driver.next_sequence())
        return bool(tally.queued) and not any(isinstance(event, Publish) for _, event in self.events[given:])

    def told(self):
        """The topics and payloads of the publications that the machine got."""
        return [
            (event.topic, [event.payload] if isinstance(event, Publish) else [payload for _, payload in event.items])
            for _, event in self.events[1:]
            if isinstance(event, Publish | PublishBurst)
        ]


class StrictGuard:
    """Marks what it seals and packs, keeps one topic from node 4, and cannot send number 0 at all."""

    def __init__(self, forbidden=7):
        self.forbidden = forbidden

    def admit(self, link_name, sender, message):
        return message, None

    def lets_out(self, node, message):
        return node != 4 or message.topic != self.forbidden

    def pack(self, message):
        return None if message.sequence == 0 else replace(message, payload=b"packed")

    def seal(self, topics, sequence, content, published_us):
        return b"sealed " + content

    def seal_burst(self, topic, first, items):
        return proved(tuple((at_us, b"sealed " + content) for at_us, content in items), "proof")


def publishing(act, **options):
    async def scenario():
        node = Publishing(**options)
        act(node)
        return node

    return asyncio.run(scenario())


def test_messages_published_while_the_first_waits_to_leave_are_one_event():
    def act(node):
        assert [node.publish(payload=b"%d" % number) for number in range(4)] == [False, True, True, True]
        assert node.told() == [(7, [b"0"])]
        node.driver.flush()
        node.driver.flush()

    node = publishing(act)
    assert node.told() == [(7, [b"0"]), (7, [b"1", b"2", b"3"])]
    (_, (_, first), (now_us, burst)) = node.events
    assert burst.sequence == first.sequence + 1
    assert [at_us for at_us, _ in burst.items] == sorted(at_us for at_us, _ in burst.items)
    assert burst.items[-1][0] <= now_us


def test_gathered_messages_precede_another_topic_and_any_other_event():
    def act(node):
        node.publish(payload=b"0")
        assert node.publish(payload=b"1")
        assert not node.publish(topic=8, payload=b"2")
        assert node.publish(topic=8, payload=b"3")
        assert not node.publish(payload=b"4")
        assert node.publish(payload=b"5")
        node.driver.peer_up(4)
        assert not node.publish(payload=b"6")
        assert node.publish(payload=b"7")
        node.driver.stop()

    node = publishing(act)
    topics = (7, 7, 8, 8, 7, 7, 7, 7)
    assert node.told() == [(topic, [b"%d" % number]) for number, topic in enumerate(topics)]
    kinds = [type(event) for _, event in node.events]
    assert kinds.index(PeerUp) == 7
    assert kinds[-1] is Stopping
    sequences = [event.sequence for _, event in node.events if hasattr(event, "sequence")]
    assert sequences == list(range(sequences[0], sequences[0] + 8))


def test_a_message_is_not_gathered_without_a_queue_without_a_receiver_or_after_a_refusal():
    def idle(node):
        node.script.gathers = False
        assert not any([node.publish(), node.publish()])

    def two(node):
        assert not any([node.publish(), node.publish()])

    assert len(publishing(idle).told()) == 2
    assert len(publishing(two, to=()).told()) == 2
    assert len(publishing(two, refuses=(3,)).told()) == 2
    # The queue towards one of two receivers is full; it may have room for the next message.
    assert len(publishing(two, to=(3, 4), refuses=(4,)).told()) == 2


def test_a_burst_has_at_most_its_number_of_messages_and_bytes():
    def many(node):
        node.publish()
        assert [node.publish() for _ in range(BURST_MAX + 1)] == [True] * BURST_MAX + [False]

    def long(node):
        node.publish()
        assert node.publish(payload=bytes(40_000))
        assert not node.publish(payload=bytes(40_000))
        assert node.publish(payload=b"short")

    def little(node):
        node.publish()
        while node.publish(payload=b"x" * 100):
            pass

    assert [len(payloads) for _, payloads in publishing(many).told()] == [1, BURST_MAX, 1]
    burst = publishing(little, burst_bytes=2_000).events[-2][1]
    frame = wire.frame(TreeBurst(2**64 - 1, 2**64 - 1, burst.sequence, 2**31, burst.items, burst.sequence))
    assert 1_800 < len(frame) <= 2_000, "a burst of so many messages is a frame that may be sent"
    assert [len(payloads) for _, payloads in publishing(long).told()] == [1, 1, 1]


def test_gathered_messages_are_sealed_together_and_carry_their_proof():
    def act(node):
        assert [node.publish(payload=b"%d" % number) for number in range(3)] == [False, True, True]
        node.driver.flush()

    node = publishing(act, guard=StrictGuard())
    assert node.told() == [(7, [b"sealed 0"]), (7, [b"sealed 1", b"sealed 2"])]
    assert node.events[-1][1].items.proof == "proof"


def test_a_neighbour_that_may_not_subscribe_does_not_keep_messages_from_being_gathered():
    """Otherwise a member without rights could slow down a publisher that signs."""

    def act(node):
        assert [node.publish() for _ in range(3)] == [False, True, True]
        assert node.driver.counts["refused: may not subscribe"] == 1

    publishing(act, to=(3, 4), guard=StrictGuard())


def test_of_the_messages_for_a_node_only_those_leave_that_the_guard_lets_out():
    to = (3, 4)

    def act(node):
        sends = [Send(to, replace(data(number), topic=topic)) for topic, number in ((7, 5), (8, 6), (8, 0), (7, 8))]
        node.script.handle = lambda event, now_us: sends if isinstance(event, PeerUp) else ()
        node.driver.peer_up(3)

    node = publishing(act, guard=StrictGuard())
    sent = [(to, message) for to, _, message in node.script.sent]
    assert [(to, message.topic, message.sequence) for to, message in sent] == [
        (3, 7, 5),
        (3, 8, 6),
        (3, 7, 8),
        (4, 8, 6),
    ]
    assert {message.payload for _, message in sent} == {b"packed"}
    assert node.driver.counts["refused: may not subscribe"] == 2
    assert node.driver.counts["messages that nobody can check alone"] == 1
