"""The socket transport: listens, dials, and keeps the links of one node.

Kept links are those that the machine asked for. All others are short-lived: this node's own are a bounded pool, those
that peers opened are bounded too. Where a queue towards a peer fills, this node stops reading from all others until it
drains, so that pressure travels back to whoever publishes; a peer that takes next to nothing for a while is waited for no
longer, and what goes to it is refused and counted.
"""

import asyncio
import logging
import ssl
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from time import monotonic

from gossamer.live.api.limits import Limits
from gossamer.live.transport import wire
from gossamer.live.transport.addresses import join_address, split_address, words_of
from gossamer.live.transport.driver import LiveDriver
from gossamer.live.transport.links import Link
from gossamer.model.values.errors import InputError, PeerError
from gossamer.model.values.ids import NodeId

log = logging.getLogger("gossamer.live")

# Chosen: what is read at once, and so comes before any bound on a peer is looked at. Left to itself asyncio makes room for
# 256 KiB anew for every read, at the price of two page faults a message where few come.
READ_BYTES = 64 * 1024
# Chosen: how often idle links, slow peers and the pool are looked at.
TICK_SECONDS = 0.5
# Chosen: a stuck peer keeps its link for so many times the patience that publishers have with it.
STUCK_PATIENCE = 3
# Chosen: how much longer than our own short-lived links those of others may stay idle.
STRANGER_PATIENCE = 6


# What a node says that goes away, and not just from one link.
LEAVING = "this node is leaving"


class Tls:
    """Both contexts, how to read who is at the other end of a link, and how to say why there is none."""

    def __init__(
        self,
        server: ssl.SSLContext,
        client: ssl.SSLContext,
        peer_of: Callable[[bytes], tuple[NodeId, str]],
        why_refused: Callable[[Exception], str],
    ) -> None:
        self.server = server
        self.client = client
        self.peer_of = peer_of
        self.why_refused = why_refused


class Sockets:
    """See `driver.Transport`. One for each node."""

    def __init__(self, node: NodeId, stack: tuple[str, ...], limits: Limits, tls: Tls | None = None) -> None:
        self.node = node
        self.limits = limits
        # What went wrong, by reason: shown by status and metrics.
        self.counts: Counter[str] = Counter()
        self.hello = wire.hello(node, b"", stack)
        self._stack = stack
        self._tls = tls
        self._driver: LiveDriver | None = None
        # Where links read into.
        self.buffer = memoryview(bytearray(READ_BYTES))
        # What links hand frames to: see `LiveDriver.receive`.
        self.receive: Callable[[NodeId, Sequence[bytes], str], tuple[Sequence[bytes], int]] = _nobody
        # What links call before what is queued leaves.
        self.leave: Callable[[], None] = _nothing
        self._server: asyncio.Server | None = None
        self._tick: asyncio.TimerHandle | None = None
        self._by_node: dict[NodeId, Link] = {}
        # Every socket there is, also those that have not greeted; the order is that of their making.
        self._links: dict[Link, None] = {}
        self._kept: dict[NodeId, None] = {}
        self._dials: dict[tuple[NodeId, bytes], list[bytes]] = {}
        self._tasks: set[asyncio.Task[Link]] = set()
        # Slow links, and what had left over each at the last look, and since when it takes too little.
        self._slow: dict[Link, tuple[int, float]] = {}
        self._holds: set[str] = set()

    # Life.

    async def listen(self, host: str, port: int, advertised: str | None = None) -> str:
        """Open the listening socket; answers the address that others can use."""
        loop = asyncio.get_running_loop()
        context = self._tls.server if self._tls else None
        try:
            self._server = await loop.create_server(
                lambda: Link(self, dialled=False),
                host,
                port,
                ssl=context,
                backlog=256,
                ssl_handshake_timeout=self.limits.handshake_seconds if context else None,
            )
        except OSError as error:
            raise InputError(f"cannot listen on {join_address(host, port)}: {words_of(error)}") from None
        bound = self._server.sockets[0].getsockname()[1]
        address = advertised or join_address(host, bound)
        self.hello = wire.hello(self.node, address.encode(), self._stack)
        return address

    def open(self, driver: LiveDriver) -> None:
        """See `driver.Transport`."""
        self._driver = driver
        self.receive = driver.receive
        self.leave = driver.leave
        self._tick = asyncio.get_running_loop().call_later(TICK_SECONDS, self._on_tick)

    def close(self, driver: LiveDriver) -> None:
        """See `driver.Transport`. Queued frames still leave."""
        self._driver = None
        self.receive = _nobody
        self.leave = _nothing
        if self._tick is not None:
            self._tick.cancel()
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        for link in list(self._links):
            link.close(LEAVING if link.is_up else "")

    async def closed(self, seconds: float = 1.0) -> None:
        """Wait until all links are gone; those that do not go are cut."""
        deadline = asyncio.get_running_loop().time() + seconds
        while self._links and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(0.005)
        for link in list(self._links):
            link.abort()
        if self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)

    # Called by the driver.

    def send(
        self, sender: NodeId, node: NodeId, address: bytes, frames: Sequence[bytes], patient: bool = True
    ) -> str | None:
        """See `driver.Transport`."""
        link = self._by_node.get(node)
        if link is None:
            return self._dial(node, address, frames) if address else self._lose("no link", len(frames))
        if link.is_slow and (not patient or link.is_stuck or link.queued_bytes > self.limits.queue_bytes):
            return self._lose("link is slow" if not patient else "peer does not read", len(frames))
        link.write(frames)
        return None

    def is_gathering(self, nodes: Sequence[NodeId]) -> bool:
        """See `driver.Transport`."""
        for node in nodes:
            link = self._by_node.get(node)
            if link is None or link.is_slow or not link.flush_is_due:
                return False
        return True

    def connect(self, driver: LiveDriver, node: NodeId, address: bytes) -> None:
        """See `driver.Transport`."""
        self._kept[node] = None
        if node in self._by_node:
            asyncio.get_running_loop().call_soon(driver.peer_up, node)
        elif address:
            self._dial(node, address, ())
        else:
            self._kept.pop(node)
            asyncio.get_running_loop().call_soon(driver.peer_down, node)

    def disconnect(self, driver: LiveDriver, node: NodeId) -> None:
        """See `driver.Transport`: the link stays for a while, for what is still said."""
        self._kept.pop(node, None)
        link = self._by_node.get(node)
        if link is not None and link.is_slow:
            link.give_up_waiting()

    # For the node.

    def link(self, node: NodeId) -> Link | None:
        """The link to a node, if one stands."""
        return self._by_node.get(node)

    def links(self) -> Iterator[tuple[Link, bool]]:
        """Every link that stands, and whether it is kept."""
        for node, link in self._by_node.items():
            yield link, node in self._kept

    @property
    def has_slow(self) -> bool:
        """Whether any queue is long."""
        return bool(self._slow)

    def hold(self, why: str) -> None:
        """Read from nobody for a while: a reader of this node is slow."""
        self._holds.add(why)
        for link in self._links:
            if link not in self._slow:
                link.hold("pressure")

    def release(self, why: str) -> None:
        """Read on, unless there is another reason not to."""
        self._holds.discard(why)
        self._let_read()

    # Called by links.

    def made(self, link: Link) -> None:
        """A socket stands."""
        self._links[link] = None
        if not link.dialled:
            self._bound(dialled=False, most=self.limits.strangers)

    def identity_of(self, transport: asyncio.Transport, greeting: wire.Hello) -> tuple[NodeId, str]:
        """Who is at the other end: what its certificate says, or without TLS what it says itself."""
        if self._tls is None:
            return greeting.node, ""
        tls = transport.get_extra_info("ssl_object")
        certificate = tls.getpeercert(binary_form=True) if tls is not None else None
        if not certificate:
            raise PeerError("showed no certificate")
        node, name = self._tls.peer_of(certificate)
        if node != greeting.node:
            raise PeerError("claims an identity that is not its certificate's")
        return node, name

    def on_up(self, link: Link) -> None:
        """The greeting is done."""
        known = self._by_node.get(link.node)
        # Where both ends dialled at once, both keep the link that the lower id opened.
        if known is None or _opener(link, self.node) < _opener(known, self.node):
            self._by_node[link.node] = link
        if self._driver is None:
            link.close(LEAVING)
            return
        if link.expected and link.expected != link.node:
            self.counts["another node answered"] += 1
            self._driver.peer_down(link.expected)
        if known is None and link.node in self._kept:
            self._driver.peer_up(link.node)
        if link.dialled:
            self._bound(dialled=True, most=self.limits.pool)

    def on_slow(self, link: Link) -> None:
        """A queue is filling: read from others no further until it drains."""
        if not self._slow and not self._holds:
            for other in self._links:
                other.hold("pressure")
        self._slow[link] = (link.sent_bytes, monotonic())
        # A peer that waits for us must not wait for itself.
        link.release("pressure")

    def on_drained(self, link: Link) -> None:
        """The queue is short again."""
        self._slow.pop(link, None)
        self._let_read()

    def on_lost(self, link: Link) -> None:
        """The link is gone."""
        self._links.pop(link, None)
        self.on_drained(link)
        if not link.is_up or self._by_node.get(link.node) is not link:
            return
        del self._by_node[link.node]
        other = next((other for other in self._links if other.is_up and other.node == link.node), None)
        if other is not None:
            self._by_node[link.node] = other
        elif self._driver is not None and self._kept.pop(link.node, 0) is None:
            self._driver.peer_down(link.node, link.hung_up)

    def on_refused(self, link: Link, reason: str) -> None:
        """A peer was turned away, or turned us away."""
        self.counts[f"link refused: {reason.partition(':')[0]}"] += 1
        log.warning(
            "link refused: %s",
            reason,
            extra={"facts": {"peer": link.address.decode(errors="replace"), "reason": reason}},
        )

    def on_too_fast(self, link: Link) -> None:
        """A peer sends more frames than it may; it is read more slowly."""
        self.counts["too many frames"] += 1

    # Within.

    def _dial(self, node: NodeId, address: bytes, frames: Sequence[bytes]) -> str | None:
        key = (node, address)
        waiting = self._dials.get(key)
        if waiting is None:
            if len(self._dials) >= self.limits.dials:
                return self._lose("too many dials", len(frames))
            waiting = self._dials[key] = []
            task = asyncio.get_running_loop().create_task(self._reach(node, address, waiting))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        if frames and len(waiting) >= self.limits.dial_frames:
            return self._lose("too much waits for a dial", len(frames))
        waiting.extend(frames)
        return None

    async def find(self, address: bytes) -> NodeId | None:
        """Who listens at an address; None where nobody answers as a node of this network."""
        self._dials.setdefault((0, address), [])
        link = await self._reach(0, address, self._dials[0, address])
        return link.node if link.is_up else None

    async def _reach(self, node: NodeId, address: bytes, waiting: list[bytes]) -> Link:
        loop = asyncio.get_running_loop()
        link = Link(self, dialled=True, expected=node)
        try:
            host, port = split_address(address.decode())
            async with asyncio.timeout(self.limits.dial_seconds):
                await loop.create_connection(lambda: link, host, port, ssl=self._tls.client if self._tls else None)
                await link.greeted
            problem = None if link.is_up else "turned away"
        except (OSError, TimeoutError, UnicodeError, InputError, ssl.SSLError) as error:
            problem = self._words(error)
        finally:
            self._dials.pop((node, address), None)
        if problem is None and node in (0, link.node):
            link.write(waiting)
        else:
            self._on_unreached(node, address, problem, len(waiting))
        return link

    def _words(self, error: Exception) -> str:
        if self._tls is not None and isinstance(error, ssl.SSLError | ConnectionResetError):
            return self._tls.why_refused(error)
        return words_of(error)

    def _on_unreached(self, node: NodeId, address: bytes, problem: str | None, frames: int) -> None:
        self.counts["frames lost: unreachable"] += frames
        if problem is None:
            return
        self.counts["unreachable"] += 1
        where = address.decode(errors="replace")
        log.info("cannot reach %s: %s", where, problem, extra={"facts": {"address": where, "reason": problem}})
        self._kept.pop(node, None)
        if node and self._driver is not None:
            self._driver.peer_down(node)

    def _lose(self, reason: str, count: int) -> str:
        self.counts[f"frames lost: {reason}"] += count
        return reason

    def on_offence(self, link: Link, body: bytes) -> None:
        """A frame could not be read, was not allowed, or was a goodbye."""
        goodbye = wire.read_bye(body)
        if goodbye is not None:
            log.info("a peer ends its link: %s", goodbye, extra={"facts": {"peer": link.node, "reason": goodbye}})
            link.hung_up = goodbye != LEAVING
            link.abort()
            return
        self.counts["frames that could not be read"] += 1
        link.offences += 1
        if link.offences >= self.limits.offences:
            link.close("too many frames that cannot be read", offence=True)

    def _let_read(self) -> None:
        if not self._slow and not self._holds:
            for link in self._links:
                link.release("pressure")

    def _bound(self, dialled: bool, most: int) -> None:
        """Of the short-lived links on one side, end the one that was quiet for longest if there are too many."""
        short = [link for link in self._links if link.dialled == dialled and link.node not in self._kept]
        if len(short) > most:
            oldest = min(short, key=lambda link: link.used_at)
            self.counts["links closed: too many"] += 1
            oldest.close("too many links")

    def _on_tick(self) -> None:
        loop = asyncio.get_running_loop()
        self._tick = loop.call_later(TICK_SECONDS, self._on_tick)
        now = monotonic()
        for link, (sent, since) in list(self._slow.items()):
            enough = sent + self.limits.drain_bytes_per_second * TICK_SECONDS
            if link.sent_bytes >= enough:
                self._slow[link] = (link.sent_bytes, now)
            elif now - since > self.limits.patience_seconds * STUCK_PATIENCE:
                self.counts["links closed: peer does not read"] += 1
                link.abort()
            elif now - since > self.limits.patience_seconds and not link.is_stuck:
                log.warning("a peer does not read", extra={"facts": {"peer": link.node}})
                link.give_up_waiting()
        if self._slow and all(link.is_stuck for link in self._slow) and not self._holds:
            for other in self._links:
                other.release("pressure")
        if self._driver is not None:
            for node in [node for node in self._kept if node in self._by_node and self._by_node[node].is_held]:
                # Who is not listened to is not silent.
                self._driver.peer_up(node)
        idle = self.limits.idle_seconds
        for link in list(self._links):
            patience = idle if link.dialled else idle * STRANGER_PATIENCE
            is_kept = link.node in self._kept and self._by_node.get(link.node) is link
            if link.is_up and not is_kept and now - link.used_at > patience:
                link.close()


def _nobody(node: NodeId, bodies: Sequence[bytes], name: str) -> tuple[Sequence[bytes], int]:
    """Frames before a node has started, and after it has stopped."""
    return (), len(bodies)


def _nothing() -> None:
    """Nothing is gathered before a node has started, and after it has stopped."""


def _opener(link: Link, me: NodeId) -> NodeId:
    return me if link.dialled else link.node
