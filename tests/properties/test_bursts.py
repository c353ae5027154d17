"""A burst is equivalent to its messages one by one: of two nodes, one gets bursts and the other their messages."""

from collections import defaultdict

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gossamer.model.values.errors import MachineMisuse
from gossamer.model.values.ids import Role
from gossamer.protocols.contract.actions import (
    Deliver,
    Observe,
    Send,
    SetTimer,
)
from gossamer.protocols.contract.events import (
    MessageReceived,
    Publish,
    PublishBurst,
    Subscribe,
    TimerFired,
    Unsubscribe,
    Validated,
)
from gossamer.protocols.contract.facts import NeighbourDown
from gossamer.protocols.contract.messages import BURST_MAX, Burst, Data
from gossamer.protocols.contract.node import NodeMachine
from gossamer.protocols.delivery.history import History
from gossamer.protocols.delivery.recovery.machine import Recovery
from gossamer.protocols.delivery.recovery.messages import Answer, RecoveryParameters
from gossamer.protocols.delivery.state import DeliveryState
from gossamer.protocols.dissemination.flood import Flood
from gossamer.protocols.dissemination.tree import Tree
from gossamer.protocols.dissemination.tree_messages import Graft, Prune, TreeBurst, TreeData
from tests.decoding import decode_message

ME, TOPIC, UNKNOWN = 1, 7, 9
NEIGHBOURS = (2, 3, 4)
# Others, and one that publishes under this node's own name.
PUBLISHERS = (100, 200, ME)
NAMES_MAX = 12


class Fixed:
    def neighbours_on(self, topic):
        return NEIGHBOURS


class Node:
    """A node with tree, recovery and small limits; it runs its timers and collects all its actions by kind."""

    def __init__(self, recovers, splits):
        self.splits = splits
        parameters = RecoveryParameters(waiting=8)
        history = History(16, 8_192)
        self.held = DeliveryState(ME, NAMES_MAX, history, recovers)
        self.tree = Tree(Fixed(), ME, self.held)
        parts = [self.held.announcements, self.tree]
        parts += [Recovery(parameters, Fixed(), self.held, ME)] if recovers else []
        self.machine = NodeMachine(parts)
        self.now_us, self.timers = 1_000_000, []

    def give(self, event):
        """Handle an event; if this node splits bursts, handle each of its messages instead."""
        events = [event]
        if self.splits and isinstance(event, PublishBurst):
            events = [
                Publish(event.topic, payload, sequence=number)
                for number, (_, payload) in enumerate(event.items, event.sequence)
            ]
        elif self.splits and isinstance(event, MessageReceived) and isinstance(event.message, Burst):
            events = [MessageReceived(event.sender, data) for data in event.message.messages]
        return self.come_of([action for each in events for action in self.machine.handle(each, self.now_us)])

    def come_of(self, actions):
        sent, others = defaultdict(list), []
        for action in actions:
            if type(action) is Send:
                carried = action.message
                messages = carried.messages if isinstance(carried, Burst) else [carried]
                for node in action.to:
                    sent[node, isinstance(carried, Data | Burst)] += messages
            elif type(action) is SetTimer:
                self.timers.append((action.at_us, action.timer))
            else:
                others.append(action)
        delivered = [action for action in others if type(action) is Deliver]
        # A burst that is refused is one offence, and its messages are one each.
        observed = {msgspec.json.encode(action) for action in others if type(action) is Observe}
        asked = [action for action in others if type(action) not in (Deliver, Observe)]
        control = {key: sorted(map(str, messages)) for key, messages in sent.items() if not key[1]}
        data = {key: messages for key, messages in sent.items() if key[1]}
        return delivered, observed, asked, control, data

    def wait(self, time_us):
        end_us, found = self.now_us + time_us, []
        while due := [timer for timer in self.timers if timer[0] <= end_us]:
            first = min(due, key=lambda timer: (timer[0], str(timer[1])))
            self.timers.remove(first)
            self.now_us = max(first[0], self.now_us)
            found.append(self.give(TimerFired(first[1])))
        self.now_us = end_us
        return found

    def kept(self):
        """The whole state of the node: names, history, the tree, gathered announcements, each publisher's order."""
        branches = {
            topic: (branch.reference, branch.supplier, branch.hops, branch.heard_us, tuple(branch.lazy))
            for topic, branch in self.tree._branches.items()
        }
        names = {
            publisher: sorted(numbers.items())
            for publisher, numbers in self.held.seen._first_senders.items()
            if numbers
        }
        remembered = [(span.publisher, span.first, span.end) for span in self.held.seen._spans]
        gathered = [
            (node, waiting.news.publisher, waiting.news.first, waiting.news.last, waiting.due_us, waiting.told)
            for node, outbox in self.held.announcements.outboxes.items()
            for waiting in outbox.waiting.values()
        ]
        streams = [
            [getattr(stream, name) for name in stream.__slots__]
            for part in self.machine._parts[2:]
            for followed in part._topics.values()
            for stream in followed.streams.values()
        ]
        history = self.held.history.latest(TOPIC, 1_000, 0)
        return names, remembered, history, branches, gathered, streams, sorted(map(str, self.timers))


numbers = st.integers(1, 20)
senders = st.sampled_from(NEIGHBOURS)
bursts = st.builds(
    lambda publisher, first, skips, count, hops, topic: (publisher, first, skips, count, hops, topic),
    st.sampled_from(PUBLISHERS),
    numbers,
    st.integers(1, 3),
    st.integers(1, 6),
    st.integers(0, 3),
    st.sampled_from((TOPIC, TOPIC, TOPIC, TOPIC, UNKNOWN)),
)
steps = st.one_of(
    st.tuples(st.just("burst"), senders, bursts),
    st.tuples(st.just("burst"), senders, bursts),
    st.tuples(st.just("next"), senders, st.integers(1, 6)),
    st.tuples(st.just("next"), senders, st.integers(1, 6)),
    st.tuples(st.just("single"), senders, bursts),
    st.tuples(st.just("answer"), senders, bursts),
    st.tuples(st.just("publish"), st.integers(1, 6)),
    st.tuples(st.just("prune"), senders),
    st.tuples(st.just("graft"), senders),
    st.tuples(st.just("down"), senders),
    st.tuples(st.just("wait"), st.sampled_from([1_000, 100_000, 600_000, 3_000_000])),
    st.tuples(st.just("judge"), st.integers(0, 20), st.integers(0, 2)),
    st.tuples(st.just("leave")),
)


def burst_of(publisher, first, skips, count, hops, topic):
    items = tuple((1_000_000 + number, b"%d" % number) for number in range(first, first + count))
    return TreeBurst(topic, publisher, first, hops, items, max(first - skips, 0))


def as_data(burst):
    return burst.messages[0]


class Script:
    """Turns steps into events: the same for both nodes."""

    def __init__(self, validates, last):
        self.subscribe = Subscribe(TOPIC, Role.BOTH, validates=validates, last=last)
        self.mine = 10
        self.next = 1

    def event(self, step, now_us):
        kind, *values = step
        if kind == "burst":
            return MessageReceived(values[0], burst_of(*values[1]))
        if kind == "next":
            first, self.next = self.next, self.next + values[1]
            return MessageReceived(values[0], burst_of(PUBLISHERS[0], first, 1, values[1], 1, TOPIC))
        if kind == "single":
            return MessageReceived(values[0], as_data(burst_of(*values[1])))
        if kind == "answer":
            burst = burst_of(*values[1])
            plain = tuple(Data(*msgspec.structs.astuple(data)) for data in burst.messages)
            return MessageReceived(values[0], Answer(burst.topic, burst.publisher, plain))
        if kind == "publish":
            first, self.mine = self.mine, self.mine + values[0]
            return PublishBurst(TOPIC, tuple((now_us, b"mine") for _ in range(values[0])), first)
        if kind == "judge":
            return Validated(*values)
        if kind == "leave":
            return Unsubscribe(TOPIC)
        return MessageReceived(values[0], Prune(TOPIC) if kind == "prune" else Graft(TOPIC, ()))


# A burst of a new reference makes its sender the supplier: its second message is heard from the supplier.
NEW_SUPPLIER = [("burst", 2, (100, 1, 1, 1, 0, TOPIC)), ("wait", 1_000), ("burst", 2, (ME, 1, 1, 2, 0, TOPIC))]


@settings(max_examples=400)
@example(False, False, 0, NEW_SUPPLIER)
@example(True, False, 0, [*NEW_SUPPLIER[:2], ("burst", 2, (ME, 1, 1, 1, 0, TOPIC))])
@given(st.booleans(), st.booleans(), st.sampled_from((0, 3)), st.lists(steps, max_size=25))
def test_a_burst_does_what_its_messages_do_one_after_another(recovers, validates, last, program):
    whole, apart = Node(recovers, splits=False), Node(recovers, splits=True)
    script = Script(validates, last)
    assert whole.give(script.subscribe) == apart.give(script.subscribe)
    for step in program:
        if step[0] == "wait":
            assert whole.wait(step[1]) == apart.wait(step[1])
        elif step[0] == "down":
            found = []
            for node in (whole, apart):
                out = []
                for part in node.machine._parts:
                    part.learn(NeighbourDown(step[1]), node.now_us, out)
                found.append(node.come_of(out))
            assert found[0] == found[1]
        else:
            event = script.event(step, whole.now_us)
            assert whole.give(event) == apart.give(event)
            if step[0] == "leave":
                assert whole.give(script.subscribe) == apart.give(script.subscribe)
        assert whole.kept() == apart.kept()


def test_a_new_burst_is_relayed_whole_and_delivered_message_by_message():
    node = Node(recovers=True, splits=False)
    node.give(Subscribe(TOPIC, Role.BOTH))
    node.give(MessageReceived(2, TreeData(TOPIC, 100, 1, 0, 900_000, b"first")))
    burst = TreeBurst(TOPIC, 100, 2, 1, ((1_000_001, b"a"), (1_000_002, b"b")), 1)
    actions = node.machine.handle(MessageReceived(2, burst), node.now_us)
    onward = TreeBurst(TOPIC, 100, 2, 2, burst.items, 1)
    assert [action for action in actions if type(action) is Send] == [Send((3, 4), onward)]
    assert [action for action in actions if type(action) is Deliver] == [
        Deliver(TOPIC, b"a", 100, 2, 2, 1_000_001),
        Deliver(TOPIC, b"b", 100, 3, 2, 1_000_002),
    ]


def test_the_messages_of_a_burst_have_consecutive_numbers():
    burst = TreeBurst(TOPIC, 100, 5, 2, ((1, b"a"), (2, b"b"), (3, b"c")), 3)
    assert burst.messages == [
        TreeData(TOPIC, 100, 5, 2, 1, b"a", 3),
        TreeData(TOPIC, 100, 6, 2, 2, b"b", 5),
        TreeData(TOPIC, 100, 7, 2, 3, b"c", 6),
    ]


def test_a_burst_on_a_topic_that_the_node_does_not_hold_is_reported_once():
    node = Node(recovers=True, splits=False)
    burst = TreeBurst(UNKNOWN, 100, 5, 2, ((1, b"a"), (2, b"b")), 3)
    (observed,) = node.machine.handle(MessageReceived(2, burst), 0)
    assert observed.fact.reason == "sent a topic that this node does not hold"


def test_no_message_of_a_burst_has_a_number_that_other_nodes_cannot_decode():
    def content(number):
        return msgspec.msgpack.encode(["tree_burst", TOPIC, 100, number, 0, ((1, b"x"),) * BURST_MAX, 0])

    with pytest.raises(msgspec.ValidationError):
        decode_message(content(2**62))
    for data in decode_message(content(2**62 - BURST_MAX)).messages:
        assert decode_message(msgspec.msgpack.encode(data)) == data


@pytest.mark.parametrize("items", [(), ((1, b"x"),) * (BURST_MAX + 1), ((1,),), ((1, b"x", 2),), (("now", b"x"),)])
def test_an_empty_too_large_or_malformed_burst_is_not_decoded(items):
    content = msgspec.msgpack.encode(["tree_burst", TOPIC, 100, 5, 0, items, 0])
    with pytest.raises(msgspec.ValidationError):
        decode_message(content)
    good = msgspec.msgpack.encode(["tree_burst", TOPIC, 100, 5, 0, ((1, b"x"),) * BURST_MAX, 0])
    assert decode_message(good).count == BURST_MAX


def test_a_dissemination_without_bursts_refuses_a_burst():
    machine = NodeMachine((Flood(Fixed(), ME, DeliveryState(ME)),))
    machine.handle(Subscribe(TOPIC, Role.BOTH), 0)
    assert not machine.takes_bursts
    with pytest.raises(MachineMisuse, match="one message at a time"):
        machine.handle(PublishBurst(TOPIC, ((0, b"x"),)), 0)
