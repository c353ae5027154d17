"""A node between its start and its stop."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from gossamer.live.api.incoming import Incoming
from gossamer.live.api.limits import Limits
from gossamer.live.api.options import DiskHistory, FilePath, Telemetry
from gossamer.live.api.outgoing import Outgoing
from gossamer.live.api.plans import PlannedPeers
from gossamer.live.api.readiness import Readiness
from gossamer.live.api.stacks import Stack
from gossamer.live.api.subscription import NOTHING_OLDER, Subscription, Wanted
from gossamer.live.api.topics import LiveTopic, LiveTopics
from gossamer.live.api.validation import Validation
from gossamer.live.history.keeper import HistoryKeeper
from gossamer.live.operations.spooling import NodeSpool
from gossamer.live.operations.status import NodeStatus, PatternStatus, link_status, topic_status
from gossamer.live.operations.trace import NodeTrace, NodeWatch
from gossamer.live.security.node_security import NodeSecurity
from gossamer.live.transport.driver import LiveDriver
from gossamer.live.transport.interface import StepWatcher
from gossamer.live.transport.labels import TopicLabels
from gossamer.live.transport.last_numbers import LastNumbers
from gossamer.live.transport.numbers import SequenceNumbers
from gossamer.live.transport.recording import RecordWriter, open_record
from gossamer.live.transport.sockets import Sockets
from gossamer.model.values.errors import InputError
from gossamer.model.values.ids import NodeId, TopicId
from gossamer.model.values.shown import SECRET_BYTES
from gossamer.protocols.contract.actions import Deliver, Load, Store, Validate
from gossamer.protocols.contract.events import Restarted, Started, Subscribe, Unsubscribe
from gossamer.protocols.contract.messages import Peer, WireMessage
from gossamer.protocols.contract.node import NodeMachine
from gossamer.protocols.telemetry import StepTelemetry
from gossamer.systems import make_machine

log = logging.getLogger("gossamer.live")

# Chosen: several times what probes take to find a node with a topic that one in ten nodes holds.
LONELY_SECONDS = 30.0


@dataclass(frozen=True)
class NodeParts:
    """The parts of a node that exist before it starts."""

    stack: Stack
    limits: Limits
    security: NodeSecurity
    topics: LiveTopics
    validation: Validation
    record: FilePath | None
    record_content: bool = True
    telemetry: Telemetry | FilePath | None = None
    history: DiskHistory | None = None


class RunningNode:
    """The machine of a started node, with its driver, its sockets and its record."""

    def __init__(
        self,
        parts: NodeParts,
        sockets: Sockets,
        address: str,
        aside: Callable[[NodeId, str, WireMessage], None],
    ) -> None:
        environment = sockets.environment
        seed = int.from_bytes(environment.random_bytes(8), "big")
        machine = _make_machine(parts.stack, seed, parts.security.node)
        self.sockets = sockets
        self.overlay = machine.overlay
        self.readiness = Readiness(machine.overlay.neighbours_on)
        self.incoming = Incoming(parts.topics, self.readiness)
        self._parts = parts
        # Topics with a secret: when to say that nobody was found.
        self._lonely: dict[TopicId, asyncio.TimerHandle] = {}
        base = None if parts.stack.discloses else parts.security.number_base
        self._numbers = SequenceNumbers(parts.security.sequence_file, base)
        # Opened last: if another part cannot be made, no file stays open.
        self._history: HistoryKeeper | None = None
        if parts.history is not None:
            pack = None if parts.security.guard is None else parts.security.guard.pack
            self._history = HistoryKeeper(parts.history, environment.time_ns() // 1000, pack)
        try:
            self._record = None if parts.record is None else open_record(Path(parts.record))
        except BaseException:
            if self._history is not None:
                self._history.release()
            raise
        self.driver = LiveDriver(
            machine,
            parts.security.node,
            address.encode(),
            sockets,
            self.incoming.on_fact,
            None,
            self.incoming.deliver if self._history is None else self._begin_and_deliver,
            {Validate: parts.validation.request, **self._disk_actions()},
            parts.security.guard,
            parts.limits.frame_bytes - parts.security.proof_bytes if machine.takes_bursts else 0,
            environment,
            self._numbers,
            None if parts.security.topics_file is None else LastNumbers(parts.security.topics_file),
            None if parts.stack.discloses else TopicLabels(parts.security.node),
            aside,
        )
        self.incoming.driver = self.driver
        self._watcher: StepWatcher | None = None
        if self._record is not None:
            header = parts.stack.header(seed, parts.record_content)
            self._watcher = RecordWriter(self._record, header, parts.security.node, self.driver.counts)
        if parts.telemetry is not None:
            given = parts.telemetry if isinstance(parts.telemetry, Telemetry) else Telemetry(parts.telemetry)
            telemetry = StepTelemetry(parts.security.node, given.trace)
            spool = NodeSpool(Path(given.folder), parts.security.node, telemetry, parts.topics.name_of, self._watcher)
            spool.counts = self._counts
            self._watcher = spool
        self.driver.watcher = self._watcher
        self._trace: NodeTrace | None = None
        if self._history is not None:
            self._history.attach(self.driver, lambda: sockets.is_paused)
        signs = parts.security.signatures != "off"
        self.outgoing = Outgoing(parts.security.node, self.driver, sockets, signs, parts.security.cipher)

    def start(self, contacts: tuple[Peer, ...], address: str) -> None:
        """Start the driver. If the identity is kept, versions of the interest exceed those of every run before."""
        stack, security = self._parts.stack, self._parts.security
        if not stack.discloses and security.tls is None and security.cipher is None:
            log.warning(
                "%s without `keys` and without `secrets` hides nothing from those who read the connections or guess the "
                "names of topics; see docs/privacy.md",
                stack.system.name,
            )
        joining, where = bool(contacts), address.encode()
        secret = self.sockets.environment.random_bytes(SECRET_BYTES)
        if security.sequence_file is None:
            self.driver.start(Started(contacts, joining, where, secret))
        else:
            version = self._numbers.next(self.sockets.environment.time_ns() // 1000)
            self.driver.start(Restarted(contacts, joining, where, secret, version))

    def _disk_actions(self) -> dict[type, Callable[[Any], None]]:
        return {} if self._history is None else {Store: self._history.store, Load: self._history.load}

    def _begin_and_deliver(self, actions: Sequence[Deliver]) -> None:
        if self._history is not None:
            self._history.begin(actions)
        self.incoming.deliver(actions)

    def hold(self, topic: LiveTopic, peers: tuple[Peer, ...], wanted: Wanted = NOTHING_OLDER) -> None:
        """Tell the machine the node's present role on a topic, and which older messages a new subscription wants."""
        # Each change of interest takes a number, so that the file of numbers also bounds the versions of interests.
        self.driver.next_sequence()
        topic.is_held = bool(topic.role)
        if not topic.is_held:
            self.driver.give(Unsubscribe(topic.id))
            return
        validates = topic.validator is not None or topic.payload_bytes < self._parts.limits.payload_bytes
        self.watch_secret(topic)
        names = (topic.id, topic.role, peers, True, topic.secret, validates)
        event = Subscribe(*names, wanted.last, wanted.last_us, *self.driver.own_last(topic.id), wanted.since_us)
        self.driver.give(event if self._history is None else self._history.resume(event))

    def keep_position(self, subscription: Subscription, topic: LiveTopic) -> None:
        """With a history on disk: remember the messages that the subscription's reader takes."""
        if self._history is not None:
            subscription.keep_position(partial(self._history.note, topic.id))

    def watch_secret(self, topic: LiveTopic) -> None:
        """Say once, on this node's own side, if nobody with the same secret is found for a topic.

        To others a node with another secret looks like one that does not hold the topic, so nobody can tell it.
        """
        if topic.secret and topic.id not in self._lonely:
            loop = asyncio.get_running_loop()
            self._lonely[topic.id] = loop.call_later(LONELY_SECONDS, self._say_if_lonely, topic)

    def _say_if_lonely(self, topic: LiveTopic) -> None:
        if topic.is_held and not self.overlay.neighbours_on(topic.id):
            log.warning(
                "no other node with the same secret was found for %r in %g s; if others follow it, their secret differs",
                topic.name,
                LONELY_SECONDS,
            )

    def status(
        self,
        address: str,
        join: Sequence[str],
        drops: Counter[str],
        patterns: list[PatternStatus],
        plan: PlannedPeers | None = None,
    ) -> NodeStatus:
        """The state of the node at this moment; `drops` are messages that its readers lost, by reason."""
        names = {} if plan is None else plan.names()
        parts, sockets, neighbours_on = self._parts, self.sockets, self.overlay.neighbours_on
        counts = drops + self._counts()[1]
        return NodeStatus(
            node=f"{parts.security.node:016x}",
            name=parts.security.name if plan is None else plan.name,
            address=address,
            stack=list(parts.stack.names),
            links=[link_status(link, kept, names.get(link.node, link.name)) for link, kept in sockets.links()],
            topics=[topic_status(topic, len(neighbours_on(topic.id))) for topic in parts.topics.by_id.values()],
            published=self.outgoing.published,
            delivered=self.incoming.delivered,
            counts=dict(sorted(counts.items())),
            unanswered={each: why for each in join if (why := sockets.problem_of(each)) is not None},
            patterns=patterns,
        )

    def _counts(self) -> tuple[int, Counter[str]]:
        """The bytes that wait for peers, and what was dropped, refused or failed, by reason."""
        counts = self.incoming.drops + self._parts.validation.counts + self.sockets.counts + self.driver.counts
        return sum(link.queued_bytes for link, _ in self.sockets.links()), counts

    def watch(self, status: NodeStatus, after: int, every: int) -> NodeWatch:
        """See `Node.watch`. Tracing begins with the first call, and ends when nobody has called for a while."""
        driver, topics = self.driver, self._parts.topics.by_id
        if self._trace is None or self._trace.is_over:
            roles = {topic.id: topic.role for topic in topics.values() if topic.is_held}
            driver.watcher = self._trace = NodeTrace(driver.node, roles, self._watcher)
        neighbours_on = self.overlay.neighbours_on
        neighbours = {each.name: [f"{node:016x}" for node in neighbours_on(each.id)] for each in topics.values()}
        names = {each.name: each.id for each in topics.values()}
        return self._trace.since(after, every, driver.clock_us(), status, neighbours, names)

    def refuse(self, nodes: Sequence[str]) -> None:
        """See `Node.refuse`."""
        try:
            self.sockets.refuse([int(node, 16) for node in nodes])
        except ValueError:
            raise InputError(f"nodes to refuse are named by hexadecimal ids, got {', '.join(nodes)}") from None

    async def stop(self) -> None:
        """Leave the network: notify neighbours, close links, close the record."""
        self.driver.stop()
        self._parts.validation.stop()
        self.readiness.stop()
        for handle in self._lonely.values():
            handle.cancel()
        if self._history is not None:
            await self._history.close()
        await self.sockets.closed()
        if self._record is not None:
            # If the disk is full, the driver has logged it.
            with suppress(OSError):
                self._record.close()


def _make_machine(stack: Stack, seed: int, node: NodeId) -> NodeMachine:
    return make_machine(
        stack.system,
        stack.parameters,
        seed,
        node,
        None,
        stack.dissemination,
        stack.dissemination_settings,
        stack.recovery,
    )
