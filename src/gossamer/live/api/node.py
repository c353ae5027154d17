"""The public node: subscribe, publish, and be part of the overlay.

async with gossamer.Node(listen="127.0.0.1:0", join=["127.0.0.1:7400"]) as node:
    async with node.subscribe("prices/eur") as messages:
        await node.publish("prices/eur", b"1.07")
        async for message in messages: ...
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, Self, Unpack

from gossamer.live.api.discovery import Discovery
from gossamer.live.api.held import HeldTopics
from gossamer.live.api.limits import Limits
from gossamer.live.api.messages import Codec, Message, Receipt, find_codec
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
from gossamer.live.api.patterns import LivePatterns, PatternSubscription
from gossamer.live.api.permissions import Permissions
from gossamer.live.api.plans import PlannedPeers
from gossamer.live.api.publisher import Publisher
from gossamer.live.api.requests import Asker, Replies, replies_topic
from gossamer.live.api.running import NodeParts, RunningNode
from gossamer.live.api.stacks import find_stack
from gossamer.live.api.subscription import Slow, Subscription, check_wanted
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
from gossamer.model.values.pattern import Pattern
from gossamer.protocols.contract.events import Contacts
from gossamer.protocols.contract.messages import Peer
from gossamer.systems import DEFAULT_SYSTEM

log = logging.getLogger("gossamer.live")

# Chosen: how long a publication on a new topic waits for the first neighbour. Subscribers that are found later still get the
# message, by recovery.
NEIGHBOUR_SECONDS = 3.0
# Chosen: how long a request waits for replies.
REPLY_SECONDS = 5.0


class Node:
    """A live node. `async with` starts it and stops it.

    `join` is an address of a node in the network, or several; a name stands for all its addresses. `join_file` is a file with
    one address in each line, read again when it changes. `settings` are parameters of the system. `advertise` is the address that
    other nodes use, if it differs from `listen`. `identity_file` keeps the identity over restarts. `record` is a file of all
    events and actions for `gossamer replay`, without payloads and secrets if `record_content` is False. `telemetry` is a folder
    for files of telemetry records. With `history` the node gets what it missed while it was away, and keeps messages for
    others. `environment` gives sockets, clocks and random bytes; `gossamer.testing` passes its own.
    """

    def __init__(
        self,
        listen: str = "127.0.0.1:0",
        join: str | Sequence[str] = (),
        *,
        join_file: FilePath | None = None,
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
        if advertise is not None:
            split_address(advertise, "`advertise`")
        self._discovery = Discovery(join, None if join_file is None else Path(join_file), environment)
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
        held = self._held = HeldTopics(self._topics, node_security, self._plan, limits.payload_bytes)
        reading = held.pause_reading, held.resume_reading
        validation = Validation(self._topics, held.on_validated, *reading, node_security.unseal, environment.monotonic)
        files = record, record_content, telemetry, history
        self._parts = NodeParts(stack, limits, node_security, self._topics, validation, *files)
        self.id: NodeId = node_security.node
        self._permissions = Permissions(node_security, validation, self.hex_id)
        self._asker = Asker(self, held)
        self._patterns = LivePatterns(held, node_security, stack.discloses)
        held.on_publisher = self._patterns.publishes
        self._address = ""
        self._tasks: list[asyncio.Task[None]] = []
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
            running = RunningNode(parts, sockets, self._address, self._patterns.on_message)
        except BaseException:
            sockets.stop_listening()
            raise
        self._running, self._was_started = running, True
        self._held.start(running)
        running.start(self._contacts(await self._discovery.find()), self._address)
        self._patterns.start(sockets, self._address)
        looking = self._discovery.watch(lambda: not any(sockets.links()), self._on_contacts)
        self._tasks.append(asyncio.create_task(looking))
        if self._plan is not None:
            self._tasks.append(asyncio.create_task(self._plan.find(sockets, self._held.on_planned_peer)))
        log.info("listening on %s", self._address, extra={"facts": {"address": self._address, "node": self.hex_id}})

    async def stop(self) -> None:
        """Leave the network: end subscriptions, notify neighbours, close connections. A second call does nothing."""
        running = self._running
        if running is None:
            return
        self._patterns.stop()
        self._held.close_all()
        self._asker.stop()
        for task in self._tasks:
            task.cancel()
        self._running = self._held.running = None
        await running.stop()

    def _contacts(self, addresses: Sequence[str]) -> tuple[Peer, ...]:
        return tuple(Peer(0, address.encode()) for address in addresses if address != self._address)

    def _on_contacts(self, addresses: Sequence[str]) -> None:
        """The addresses to join through have changed."""
        if self._running is not None:
            self._running.driver.give(Contacts(self._contacts(addresses)))

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
        topic: str | Pattern,
        *,
        slow: Slow = "drop",
        own: bool = False,
        codec: str | Codec = "bytes",
        queue: int | None = None,
        last: int = 0,
        last_seconds: float = 0.0,
        since: float = 0.0,
    ) -> Subscription:
        """Follow a topic, or all topics that match a `Pattern`: enter the result with `async with`, then iterate over it.

        `own` also delivers the messages that this node publishes. `codec` decodes payloads. `slow="drop"` drops the oldest
        messages of a reader that is too slow, and lists them in `gaps`; `slow="block"` stops reading instead, so that nodes
        behind this one wait too. `last` (a number) and `last_seconds` (a period) request earlier messages that neighbours have
        in memory, in the order of their age. `since` requests all messages of the last seconds, also those on disk, each
        publisher's in order.
        """
        if isinstance(topic, Pattern):
            self._patterns.check(topic)
        else:
            check_topic(topic)
        wanted = check_wanted(slow, last, last_seconds, since, queue)
        limits, unseal = self._parts.limits, self._parts.security.unseal
        most = (queue or limits.reader_messages, limits.reader_bytes)
        options = find_codec(codec), unseal, most, slow, own, wanted
        if isinstance(topic, Pattern):
            return PatternSubscription(self._patterns, topic, *options)
        return Subscription(self._held, topic, *options)

    def publisher(self, topic: str, codec: str | Codec = "bytes") -> Publisher:
        """Publish on a topic without following it: enter the result with `async with`."""
        check_topic(topic)
        find_codec(codec)
        return Publisher(self, self._held, topic, codec)

    def replies(
        self, topic: str, *, codec: str | Codec = "bytes", slow: Slow = "drop", queue: int | None = None
    ) -> Replies:
        """Reply to the requests of a topic: enter the result with `async with`, iterate over it, call `reply` of each."""
        publisher = self.publisher(replies_topic(topic, self._held))
        return Replies(self.subscribe(topic, slow=slow, own=True, codec=codec, queue=queue), publisher, codec)

    def validate(self, topic: str, validator: Validator) -> None:
        """Call this function (or coroutine function) for each message of a topic before it is delivered and relayed.

        It returns an Outcome, or True to accept and False to reject. It may be set before the node starts. It is also called
        for messages that this node publishes, whose sequence number is still 0.
        """
        self._held.set_validator(topic, validator)

    def limit(self, topic: str, payload_bytes: int) -> None:
        """Refuse messages of a topic with longer payloads, from every publisher."""
        self._held.set_limit(topic, payload_bytes)

    async def ready(self, topic: str, peers: int = 1, timeout: float = 10.0) -> None:
        """Wait until at least this many neighbours hold the topic; TimeoutError if that takes too long."""
        running = self._held.require_running()
        found = self._topics.by_name.get(topic)
        if found is None or not found.is_held:
            raise InputError(f"this node neither follows {topic!r} nor publishes on it; subscribe to it first")
        await running.readiness.wait(found, peers, timeout)

    def peers(self, topic: str) -> list[str]:
        """The ids of the neighbours that hold a topic."""
        running, found = self._held.require_running(), self._topics.by_name.get(topic)
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
        timeout: float = NEIGHBOUR_SECONDS,
        codec: str | Codec = "bytes",
    ) -> Receipt:
        """Publish on a topic, or on several at once: the message crosses each link once.

        If the node does not hold a topic, it opens a publisher and waits for a neighbour, at most `timeout` seconds. If there
        is none, the receipt says so (`nobody`); the message stays in the history for subscribers that this node finds later.
        NotAllowed says why this node's own access rules or its validator forbid the message.
        `slow="block"` waits for slow links; `slow="drop"` leaves them out, and the receipt lists them.
        """
        running = self._running or self._held.require_running()
        content = payload if type(payload) is bytes and codec == "bytes" else find_codec(codec).encode(payload)
        if type(content) is not bytes:
            raise InputError(f"a codec must encode to bytes; this one gave {type(content).__name__}")
        found = self._topics.by_name.get(topic) if type(topic) is str else None
        if found is not None and found.is_held:
            topics: Sequence[LiveTopic] = (found,)
        else:
            topics = await self._ready_topics((topic,) if isinstance(topic, str) else tuple(topic), timeout)
        for each in topics:
            if len(content) > each.payload_bytes:
                raise InputError(f"the payload has {len(content):,} bytes; {each.name!r} takes {each.payload_bytes:,}")
            if self._permissions.checks_each:
                self._permissions.check_publisher(each.name)
            if each.validator is not None:
                await self._permissions.ask_validator(each, content, running.driver.clock_us())
        if self._running is not running:
            # It was stopped while this call waited for a neighbour or for a validator.
            self._held.require_running()
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

    async def request(
        self, topic: str, payload: Any, *, timeout: float = REPLY_SECONDS, codec: str | Codec = "bytes"
    ) -> Message:
        """Ask the nodes that reply on a topic (`replies`), and return the first reply.

        NoReply, after 3 s at most, if no node that replies is found: nothing was sent. NoReply after `timeout` seconds if
        no reply came: a node may have carried the request out. Replies travel on `TOPIC/replies`, which this node follows
        from its first request on.
        """
        return await self._asker.first(topic, payload, timeout, codec)

    async def request_all(
        self,
        topic: str,
        payload: Any,
        *,
        timeout: float = REPLY_SECONDS,
        codec: str | Codec = "bytes",
        most: int | None = None,
    ) -> list[Message]:
        """As `request`, with all replies that come within `timeout` seconds, or the first `most`; perhaps none."""
        return await self._asker.all(topic, payload, timeout, codec, most)

    async def _ready_topics(self, names: tuple[str, ...], timeout: float) -> list[LiveTopic]:
        if not names:
            raise InputError("publish needs at least one topic")
        for name in names:
            self._permissions.check_publisher(name)
        running, topics = self._held.require_running(), []
        until = running.readiness.now() + timeout
        for name in dict.fromkeys(names):
            found = self._topics.by_name.get(name)
            if found is None or not found.is_held:
                self._held.open_publisher(name)
                found = self._topics.by_name[name]
                with suppress(TimeoutError):
                    await running.readiness.wait(found, 1, max(until - running.readiness.now(), 0))
            topics.append(found)
        return topics

    def status(self) -> NodeStatus:
        """Links, topics, coverage, queues and drops at this moment."""
        running, drops = self._held.require_running(), self._held.drops
        return running.status(self._address, self._discovery.contacts, drops, self._patterns.status(), self._plan)

    def watch(self, after: int = 0, every: int = 1) -> NodeWatch:
        """The status, and the telemetry records behind number `after`; every `every`-th message is traced from now on."""
        return self._held.require_running().watch(self.status(), after, every)

    def refuse(self, nodes: Sequence[str]) -> None:
        """Cut off these nodes, named by their ids: close links to them and accept none, until the next call."""
        self._held.require_running().refuse(nodes)
