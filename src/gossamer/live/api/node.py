"""The public node: subscribe, publish, and be part of the overlay.

async with gossamer.Node(listen="127.0.0.1:0", join=["127.0.0.1:7400"]) as node:
    async with node.subscribe("prices/eur") as messages:
        await node.publish("prices/eur", b"1.07")
        async for message in messages: ...
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self, Unpack

from gossamer.live.api.limits import Limits
from gossamer.live.api.messages import Codec, Receipt, find_codec
from gossamer.live.api.options import (
    DeprecatedOptions,
    DiskHistory,
    FilePath,
    PlanEntry,
    Security,
    Telemetry,
    check_history,
    check_reachable,
    replace_deprecated,
)
from gossamer.live.api.permissions import Permissions
from gossamer.live.api.plans import PlannedPeers
from gossamer.live.api.publisher import Publisher
from gossamer.live.api.running import NodeParts, RunningNode
from gossamer.live.api.stacks import find_stack
from gossamer.live.api.subscription import NOTHING_OLDER, Slow, Subscription, Wanted, check_wanted
from gossamer.live.api.topics import LiveTopic, LiveTopics, Validator, check_topic
from gossamer.live.api.validation import Validation
from gossamer.live.operations.status import NodeStatus
from gossamer.live.operations.trace import NodeWatch
from gossamer.live.security.node_security import NodeSecurity
from gossamer.live.transport.addresses import split_address
from gossamer.live.transport.environment import REAL, Environment
from gossamer.live.transport.sockets import Sockets
from gossamer.model.values.errors import InputError, NodeStateError
from gossamer.model.values.ids import NodeId
from gossamer.protocols.contract.events import Outcome, Validated
from gossamer.protocols.contract.messages import Peer
from gossamer.systems import DEFAULT_SYSTEM

log = logging.getLogger("gossamer.live")


class Node:
    """A live node. `async with` starts it and stops it.

    `join` are addresses of nodes in the network. `settings` are parameters of the system. `advertise` is the address that
    other nodes use, if it differs from `listen`. `identity_file` keeps the identity over restarts. `record` is a file of all
    events and actions for `gossamer replay`, without payloads and secrets if `record_content` is False. `telemetry` is a folder
    for files of telemetry records. With `history` the node gets what it missed while it was away, and keeps messages for
    others. `environment` gives sockets, clocks and random bytes; `gossamer.testing` passes its own.
    """

    def __init__(
        self,
        listen: str = "127.0.0.1:0",
        join: Sequence[str] = (),
        *,
        system: str = DEFAULT_SYSTEM,
        settings: Mapping[str, object] | None = None,
        dissemination: str | None = None,
        dissemination_settings: Mapping[str, object] | None = None,
        advertise: str | None = None,
        identity_file: FilePath | None = None,
        security: Security | None = None,
        plan: PlanEntry | FilePath | None = None,
        limits: Limits | None = None,
        record: FilePath | None = None,
        record_content: bool = True,
        telemetry: Telemetry | FilePath | None = None,
        history: DiskHistory | None = None,
        environment: Environment = REAL,
        **deprecated: Unpack[DeprecatedOptions],
    ) -> None:
        join, security, plan = replace_deprecated(join, security, plan, deprecated)
        self._listen = split_address(listen, "`listen`")
        check_reachable(self._listen[0], security)
        for address in join:
            split_address(address, "`join`")
        if advertise is not None:
            split_address(advertise, "`advertise`")
        self._join = tuple(join)
        self._environment = environment
        self._advertise = advertise
        stack = find_stack(system, settings, dissemination, dissemination_settings, history is not None)
        limits = limits or Limits()
        check_history(history, stack.recovers, security.keys is not None or identity_file is not None)
        if stack.takes_plan != (plan is not None):
            raise InputError("system='planned' and `plan` go together: give plan=PlanEntry(path, name=...)")
        self._plan = None if plan is None else PlannedPeers(plan)
        self._topics = LiveTopics(stack.discloses, limits.payload_bytes, security.secrets)
        node_security = NodeSecurity(security, identity_file, self._topics, environment.random_bytes)
        reading = self.pause_reading, self.resume_reading
        validation = Validation(self._topics, self._on_validated, *reading, node_security.unseal, environment.monotonic)
        files = record, record_content, telemetry, history
        self._parts = NodeParts(stack, limits, node_security, self._topics, validation, *files)
        self.id: NodeId = node_security.node
        self._permissions = Permissions(node_security, validation, self.hex_id)
        self._address = ""
        self._finding_peers: asyncio.Task[None] | None = None
        # Messages that readers lost, by reason.
        self._drops: Counter[str] = Counter()
        self._was_started = False
        self._running: RunningNode | None = None

    @property
    def is_running(self) -> bool:
        """Whether the node was started and not stopped since."""
        return self._running is not None

    async def __aenter__(self) -> Self:
        """Start."""
        await self.start()
        return self

    async def __aexit__(self, *exception: object) -> None:
        """Stop."""
        await self.stop()

    async def start(self) -> None:
        """Listen, and join the network. Addresses of `join` that do not answer are tried again until they do."""
        if self._was_started:
            raise NodeStateError("this node was started before; make a new Node")
        parts = self._parts
        names = parts.stack.names + parts.security.names
        sockets = Sockets(
            self.id, names, parts.limits, parts.security.tls, self._environment, numbered=parts.stack.discloses
        )
        self._address = await sockets.listen(*self._listen, self._advertise)
        parts.security.attach(sockets)
        try:
            running = RunningNode(parts, sockets, self._address)
        except BaseException:
            sockets.stop_listening()
            raise
        self._running, self._was_started = running, True
        contacts = tuple(Peer(0, address.encode()) for address in self._join if address != self._address)
        running.start(contacts, self._address)
        if self._plan is not None:
            self._finding_peers = asyncio.create_task(self._plan.find(sockets, self._on_planned_peer))
        log.info("listening on %s", self._address, extra={"facts": {"address": self._address, "node": self.hex_id}})

    async def stop(self) -> None:
        """Leave the network: end subscriptions, notify neighbours, close connections. A second call does nothing."""
        running = self._running
        if running is None:
            return
        for topic in list(self._topics.by_id.values()):
            for subscription in list(topic.subscriptions):
                subscription.close()
        if self._finding_peers is not None:
            self._finding_peers.cancel()
        self._running = None
        await running.stop()

    @property
    def address(self) -> str:
        """HOST:PORT of this node, which other nodes can `join`."""
        return self._address

    @property
    def hex_id(self) -> str:
        """This node's id, as messages show it."""
        return f"{self.id:016x}"

    def subscribe(
        self,
        topic: str,
        *,
        slow: Slow = "drop",
        own: bool = False,
        codec: str | Codec = "bytes",
        queue: int | None = None,
        last: int = 0,
        last_seconds: float = 0.0,
        since: float = 0.0,
    ) -> Subscription:
        """Follow a topic: enter the result with `async with`, then iterate over it.

        `slow="drop"` drops the oldest messages of a reader that is too slow, and lists them in `gaps`; `slow="block"` stops
        reading instead, so that nodes behind this one wait too. `last` (a number) and `last_seconds` (a period) request earlier
        messages that neighbours have in memory, in the order of their age. `since` requests all messages of the last seconds, also
        those on disk, each publisher's in order. `own` also delivers the messages of this node.
        """
        check_topic(topic)
        wanted = check_wanted(slow, last, last_seconds, since, queue)
        limits, unseal = self._parts.limits, self._parts.security.unseal
        most = (queue or limits.reader_messages, limits.reader_bytes)
        return Subscription(self, topic, find_codec(codec), unseal, most, slow, own, wanted)

    def publisher(self, topic: str, codec: str | Codec = "bytes") -> Publisher:
        """Publish on a topic without following it: enter the result with `async with`."""
        check_topic(topic)
        find_codec(codec)
        return Publisher(self, topic, codec)

    def validate(self, topic: str, validator: Validator) -> None:
        """Call this function (or coroutine function) for each message of a topic before it is delivered and relayed.

        It returns an Outcome, or True to accept and False to reject. It may be set before the node starts. It is also called
        for messages that this node publishes, whose sequence number is still 0.
        """
        found = self._topics.get_or_add(topic)
        found.validator = validator
        self._update(found)

    def limit(self, topic: str, payload_bytes: int) -> None:
        """Refuse messages of a topic with longer payloads, from every publisher."""
        most = self._parts.limits.payload_bytes
        if not 0 < payload_bytes <= most:
            raise InputError(f"`payload_bytes` must lie between 1 and {most}, got {payload_bytes}")
        found = self._topics.get_or_add(topic)
        found.payload_bytes = payload_bytes
        self._update(found)

    async def ready(self, topic: str, peers: int = 1, timeout: float = 10.0) -> None:
        """Wait until at least this many neighbours hold the topic; TimeoutError if that takes too long."""
        running = self._require_running()
        found = self._topics.by_name.get(topic)
        if found is None or not found.is_held:
            raise InputError(f"this node neither follows {topic!r} nor publishes on it; subscribe to it first")
        await running.readiness.wait(found, peers, timeout)

    def peers(self, topic: str) -> list[str]:
        """The ids of the neighbours that hold a topic."""
        running, found = self._require_running(), self._topics.by_name.get(topic)
        return [] if found is None else [f"{node:016x}" for node in running.overlay.neighbours_on(found.id)]

    def reload_rules(self) -> None:
        """Read the file of access rules again. If it cannot be read (InputError), the rules stay as they are."""
        self._parts.security.reload_rules()

    async def publish(
        self,
        topic: str | Sequence[str],
        payload: Any,
        *,
        wait: Literal["queued", "sent"] = "queued",
        slow: Slow = "block",
        timeout: float = 10.0,
        codec: str | Codec = "bytes",
    ) -> Receipt:
        """Publish on a topic, or on several at once: the message crosses each link once.

        If the node does not hold a topic, it opens a publisher and waits for a neighbour, at most `timeout` seconds.
        NotAllowed says why this node's own access rules or its validator forbid the message.
        `slow="block"` waits for slow links; `slow="drop"` leaves them out, and the receipt lists them.
        """
        running = self._running
        if running is None:
            raise self._not_running()
        found = self._topics.by_name.get(topic) if type(topic) is str else None
        if found is not None and found.is_held:
            topics: Sequence[LiveTopic] = (found,)
        else:
            topics = await self._ready_topics((topic,) if isinstance(topic, str) else tuple(topic), timeout)
        content = payload if type(payload) is bytes and codec == "bytes" else find_codec(codec).encode(payload)
        if type(content) is not bytes:
            raise InputError(f"a codec must encode to bytes; this one gave {type(content).__name__}")
        for each in topics:
            if len(content) > each.payload_bytes:
                raise InputError(f"the payload has {len(content):,} bytes; {each.name!r} takes {each.payload_bytes:,}")
            if self._permissions.checks_each:
                self._permissions.check_publisher(each.name)
            if each.validator is not None:
                await self._permissions.ask_validator(each, content, running.driver.clock_us())
        if self._running is not running:
            # It was stopped while this call waited for a neighbour or for a validator.
            raise self._not_running()
        patient, outgoing = slow == "block", running.outgoing
        if len(topics) == 1 or self._parts.stack.discloses:
            sequence, tally = outgoing.publish(topics, content, patient)
        else:
            sequence, tally = outgoing.publish_on_each(topics, content, patient)
        if outgoing.since_yield >= outgoing.yield_every:
            outgoing.since_yield = 0
            await asyncio.sleep(0)
        sent = 0
        if wait == "sent" or (patient and running.sockets.has_slow):
            sent = await outgoing.wait_for(tally, wait, patient)
        refused = tuple((f"{node:016x}", reason) for node, reason in tally.refused) if tally.refused else ()
        return Receipt(topics[0].name, sequence, len(tally.queued), sent, refused)

    async def _ready_topics(self, names: tuple[str, ...], timeout: float) -> list[LiveTopic]:
        if not names:
            raise InputError("publish needs at least one topic")
        for name in names:
            self._permissions.check_publisher(name)
        topics = []
        for name in dict.fromkeys(names):
            found = self._topics.by_name.get(name)
            if found is None or not found.is_held:
                self.open_publisher(name)
                await self.ready(name, 1, timeout)
                found = self._topics.by_name[name]
            topics.append(found)
        return topics

    def status(self) -> NodeStatus:
        """Links, topics, coverage, queues and drops at this moment."""
        return self._require_running().status(self._address, self._join, self._drops)

    def watch(self, after: int = 0, every: int = 1) -> NodeWatch:
        """The status, and the telemetry records behind number `after`; every `every`-th message is traced from now on."""
        return self._require_running().watch(self.status(), after, every)

    def refuse(self, nodes: Sequence[str]) -> None:
        """Cut off these nodes, named by their ids: close links to them and accept none, until the next call."""
        self._require_running().refuse(nodes)

    # Called by subscriptions and publishers.

    def open_subscription(self, subscription: Subscription) -> None:
        """A subscription was entered."""
        self._require_running()
        self._permissions.check_subscriber(subscription.topic)
        topic = self._topics.get_or_add(subscription.topic)
        self._require_running().keep_position(subscription, topic)
        was_followed = bool(topic.subscriptions)
        topic.subscriptions.append(subscription)
        if not was_followed or subscription.wanted != NOTHING_OLDER:
            self._update(topic, subscription.wanted)

    def close_subscription(self, subscription: Subscription) -> None:
        """A subscription was closed."""
        topic = self._topics.by_name.get(subscription.topic)
        if topic is not None and subscription in topic.subscriptions:
            topic.subscriptions.remove(subscription)
            if not topic.subscriptions:
                self._update(topic)

    def open_publisher(self, name: str) -> None:
        """A publisher was entered."""
        self._require_running()
        self._permissions.check_publisher(name)
        topic = self._topics.get_or_add(name)
        topic.publishers += 1
        if topic.publishers == 1:
            self._update(topic)

    def close_publisher(self, name: str) -> None:
        """A publisher was left."""
        topic = self._topics.by_name[name]
        topic.publishers -= 1
        if not topic.publishers:
            self._update(topic)

    def count_drop(self, reason: str) -> None:
        """Count a message that a reader lost."""
        self._drops[reason] += 1

    def pause_reading(self, reason: str) -> None:
        """Read from no link until the same reason is resumed."""
        if self._running is not None:
            self._running.sockets.pause_reading(reason)

    def resume_reading(self, reason: str) -> None:
        """Read again, unless there is another reason to pause."""
        if self._running is not None:
            self._running.sockets.resume_reading(reason)

    def _require_running(self) -> RunningNode:
        if self._running is None:
            raise self._not_running()
        return self._running

    def _not_running(self) -> NodeStateError:
        if self._was_started:
            return NodeStateError("this node was stopped; make a new Node")
        return NodeStateError("this node was not started; use it inside `async with gossamer.Node(...) as node`")

    def _on_validated(self, ticket: int, outcome: Outcome) -> None:
        if self._running is not None:
            self._running.driver.give(Validated(ticket, int(outcome)))

    def _on_planned_peer(self, topics: frozenset[str]) -> None:
        """A peer of the plan was found: the machine learns it with the topics of both."""
        for name in topics & self._topics.by_name.keys():
            if self._topics.by_name[name].is_held:
                self._update(self._topics.by_name[name])

    def _update(self, topic: LiveTopic, wanted: Wanted = NOTHING_OLDER) -> None:
        """Tell the machine the node's present role on a topic."""
        if self._running is None:
            return
        peers = () if self._plan is None else self._plan.peers_on(topic.name)
        self._running.hold(topic, peers, wanted)
        if not topic.is_held and topic.validator is None:
            self._topics.forget(topic)
