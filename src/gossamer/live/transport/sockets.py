"""The socket transport: listens, dials, and keeps the links of one node.

Kept links are those that the machine asked for. All other links are short-lived, and both kinds of them are bounded:
the pool of links that this node opened, and the links that strangers opened.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from gossamer.live.api.limits import Limits
from gossamer.live.transport import wire
from gossamer.live.transport.addresses import join_address, words_of
from gossamer.live.transport.backpressure import Backpressure
from gossamer.live.transport.dialling import Dialler
from gossamer.live.transport.driver import LiveDriver
from gossamer.live.transport.environment import REAL, Environment
from gossamer.live.transport.handshakes import Handshakes
from gossamer.live.transport.interface import Receipt
from gossamer.live.transport.limited_log import LimitedLog
from gossamer.live.transport.links import Link
from gossamer.live.transport.queues import Parcel
from gossamer.live.transport.refusals import Refusals
from gossamer.live.transport.strangers import Strangers
from gossamer.live.transport.tls import Tls, identify_peer
from gossamer.model.values.errors import InputError
from gossamer.model.values.ids import NodeId
from gossamer.protocols.contract.compact import Writer

# Chosen: the size of one read, which no bound on a peer can shorten. Asyncio alone would allocate 256 KiB for every
# read, at the price of two page faults for each message when messages are few.
READ_BYTES = 64 * 1024
# Chosen: how often links are checked, while any is slow and otherwise. An idle process should wake up seldom.
SLOW_TICK_SECONDS, TICK_SECONDS = 0.2, 1.0
# Chosen: a short-lived link that another node opened may stay silent this many times as long as our own.
STRANGER_PATIENCE = 6
# The goodbye of a node that leaves the network; any other goodbye ends one link only.
LEAVING = "this node is leaving"


class Sockets:
    """See `interface.Transport`. Each node has its own."""

    def __init__(
        self,
        node: NodeId,
        stack: tuple[str, ...],
        limits: Limits,
        tls: Tls | None = None,
        environment: Environment = REAL,
        numbered: bool = True,
    ) -> None:
        self.node = node
        self.limits = limits
        self.environment = environment
        # What went wrong, by reason: shown by status and metrics.
        self.counts: Counter[str] = Counter()
        # A node that does not disclose its topics takes no part in telling patterns and names.
        self._features = wire.FEATURES if numbered else ()
        self.hello = wire.hello(node, b"", stack, self._features)
        # Encodes what this node sends on all its links. Where topics have labels, no number stands for them.
        self.writer = Writer(numbered)
        self._stack, self._tls = stack, tls
        self._driver: LiveDriver | None = None
        self.buffer = memoryview(bytearray(READ_BYTES))  # all links read into it
        # Links give received frames to this function: see `LiveDriver.receive`.
        self.receive: Callable[[NodeId, Sequence[bytes], wire.Reader, str], Receipt] = _drop_frames
        # Links call this function before they flush: see `LiveDriver.flush`.
        self.flush_driver: Callable[[], None] = _flush_nothing
        self.on_greeted: Callable[[Link], None] = _ignore_link  # called for every link that is up
        # Links that sent nothing for a while: what is queued now leaves when the driver has carried out the event.
        self.eager: list[Link] = []
        self._server: asyncio.Server | None = None
        self._tick: asyncio.TimerHandle | None = None
        self._tick_seconds = TICK_SECONDS
        self._ran_seconds = 0.0  # for how long this process ran, as its ticks show it
        self._by_node: dict[NodeId, Link] = {}
        # Every socket in the order of creation, also those whose handshake is not done.
        self._links: dict[Link, None] = {}
        self._kept: dict[NodeId, None] = {}
        self._dialler = Dialler(self, tls)
        self._pressure = Backpressure(self._links, limits, self.counts)
        self._strangers = Strangers(self._links, self._is_kept, limits, self.counts)
        self.refuse = self._strangers.refuse
        self._handshakes = None if tls is None else Handshakes(self, tls, self._strangers.handshakes_max)
        # What peers cause is logged at a bounded rate.
        self.log = LimitedLog(environment.monotonic)
        self.refusals = Refusals(self.counts, self.log)
        # Bytes of unfinished frames on all links; each link adds and subtracts its own.
        self.unfinished_bytes = 0

    # Life.

    async def listen(self, host: str, port: int, advertised: str | None = None) -> str:
        """Open the listening socket; answers the address that other nodes use."""
        if self._handshakes is not None and not self.environment.has_tls:
            raise InputError("a virtual network carries no TLS: leave the keys out in tests that use it")
        accept = self._handshakes.accept if self._handshakes else lambda: Link(self, dialled=False)
        try:
            self._server = await self.environment.create_server(accept, host, port, backlog=256)
        except OSError as error:
            raise InputError(f"cannot listen on {join_address(host, port)}: {words_of(error)}") from None
        bound = self._server.sockets[0].getsockname()[1]
        address = advertised or join_address(host, bound)
        self.hello = wire.hello(self.node, address.encode(), self._stack, self._features)
        return address

    def stop_listening(self) -> None:
        """Close the listening socket."""
        if self._server is not None:
            self._server.close()

    def open(self, driver: LiveDriver) -> None:
        """See `interface.Transport`."""
        self._driver = driver
        self.receive = driver.receive
        self.flush_driver = driver.flush
        self._set_tick(TICK_SECONDS)

    def close(self, driver: LiveDriver) -> None:
        """See `interface.Transport`. Queued frames still leave."""
        self._driver = None
        self.receive = _drop_frames
        self.flush_driver = _flush_nothing
        if self._tick is not None:
            self._tick.cancel()
        self.stop_listening()
        if self._handshakes is not None:
            self._handshakes.close()
        self._dialler.cancel()
        for link in list(self._links):
            link.close(LEAVING if link.is_up else "")

    async def closed(self, seconds: float = 1.0) -> None:
        """Wait until all links have closed; abort those that take longer."""
        deadline = asyncio.get_running_loop().time() + seconds
        while self._links and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(0.005)
        for link in list(self._links):
            link.abort()
        await self._dialler.finished()

    # Called by the driver.

    def send(self, sender: NodeId, node: NodeId, address: bytes, parcel: Parcel, patient: bool = True) -> str | None:
        """See `interface.Transport`."""
        link = self._by_node.get(node)
        if link is None or link.is_ending:
            return self._dialler.dial(node, address, parcel) if address else self.lose("no link", parcel.count)
        if link.is_slow and (not patient or self._is_full(link)):
            return self.lose("link is slow" if not patient else "peer does not read", parcel.count)
        link.write(parcel)
        return None

    def end_event(self) -> None:
        """See `interface.Transport`."""
        if self.eager:
            eager, self.eager = self.eager, []
            for link in eager:
                link.flush()

    def gather(self, nodes: Sequence[NodeId]) -> None:
        """See `interface.Transport`."""
        for node in nodes:
            link = self._by_node.get(node)
            if link is not None:
                link.gather()

    def is_gathering(self, nodes: Sequence[NodeId]) -> bool:
        """See `interface.Transport`."""
        for node in nodes:
            link = self._by_node.get(node)
            if link is None or link.is_slow or not link.flush_is_due:
                return False
        return True

    def has_proved(self, node: NodeId, address: bytes) -> bool:
        """See `interface.Transport`."""
        return self._dialler.has_answered(node, address)

    def prove(self, node: NodeId, address: bytes, then: Callable[[bool], None]) -> None:
        """See `interface.Transport`."""
        self._dialler.prove(node, address, then)

    def connect(self, driver: LiveDriver, node: NodeId, address: bytes) -> None:
        """See `interface.Transport`."""
        self._kept[node] = None
        if node in self._by_node:
            asyncio.get_running_loop().call_soon(driver.peer_up, node)
        elif not address or self._dialler.dial(node, address) is not None:
            self._kept.pop(node)
            asyncio.get_running_loop().call_soon(driver.peer_down, node)

    def disconnect(self, driver: LiveDriver, node: NodeId) -> None:
        """See `interface.Transport`. The link stays open for a while as a short-lived one."""
        self._kept.pop(node, None)
        link = self._by_node.get(node)
        if link is not None and link.is_slow:
            link.give_up_waiting()

    def problem_of(self, address: str) -> str | None:
        """Why the last dial to an address failed; None if it did not fail or is forgotten."""
        return self._dialler.problems.get(address.encode())

    # Called by the node.

    def link(self, node: NodeId) -> Link | None:
        """The link to a node, if there is one."""
        return self._by_node.get(node)

    def links(self) -> Iterator[tuple[Link, bool]]:
        """Every link that is up, and whether it is kept."""
        for node, link in self._by_node.items():
            yield link, node in self._kept

    @property
    def has_slow(self) -> bool:
        """Whether the queue of any link is long."""
        return bool(self._pressure.slow)

    @property
    def is_paused(self) -> bool:
        """Whether no link is read because a reader of this node is slow."""
        return self._pressure.is_paused

    def pause_reading(self, reason: str) -> None:
        """Read from no link: a reader of this node is slow."""
        self._pressure.pause(reason)

    def resume_reading(self, reason: str) -> None:
        """Read again, unless there is another reason not to."""
        self._pressure.resume(reason)

    async def find(self, address: bytes) -> NodeId | None:
        """The id of the node that listens at an address; None where no node of this network answers."""
        return await self._dialler.find(address)

    # Called by links and dials.

    def on_made(self, link: Link) -> None:
        """A socket is open."""
        self._links[link] = None
        if not link.dialled:
            self._strangers.bound_links(dialled=False)

    def identify(self, link: Link, transport: asyncio.Transport, greeting: wire.Hello) -> tuple[NodeId, str]:
        """The id and the name of the other end; a PeerError says why it is not accepted."""
        node, name = identify_peer(self._tls, transport, greeting)
        self._strangers.check_identity(link, node)
        return node, name

    def on_unfinished(self) -> None:
        """A link has received a part of a frame."""
        if self.unfinished_bytes > self.limits.unfinished_bytes:
            self._strangers.bound_unfinished()

    def on_up(self, link: Link) -> None:
        """The handshake of a link is done."""
        known = self._by_node.get(link.node)
        # If both ends dialled at once, both keep the link that the lower id opened. Without TLS an id is only a claim, so
        # that a later link never replaces the first.
        is_proved = self._tls is not None
        if known is None or known.is_ending or (is_proved and _opener(link, self.node) < _opener(known, self.node)):
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
            self._strangers.bound_links(dialled=True)
        self.on_greeted(link)

    def make_reader(self, version: int) -> wire.Reader:
        """What reads the frames of a new link."""
        return _read_nothing if self._driver is None else self._driver.make_reader(version)

    def on_unreached(self, node: NodeId) -> None:
        """A dial failed; node 0 stands for any node at the address."""
        self._kept.pop(node, None)
        if node and self._driver is not None:
            self._driver.peer_down(node)

    def on_slow(self, link: Link) -> None:
        """The queue of a link has become long."""
        if self._driver is not None and self._tick_seconds != SLOW_TICK_SECONDS:
            self._set_tick(SLOW_TICK_SECONDS)
        self._pressure.on_slow(link, self._ran_seconds)

    def on_drained(self, link: Link) -> None:
        """The queue of a link is short again."""
        self._pressure.on_drained(link)

    def on_lost(self, link: Link) -> None:
        """A link is gone."""
        self._links.pop(link, None)
        self._pressure.on_drained(link)
        if not link.is_up or self._by_node.get(link.node) is not link:
            return
        del self._by_node[link.node]
        others = (other for other in self._links if other.is_up and other.node == link.node and not other.is_ending)
        other = next(others, None)
        if other is not None:
            self._by_node[link.node] = other
        elif self._driver is not None and self._kept.pop(link.node, 0) is None:
            self._driver.peer_down(link.node, link.hung_up)

    def on_too_fast(self, link: Link) -> None:
        """A peer sends more frames than it may; its link is read more slowly."""
        self.counts["too many frames"] += 1

    def on_offences(self, link: Link, count: int) -> None:
        """Frames could not be decoded, or messages were not allowed."""
        self.counts["frames that could not be read"] += min(count, self.limits.offences - link.offences)
        link.offences += count
        if link.offences >= self.limits.offences:
            link.close("too many frames that cannot be read", offence=True)

    def on_goodbye(self, link: Link, reason: str) -> None:
        """The other end closes a link."""
        facts = {"peer": link.node, "reason": reason}
        self.log.add("a peer ends its link", f"a peer ends its link: {reason}", facts, logging.INFO)
        link.hung_up = reason != LEAVING
        link.abort()

    def lose(self, reason: str, count: int) -> str:
        """Count frames that are lost, and answer the reason."""
        self.counts[f"frames lost: {reason}"] += count
        return reason

    # Within.

    def _is_full(self, link: Link) -> bool:
        """Whether a slow link takes no more frames. The queue to a stuck neighbour may still grow up to its bound."""
        return link.queued_bytes > self.limits.queue_bytes or (link.is_stuck and not self._is_kept(link))

    def _is_kept(self, link: Link) -> bool:
        """Whether the machine asked for this link. A second link with the same id is short-lived."""
        return link.node in self._kept and self._by_node.get(link.node) is link

    def _set_tick(self, seconds: float) -> None:
        if self._tick is not None:
            self._tick.cancel()
        self._tick_seconds = seconds
        self._tick = asyncio.get_running_loop().call_later(seconds, self._on_tick)

    def _on_tick(self) -> None:
        now = self.environment.monotonic()
        # A late tick counts as one in time: a process without CPU has not written to its peers meanwhile.
        self._ran_seconds += self._tick_seconds
        self._pressure.check(self._ran_seconds, self._tick_seconds)
        driver = self._driver
        if driver is None:
            # A reader has stopped the node.
            return
        self._set_tick(SLOW_TICK_SECONDS if self._pressure.slow else TICK_SECONDS)
        for node in [node for node in self._kept if node in self._by_node and self._by_node[node].is_paused]:
            # Reading from this peer is paused; tell the machine not to suspect it.
            driver.peer_up(node)
        self._close_idle(now)
        self.log.report()

    def _close_idle(self, now: float) -> None:
        for link in list(self._links):
            patience = self.limits.idle_seconds * (1 if link.dialled else STRANGER_PATIENCE)
            # What this node wrote does not count: bytes that are sent into a partition keep a dead connection open.
            if now - link.read_at > patience and link.is_up and not self._is_kept(link):
                link.close()


def _drop_frames(node: NodeId, bodies: Sequence[bytes], read: wire.Reader, name: str) -> Receipt:
    """Takes the frames that come before a node has started and after it has stopped."""
    return len(bodies), 0, None


def _ignore_link(link: Link) -> None:
    """Nobody asked to be told of links."""


def _read_nothing(body: bytes) -> Sequence[object]:
    """A link that comes up after the node has stopped closes at once."""
    return ()


def _flush_nothing() -> None:
    """No messages are gathered before a node has started and after it has stopped."""


def _opener(link: Link, me: NodeId) -> NodeId:
    return me if link.dialled else link.node
