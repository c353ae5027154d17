"""The audit of a network's records: where application data went, and what was delivered.

It applies the rules of `protocols/contract/invariants.py` to the record of each node. Data that reaches a node without
the topic is the sender's fault, so it counts as a breach only if the sender's record is among those that were read.
Gossip may relay through nodes without the topic, by its paper. Order is checked for stacks with recovery, because only
these promise it. The times in a record are those of the node's own clock; the audit compares no two clocks.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from gossamer.model.values.errors import InputError
from gossamer.model.values.ids import NodeId
from gossamer.protocols.contract.actions import Action, Deliver, Observe, Send
from gossamer.protocols.contract.events import Event, MessageReceived, Started, Subscribe, Unsubscribe
from gossamer.protocols.contract.facts import NeighbourDown, NeighbourUp
from gossamer.protocols.contract.invariants import (
    DuplicateInvariant,
    InterestInvariants,
    NeighbourInvariants,
    OrderInvariant,
)
from gossamer.protocols.contract.messages import Data, data_in
from gossamer.protocols.contract.record import Header, StackDecoder, Step, WholeSteps, read_record
from gossamer.systems import decoder_of, find_dissemination

# Chosen: the sentences of this many breaches are kept; further breaches are only counted.
BREACHES_MAX = 20


class AuditFindings(Struct):
    """How much an audit has read, and the breaches that it found."""

    nodes: int = 0
    steps: int = 0
    data_sent: int = 0
    data_received: int = 0
    deliveries: int = 0
    # Data that reached a node without the topic, from senders whose records were not read, so no breach is proved.
    unproved: int = 0
    breach_count: int = 0
    breaches: list[str] = []


class _AuditedNode:
    """The state of the rules for one node since it started."""

    __slots__ = ("delivered", "interests", "neighbours", "order")

    def __init__(self, node: NodeId) -> None:
        self.interests = InterestInvariants(_hex)
        self.neighbours = NeighbourInvariants(node, _hex)
        self.delivered = DuplicateInvariant(_hex)
        self.order = OrderInvariant(_hex)


class Audit:
    """Reads the records of a network one after another and adds to `findings`."""

    def __init__(self) -> None:
        self.findings = AuditFindings()
        self._seen: set[NodeId] = set()
        # Sender -> breaches by it that receivers' records show, until the sender's own record is read.
        self._pending: dict[NodeId, list[str]] = {}

    def read(self, header: Header, steps: Iterable[Step]) -> Iterator[Step]:
        """Audit the steps of one record, and pass them on to the caller."""
        nodes: dict[NodeId, _AuditedNode] = {}
        dissemination = header.dissemination
        exempt = dissemination is not None and find_dissemination(dissemination).relays_without_topic
        in_order = header.recovery is not None
        decoder = decoder_of(header)
        for step in steps:
            yield step
            self.findings.steps += 1
            self._check(step, nodes, exempt, in_order, decoder)
        self._seen |= nodes.keys()
        self.findings.nodes = len(self._seen)
        for sender in [sender for sender in self._pending if sender in self._seen]:
            for breach in self._pending.pop(sender):
                self._add(breach)
        self.findings.unproved = sum(map(len, self._pending.values()))

    def _check(
        self, step: Step, nodes: dict[NodeId, _AuditedNode], exempt: bool, in_order: bool, decoder: StackDecoder
    ) -> None:
        try:
            event = decoder.event(bytes(step.event))
            actions = decoder.actions(step.actions)
        except ValueError as error:
            raise InputError(f"a step of node {step.node} at {step.at_us} us cannot be read: {error}") from None
        if isinstance(event, Started) or step.node not in nodes:
            nodes[step.node] = _AuditedNode(step.node)
        node = nodes[step.node]
        self._check_event(step, node, event, exempt)
        for place, action in enumerate(actions):
            if isinstance(action, Send):
                self._check_send(step, node, action.to, data_in(action.message), actions[place:], exempt)
            elif isinstance(action, Deliver):
                self.findings.deliveries += 1
                self._note(step, node.interests.check_delivery(action))
                self._note(step, node.delivered.check_delivery(action))
                if in_order:
                    self._note(step, node.order.check_delivery(action))
            elif isinstance(action, Observe):
                self._check_fact(step, node, action)

    def _check_event(self, step: Step, node: _AuditedNode, event: Event, exempt: bool) -> None:
        if isinstance(event, Subscribe):
            node.interests.subscribe(event.topic, event.role)
        elif isinstance(event, Unsubscribe):
            node.interests.unsubscribe(event.topic)
            node.order.unsubscribe(event.topic)
        elif isinstance(event, MessageReceived):
            for data in data_in(event.message):
                self.findings.data_received += 1
                breach = None if exempt else node.interests.check_receive(data, event.sender)
                if breach is not None:
                    self._pending.setdefault(event.sender, []).append(_sentence(step, breach))

    def _check_send(
        self,
        step: Step,
        node: _AuditedNode,
        to: tuple[NodeId, ...],
        messages: Sequence[Data],
        rest: Sequence[Action],
        exempt: bool,
    ) -> None:
        self.findings.data_sent += len(messages) * len(to)
        for data in messages if not exempt else ():
            self._note(step, node.interests.check_send(data))
        if messages and not node.neighbours.are_neighbours(to):
            for breach in node.neighbours.check_send(messages, to, _stated_in(rest)):
                self._note(step, breach)

    def _check_fact(self, step: Step, node: _AuditedNode, action: Observe) -> None:
        if isinstance(action.fact, NeighbourUp):
            self._note(step, node.neighbours.up(action.fact.node))
        elif isinstance(action.fact, NeighbourDown):
            self._note(step, node.neighbours.down(action.fact.node))

    def _note(self, step: Step, breach: str | None) -> None:
        if breach is not None:
            self._add(_sentence(step, breach))

    def _add(self, sentence: str) -> None:
        self.findings.breach_count += 1
        if len(self.findings.breaches) < BREACHES_MAX:
            self.findings.breaches.append(sentence)


def audit_records(paths: Iterable[Path]) -> list[str]:
    """The breaches that the records of a network's nodes show, as sentences; an empty list if there are none."""
    audit = Audit()
    for path in paths:
        with path.open("rb") as source:
            header, steps = read_record(source)
            deque(audit.read(header, WholeSteps(steps)), maxlen=0)
    return audit.findings.breaches


def _hex(number: int) -> str:
    return f"{number:x}"


def _sentence(step: Step, breach: str) -> str:
    return f"node {step.node:x} at {step.at_us} us {breach}"


def _stated_in(actions: Sequence[Action]) -> list[NodeId]:
    """The nodes that these actions state as new neighbours."""
    facts = [action.fact for action in actions if isinstance(action, Observe)]
    return [fact.node for fact in facts if isinstance(fact, NeighbourUp)]
