"""What the records of a network's nodes prove: where application data went, and what was delivered.

Data (any subclass of `Data`, also inside messages that carry several) may be sent only to a node that is the sender's neighbour at
that time, and only on a topic that the sender holds then; it may come only to a node that held one of its topics at some
time before (it may have let go of it while the frame was under way), where the record of who sent it is there too. No message is delivered twice to a node, or to one that
does not follow its topic, and those of one publisher on one topic come in order. Gossip relays through nodes without the topic and
in no order, by its paper: there only neighbours and deliveries are looked at. Each node's record is judged by its own clock alone.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from gossamer.model.values.errors import InputError
from gossamer.model.values.ids import NodeId, Role, TopicId
from gossamer.protocols.contract.actions import (
    Connect,
    Deliver,
    Disconnect,
    Observe,
    SetTimer,
    Validate,
)
from gossamer.protocols.contract.events import (
    MessageReceived,
    Started,
    Subscribe,
    Unsubscribe,
)
from gossamer.protocols.contract.facts import NeighbourDown, NeighbourUp
from gossamer.protocols.contract.messages import Data, Value, data_in
from gossamer.protocols.contract.record import (
    Header,
    Step,
    WholeSteps,
    decode_event,
    decode_message,
    read_record,
)
from gossamer.systems import DISSEMINATIONS

# Chosen: breaches that are told; the rest are counted.
TOLD_MAX = 20


class _Sent(Value, frozen=True, array_like=True, gc=False, tag="send"):
    """A `Send` whose message has not been decoded (`record.decode_event` says why)."""

    to: tuple[NodeId, ...]
    message: msgspec.Raw
    addresses: tuple[bytes, ...] = ()


_Action = _Sent | Connect | Disconnect | SetTimer | Deliver | Validate | Observe
_actions = msgspec.msgpack.Decoder(tuple[_Action, ...])
# Tags of the two facts that make the overlay.
_UP, _DOWN = (str(fact.__struct_config__.tag) for fact in (NeighbourUp, NeighbourDown))


class Findings(Struct):
    """What an audit looked at, and what was wrong."""

    nodes: int = 0
    steps: int = 0
    data_sent: int = 0
    data_received: int = 0
    deliveries: int = 0
    # Data that came from a node without a record here and should not have: nobody's fault that could be proved.
    unproved: int = 0
    breach_count: int = 0
    breaches: list[str] = []


class _Node:
    """What one node was told and said, since it started."""

    __slots__ = ("delivered", "held_once", "latest", "neighbours", "roles")

    def __init__(self) -> None:
        self.roles: dict[TopicId, int] = {}
        self.held_once: set[TopicId] = set()
        self.neighbours: set[NodeId] = set()
        self.delivered: set[tuple[TopicId, NodeId, int]] = set()
        self.latest: dict[tuple[TopicId, NodeId], int] = {}


class Audit:
    """Reads the records of a network one after another; `findings` grows."""

    def __init__(self) -> None:
        self.findings = Findings()
        self._seen: set[NodeId] = set()
        # What came from nodes whose records have not been read, and should not have.
        self._pending: dict[NodeId, list[str]] = {}

    def read(self, header: Header, steps: Iterable[Step]) -> Iterator[Step]:
        """Pass the steps of one record on, and judge each."""
        nodes: dict[NodeId, _Node] = {}
        carried = header.dissemination
        exempt = carried is not None and DISSEMINATIONS[carried].relays_without_topic
        for step in steps:
            yield step
            self.findings.steps += 1
            self._judge(step, nodes, exempt)
        self._seen |= nodes.keys()
        self.findings.nodes = len(self._seen)
        for sender in [sender for sender in self._pending if sender in self._seen]:
            for breach in self._pending.pop(sender):
                self._breach(breach)
        self.findings.unproved = sum(map(len, self._pending.values()))

    def _judge(self, step: Step, nodes: dict[NodeId, _Node], exempt: bool) -> None:
        try:
            event = decode_event(bytes(step.event))
            actions = _actions.decode(step.actions)
        except ValueError as error:
            raise InputError(f"a step of node {step.node} at {step.at_us} us cannot be read: {error}") from None
        if isinstance(event, Started) or step.node not in nodes:
            nodes[step.node] = _Node()
        node = nodes[step.node]
        if isinstance(event, Subscribe):
            node.roles[event.topic] = event.role
            node.held_once.add(event.topic)
        elif isinstance(event, MessageReceived):
            for data in data_in(event.message):
                self.findings.data_received += 1
                if not exempt and not any(topic in node.held_once for topic in data.topics):
                    what = _told(step, f"got {_name(data)} from {event.sender:x} and never held its topic")
                    self._pending.setdefault(event.sender, []).append(what)
        for place, action in enumerate(actions):
            if isinstance(action, _Sent):
                self._judge_send(step, node, action, actions[place:], exempt)
            elif isinstance(action, Deliver):
                self._judge_delivery(step, node, action, exempt)
            elif isinstance(action, Observe):
                _note(node, action)
        if isinstance(event, Unsubscribe):
            # After its actions: what it sends on leaving a topic is still of the time before.
            node.roles.pop(event.topic, None)
            for key in [key for key in node.latest if key[0] == event.topic]:
                del node.latest[key]

    def _judge_send(self, step: Step, node: _Node, action: _Sent, later: tuple[_Action, ...], exempt: bool) -> None:
        message = decode_message(action.message)
        for data in data_in(message):
            self.findings.data_sent += len(action.to)
            if not exempt and not any(topic in node.roles for topic in data.topics):
                self._breach(_told(step, f"sent {_name(data)} without holding its topic"))
            for receiver in action.to:
                if receiver not in node.neighbours and not _becomes_neighbour(receiver, later):
                    self._breach(_told(step, f"sent {_name(data)} to {receiver:x}, which is not its neighbour"))

    def _judge_delivery(self, step: Step, node: _Node, action: Deliver, exempt: bool) -> None:
        self.findings.deliveries += 1
        name = f"message {action.sequence} of {action.publisher:x}"
        for topic in (action.topic, *action.also):
            if not node.roles.get(topic, 0) & Role.FOLLOWS:
                self._breach(_told(step, f"delivered {name} on a topic that it does not follow"))
            key = (topic, action.publisher, action.sequence)
            if key in node.delivered:
                self._breach(_told(step, f"delivered {name} twice"))
            node.delivered.add(key)
            if not exempt and action.sequence < node.latest.get((topic, action.publisher), 0):
                self._breach(_told(step, f"delivered {name} after a later one"))
            node.latest[topic, action.publisher] = action.sequence

    def _breach(self, told: str) -> None:
        self.findings.breach_count += 1
        if len(self.findings.breaches) < TOLD_MAX:
            self.findings.breaches.append(told)


def audit_records(paths: Iterable[Path]) -> list[str]:
    """What the records of a network's nodes show to be wrong; nothing, where all is well."""
    audit = Audit()
    for path in paths:
        with path.open("rb") as source:
            header, steps = read_record(source)
            deque(audit.read(header, WholeSteps(steps)), maxlen=0)
    return audit.findings.breaches


def _told(step: Step, what: str) -> str:
    return f"node {step.node:x} at {step.at_us} us {what}"


def _name(data: Data) -> str:
    return f"message {data.sequence} of {data.publisher:x}"


def _note(node: _Node, action: Observe) -> None:
    kind, *fields = action.fact
    if kind == _UP:
        node.neighbours.add(fields[0])
    elif kind == _DOWN:
        node.neighbours.discard(fields[0])


def _becomes_neighbour(receiver: NodeId, later: tuple[_Action, ...]) -> bool:
    """Whether the same step states it; parts answer in turn, and the order among them means nothing."""
    return any(isinstance(action, Observe) and action.fact[:2] == [_UP, receiver] for action in later)
