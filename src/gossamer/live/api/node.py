"""The public node: subscribe, publish, and be part of the overlay.

async with gossamer.Node(listen="127.0.0.1:0", seeds=["127.0.0.1:7400"]) as node:
    async with node.subscribe("prices/eur") as messages:
        await node.ready("prices/eur")
        await node.publish("prices/eur", b"1.07")
        async for message in messages: ...
"""

import asyncio
import logging
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any, BinaryIO, Literal, Self

from gossamer.live.api.limits import Limits
from gossamer.live.api.messages import (
    Codec,
    Gap,
    Receipt,
    find_codec,
)
from gossamer.live.api.plans import Plan
from gossamer.live.api.publisher import Publisher
from gossamer.live.api.stacks import Stack, find_stack
from gossamer.live.api.subscription import Slow, Subscription
from gossamer.live.api.topics import (
    Judge,
    Topic,
    Topics,
    Validator,
    check_topic,
)
from gossamer.live.operations.status import NodeStatus, link_status, topic_status
from gossamer.live.security.security import Security
from gossamer.live.transport.addresses import is_loopback, split_address
from gossamer.live.transport.driver import LiveDriver, Tally
from gossamer.live.transport.sockets import Sockets
from gossamer.model.values.errors import InputError
from gossamer.model.values.ids import NodeId
from gossamer.protocols.contract.actions import Deliver
from gossamer.protocols.contract.events import (
    Outcome,
    Publish,
    Started,
    Subscribe,
    Unsubscribe,
    Validated,
)
from gossamer.protocols.contract.facts import Fact, Lost
from gossamer.protocols.contract.messages import Peer
from gossamer.protocols.contract.record import Header
from gossamer.protocols.delivery.validation import NotJudged
from gossamer.systems import make_machine

log = logging.getLogger("gossamer.live")

# Chosen: a publisher that never waits lets the loop turn after so many messages, so that links are read.
TURN_EVERY = 128
# What a delivery goes by.
_TOPICS = attrgetter("topic", "also")


class Node:
    """A live node. Enter it to start it; leave it to stop it."""

    def __init__(
        self,
        listen: str = "127.0.0.1:0",
        seeds: Sequence[str] = (),
        *,
        system: str = "spidercast",
        settings: Mapping[str, object] | None = None,
        dissemination: str | None = None,
        dissemination_settings: Mapping[str, object] | None = None,
        advertise: str | None = None,
        identity_file: str | os.PathLike[str] | None = None,
        keys: str | os.PathLike[str] | None = None,
        insecure: bool = False,
        signatures: str = "off",
        rules: str | os.PathLike[str] | None = None,
        limits: Limits | None = None,
        record: str | os.PathLike[str] | None = None,
        plan: str | os.PathLike[str] | None = None,
        name: str = "",
        addresses: Mapping[str, str] | None = None,
        secrets: Mapping[str, bytes] | None = None,
    ) -> None:
        if (system == "planned") != (plan is not None):
            raise InputError("system='planned' and plan=PATH go together, with name= this node's name in the plan")
        self._host, self._port = split_address(listen)
        for seed in seeds:
            split_address(seed)
        if advertise is not None:
            split_address(advertise)
        if keys is None and not is_loopback(self._host) and not insecure:
            raise InputError(
                f"{self._host} can be reached from other machines: give keys (make them with `gossamer keys init` and "
                "`gossamer keys issue`), or say insecure=True where the network is trusted"
            )
        self._seeds = tuple(seeds)
        self._plan = None if plan is None else Plan(plan, name, addresses or {})
        self._looking: asyncio.Task[None] | None = None
        self._advertise = advertise
        self._stack: Stack = find_stack(system, settings, dissemination, dissemination_settings)
        self._limits = limits or Limits()
        self._topics = Topics(self._stack.discloses, self._limits.payload_bytes, secrets or {})
        self._judge = Judge(self._topics, self._settle, self.hold, self.release)
        self._security = Security(keys, identity_file, signatures, rules, self._topics.name_of)
        self.id: NodeId = self._security.node
        self._record_path = None if record is None else Path(record)
        self._record: BinaryIO | None = None
        self._address = ""
        self._waiters: list[tuple[Topic, int, asyncio.Future[None]]] = []
        self._drops: Counter[str] = Counter()
        self._published = self._delivered = self._since_turn = 0
        self._driver: LiveDriver | None = None
        self._sockets: Sockets | None = None
        self._overlay: Any = None

    # Life.

    async def __aenter__(self) -> Self:
        """Start."""
        await self.start()
        return self

    async def __aexit__(self, *exception: object) -> None:
        """Stop."""
        await self.stop()

    async def start(self) -> None:
        """Listen, and join through the seeds; seeds that do not answer are tried again for as long as it takes."""
        if self._driver is not None:
            raise InputError("this node has been started already; make a new one")
        seed = int.from_bytes(os.urandom(8), "big")
        stack = self._stack
        sockets = Sockets(self.id, stack.names + self._security.names, self._limits, self._security.tls)
        self._address = await sockets.listen(self._host, self._port, self._advertise)
        machine = make_machine(
            stack.system,
            stack.parameters,
            seed,
            self.id,
            None,
            stack.dissemination,
            stack.dissemination_settings,
            {} if stack.recovers else None,
        )
        self._overlay = machine.overlay
        self._sockets = sockets
        self._security.attach(sockets)
        self._driver = LiveDriver(
            machine,
            self.id,
            self._address.encode(),
            sockets,
            self._on_fact,
            self._open_record(seed),
            self._on_deliver,
            self._judge.ask,
            self._security.guard,
            self._limits.frame_bytes if machine.takes_bursts else 0,
        )
        contacts = tuple(Peer(0, address.encode()) for address in self._seeds if address != self._address)
        self._driver.start(Started(contacts, joining=bool(contacts), address=self._address.encode()))
        if self._plan is not None:
            self._looking = asyncio.create_task(self._plan.look(sockets, self._on_planned))
        log.info("listening on %s", self._address, extra={"facts": {"address": self._address, "node": self.hex_id}})

    async def stop(self) -> None:
        """Leave in good order: neighbours are told, readers end."""
        if self._driver is None or self._sockets is None:
            return
        for topic in list(self._topics.by_id.values()):
            for subscription in list(topic.subscriptions):
                subscription.close()
        if self._looking is not None:
            self._looking.cancel()
        self._driver.stop()
        self._judge.stop()
        await self._sockets.closed()
        if self._record is not None:
            # The driver has said so if the disk is full.
            with suppress(OSError):
                self._record.close()
            self._record = None

    @property
    def address(self) -> str:
        """HOST:PORT, which others can use as a seed."""
        return self._address

    @property
    def hex_id(self) -> str:
        """This node's id as messages show it."""
        return f"{self.id:016x}"

    # Topics.

    def subscribe(
        self,
        topic: str,
        *,
        slow: Slow = "block",
        own: bool = False,
        codec: str | Codec = "bytes",
        queue: int | None = None,
        last: int = 0,
        last_seconds: float = 0.0,
    ) -> Subscription:
        """Follow a topic: enter the answer, then iterate over it.

        `last` and `last_seconds` ask neighbours for what was published before; `own` also delivers what this node
        publishes.
        """
        check_topic(topic)
        if slow not in ("block", "drop"):
            raise InputError(f"slow must be 'block' or 'drop', got {slow!r}")
        if last < 0 or last_seconds < 0 or (queue is not None and queue < 1):
            raise InputError("last and last_seconds must not be negative, and queue must be at least 1")
        most, unseal = queue or self._limits.reader_messages, self._security.unseal
        return Subscription(self, topic, find_codec(codec), unseal, most, slow, own, last, last_seconds)

    def publisher(self, topic: str, codec: str | Codec = "bytes") -> Publisher:
        """Publish on a topic without following it: enter the answer."""
        check_topic(topic)
        find_codec(codec)
        return Publisher(self, topic, codec)

    def validate(self, topic: str, validator: Validator) -> None:
        """Ask this function (or coroutine function) about each message of a topic before it is delivered or passed on.

        It answers an Outcome, or True to accept and False to reject.
        """
        state = self._topics.hold(topic)
        state.validator = validator
        self._tell(state)

    def limit(self, topic: str, payload_bytes: int) -> None:
        """Refuse messages of a topic with longer payloads, whoever publishes them."""
        if not 0 < payload_bytes <= self._limits.payload_bytes:
            raise InputError(f"payload_bytes must lie between 1 and {self._limits.payload_bytes}, got {payload_bytes}")
        state = self._topics.hold(topic)
        state.payload_bytes = payload_bytes
        self._tell(state)

    async def ready(self, topic: str, peers: int = 1, timeout: float = 10.0) -> None:
        """Wait until at least so many neighbours hold the topic too; TimeoutError if that takes too long."""
        state = self._topics.by_name.get(topic)
        if state is None or not state.is_held:
            raise InputError(f"{topic!r} is neither followed nor opened by this node; subscribe to it first")
        if len(self._overlay.neighbours_on(state.id)) >= peers:
            return
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append((state, peers, waiter))
        try:
            async with asyncio.timeout(timeout):
                # Interests also come with messages that change no link; a look now and then sees those.
                while not waiter.done():
                    await asyncio.wait([waiter], timeout=0.02)
                    self._look()
        except TimeoutError:
            found = len(self._overlay.neighbours_on(state.id))
            raise TimeoutError(f"after {timeout:g} s {found} of {peers} wanted neighbours hold {topic!r}") from None
        finally:
            self._waiters = [entry for entry in self._waiters if entry[2] is not waiter]

    def peers(self, topic: str) -> list[str]:
        """The neighbours that hold a topic."""
        state = self._topics.by_name.get(topic)
        return [] if state is None else [f"{node:016x}" for node in self._overlay.neighbours_on(state.id)]

    # Publishing.

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

        A topic that is neither followed nor opened is opened, and waited for. `slow="block"` waits for links that are
        slow; `slow="drop"` leaves them out, as the receipt says.
        """
        if self._sockets is None:
            raise InputError("start the node before you publish: async with gossamer.Node(...) as node")
        state = self._topics.by_name.get(topic) if type(topic) is str else None
        if state is not None and state.is_held:
            states: Sequence[Topic] = (state,)
        else:
            states = await self._ready_topics((topic,) if isinstance(topic, str) else tuple(topic), timeout)
            state = states[0]
        content = payload if type(payload) is bytes and codec == "bytes" else find_codec(codec).encode(payload)
        if type(content) is not bytes:
            raise InputError(f"a codec must encode to bytes; this one gave {type(content).__name__}")
        for each in states:
            if len(content) > each.payload_bytes:
                raise InputError(f"the payload has {len(content):,} bytes; {each.name!r} takes {each.payload_bytes:,}")
        patient = slow == "block"
        if len(states) == 1 or self._stack.discloses:
            sequence, tally = self._publish(states, content, patient)
        else:
            # Whoever holds one of the topics must not hear of the others.
            sequence, tally = self._publish(states[:1], content, patient)
            for each in states[1:]:
                tally = tally.with_(self._publish((each,), content, patient)[1])
        self._since_turn += 1
        if self._since_turn >= TURN_EVERY:
            self._since_turn = 0
            await asyncio.sleep(0)
        sent = 0
        if wait == "sent" or (patient and self._sockets.has_slow):
            sent = await self._wait_for(tally, wait, patient)
        refused = tuple((f"{node:016x}", reason) for node, reason in tally.refused) if tally.refused else ()
        return Receipt(state.name, sequence, len(tally.queued), sent, refused)

    def _publish(self, states: Sequence[Topic], content: bytes, patient: bool) -> tuple[int, Tally]:
        driver = self._driver
        assert driver is not None
        first = states[0]
        sealed, sequence = content, driver.next_sequence()
        published_us, tally = 0, None
        if driver.burst is not None and len(states) == 1:
            tally = driver.publish_behind(first.id, sequence, content)
        if tally is None:
            also = tuple(state.id for state in states[1:]) if len(states) > 1 else ()
            if self._security.signer is not None:
                published_us = driver.clock_us()
                sealed = self._security.signer.seal((first.id, *also), sequence, content, published_us)
            tally = driver.publish(Publish(first.id, sealed, also, sequence, published_us), patient)
        self._published += 1
        for state in states:
            for subscription in state.subscriptions:
                if subscription.own:
                    at_us = published_us or driver.now_us
                    subscription.put((Deliver(state.id, sealed, self.id, sequence, 0, at_us),))
        return sequence, tally

    async def _wait_for(self, tally: Tally, wait: str, patient: bool) -> int:
        """Wait for slow links, and until copies have left where that is wanted; answers how many have."""
        assert self._sockets is not None
        sent = 0
        for node in tally.queued:
            link = self._sockets.link(node)
            if link is not None and patient:
                await link.drained()
            if link is not None and wait == "sent":
                sent += await link.emptied()
        return sent

    async def _ready_topics(self, names: tuple[str, ...], timeout: float) -> list[Topic]:
        if not names:
            raise InputError("publish needs at least one topic")
        found = []
        for name in dict.fromkeys(names):
            state = self._topics.by_name.get(name)
            if state is None or not state.is_held:
                self.open_publisher(name)
                await self.ready(name, 1, timeout)
                state = self._topics.by_name[name]
            found.append(state)
        return found

    # Called by subscriptions and publishers.

    def open_subscription(self, subscription: Subscription) -> None:
        """A reader begins."""
        state = self._topics.hold(subscription.topic)
        was_followed = bool(state.subscriptions)
        state.subscriptions.append(subscription)
        if not was_followed or subscription.last or subscription.last_seconds:
            self._tell(state, subscription.last, int(subscription.last_seconds * 1_000_000))

    def close_subscription(self, subscription: Subscription) -> None:
        """A reader is done."""
        state = self._topics.by_name.get(subscription.topic)
        if state is not None and subscription in state.subscriptions:
            state.subscriptions.remove(subscription)
            if not state.subscriptions:
                self._tell(state)

    def open_publisher(self, topic: str) -> None:
        """A publisher begins."""
        state = self._topics.hold(topic)
        state.publishers += 1
        if state.publishers == 1:
            self._tell(state)

    def close_publisher(self, topic: str) -> None:
        """A publisher is done."""
        state = self._topics.by_name[topic]
        state.publishers -= 1
        if not state.publishers:
            self._tell(state)

    def count_drop(self, reason: str) -> None:
        """A message was lost to a reader."""
        self._drops[reason] += 1

    def hold(self, why: str) -> None:
        """Read from no link for a while."""
        if self._sockets is not None:
            self._sockets.hold(why)

    def release(self, why: str) -> None:
        """Read on."""
        if self._sockets is not None:
            self._sockets.release(why)

    # What is going on.

    def status(self) -> NodeStatus:
        """Links, topics, coverage, queues and drops, as they are now."""
        if self._sockets is None or self._driver is None:
            raise InputError("the node has not been started")
        return NodeStatus(
            node=self.hex_id,
            address=self._address,
            stack=list(self._stack.names),
            links=[link_status(link, kept) for link, kept in self._sockets.links()],
            topics=[
                topic_status(topic, len(self._overlay.neighbours_on(topic.id))) for topic in self._topics.by_id.values()
            ],
            published=self._published,
            delivered=self._delivered,
            counts=dict(
                sorted((self._drops + self._judge.counts + self._sockets.counts + self._driver.counts).items())
            ),
        )

    # Called by the driver.

    def _on_deliver(self, actions: Sequence[Deliver]) -> None:
        assert self._driver is not None
        self._delivered += len(actions)
        topics, now_us = self._topics.by_id, self._driver.now_us
        for (topic, also), group in groupby(actions, _TOPICS):
            several = list(group)
            first = topics.get(topic)
            if first is not None and first.latencies is not None:
                first.latencies.add(several, now_us)
            for state in (first, *map(topics.get, also)):
                for subscription in () if state is None else state.subscriptions:
                    subscription.put(several)

    def _on_fact(self, fact: Fact) -> None:
        if isinstance(fact, Lost):
            self._drops["messages lost: gap not filled"] += 1
            state = self._topics.by_id.get(fact.topic)
            if state is not None:
                gap = Gap(state.name, f"{fact.publisher:016x}", fact.after, fact.before)
                for subscription in state.subscriptions:
                    subscription.gaps.append(gap)
        elif isinstance(fact, NotJudged):
            self._drops["messages lost: too many for the validator"] += 1
        elif self._waiters:
            self._look()

    def _settle(self, ticket: int, outcome: Outcome) -> None:
        if self._driver is not None:
            self._driver.give(Validated(ticket, int(outcome)))

    def _on_planned(self, topics: frozenset[str]) -> None:
        """A peer of the plan has been found."""
        for name in topics & self._topics.by_name.keys():
            if self._topics.by_name[name].is_held:
                self._tell(self._topics.by_name[name])

    def _look(self) -> None:
        """Whether somebody's topic is ready."""
        for state, peers, waiter in self._waiters:
            if not waiter.done() and len(self._overlay.neighbours_on(state.id)) >= peers:
                waiter.set_result(None)

    # Within.

    def _tell(self, state: Topic, last: int = 0, last_us: int = 0) -> None:
        """Tell the machine what this node does with a topic now."""
        if self._driver is None:
            if state.role:
                raise InputError("start the node first: async with gossamer.Node(...) as node")
            return
        state.is_held = bool(state.role)
        if not state.is_held:
            self._driver.give(Unsubscribe(state.id))
            if state.validator is None:
                self._topics.forget(state)
            return
        validates = state.validator is not None or state.payload_bytes < self._limits.payload_bytes
        peers = () if self._plan is None else self._plan.peers_on(state.name)
        self._driver.give(
            Subscribe(state.id, state.role, peers, secret=state.secret, validates=validates, last=last, last_us=last_us)
        )

    def _open_record(self, seed: int) -> tuple[BinaryIO, Header] | None:
        if self._record_path is None:
            return None
        self._record = self._record_path.open("wb")
        return self._record, self._stack.header(seed)
