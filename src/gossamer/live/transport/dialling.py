"""Dialling: opens links to addresses, with bounds on the dials under way and on the messages that wait for them."""

import asyncio
import logging
import ssl
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from gossamer.live.transport.addresses import split_address, words_of
from gossamer.live.transport.links import Link
from gossamer.live.transport.queues import Parcel
from gossamer.live.transport.running_time import running_timeout
from gossamer.live.transport.tls import Tls
from gossamer.model.values.errors import InputError
from gossamer.model.values.ids import NodeId

if TYPE_CHECKING:
    from gossamer.live.transport.sockets import Sockets

log = logging.getLogger("gossamer.live")

# Chosen: the number of addresses whose nodes are remembered, more than a node has links that it opened.
ANSWERED_MAX = 1_024
NOTHING = Parcel(())
CLOSED = "it closed the connection before its greeting; if it uses TLS, this node needs `keys`"


class Dialler:
    """The dials of one node. A dial is known by the node that it wants to reach (0: any) and the address."""

    def __init__(self, sockets: "Sockets", tls: Tls | None) -> None:
        self._sockets = sockets
        self._tls = tls
        # The messages that wait for each dial. Their encoding depends on the version that the greeting tells.
        self._dials: dict[tuple[NodeId, bytes], list[Any]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        # The node that answered at an address, so that a second message to the address alone needs no second link.
        self._answered: dict[bytes, NodeId] = {}
        # Why the last dial to an address failed.
        self.problems: dict[bytes, str] = {}
        # Dials to addresses where no node has answered yet: how many are allowed now, and when that was computed.
        self._budget = float(sockets.limits.new_dials)
        self._budget_at = sockets.environment.monotonic()
        # Newcomers whose addresses are being proved.
        self._proving: set[NodeId] = set()

    def dial(self, node: NodeId, address: bytes, parcel: Parcel = NOTHING) -> str | None:
        """Queue messages for a node that has no link, and dial it; answers the reason if there is no room."""
        limits = self._sockets.limits
        open_link = None if node else self._sockets.link(self._answered.get(address, 0))
        if open_link is not None and open_link.dialled and not open_link.is_ending:
            open_link.write(parcel)
            return None
        waiting = self._dials.get((node, address))
        if waiting is None:
            if len(self._dials) >= limits.dials:
                return self._sockets.lose("too many dials", parcel.count)
            if node and not self._may_try(address):
                return self._sockets.lose("too many dials to new addresses", parcel.count)
            waiting = self._dials[node, address] = []
            self._start(self._reach(node, address, waiting))
        if parcel.count and len(waiting) >= limits.dial_frames:
            return self._sockets.lose("too much waits for a dial", parcel.count)
        waiting.extend(parcel.messages)
        return None

    async def find(self, address: bytes) -> NodeId | None:
        """The id of the node that listens at an address; None where no node of this network answers."""
        link = await self._reach(0, address, self._dials.setdefault((0, address), []))
        return link.node if link.is_up else None

    def has_answered(self, node: NodeId, address: bytes) -> bool:
        """Whether this node answered the last dial to this address."""
        return self._answered.get(address) == node

    def prove(self, node: NodeId, address: bytes, then: Callable[[bool], None]) -> None:
        """Dial an address, and tell `then` whether this node answers there."""
        if node in self._proving:
            self._sockets.lose("address is being proved", 1)
        elif len(self._proving) >= self._sockets.limits.dials or not self._may_try(address):
            self._sockets.lose("too many dials to new addresses", 1)
        else:
            self._proving.add(node)
            self._start(self._prove(node, address, then))

    async def _prove(self, node: NodeId, address: bytes, then: Callable[[bool], None]) -> None:
        try:
            found = await self.find(address)
        finally:
            self._proving.discard(node)
        then(found == node)

    def _may_try(self, address: bytes) -> bool:
        """Spend one dial of the budget, unless a node of this network has answered at the address before.

        Peers name these addresses, so that a hostile one could make this node dial a third party.
        """
        if address in self._answered:
            return True
        now, rate = self._sockets.environment.monotonic(), self._sockets.limits.new_dials
        self._budget = min(self._budget + (now - self._budget_at) * rate, rate)
        self._budget_at = now
        if self._budget < 1:
            return False
        self._budget -= 1
        return True

    def _start(self, dial: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.get_running_loop().create_task(dial)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def cancel(self) -> None:
        """Give up all dials."""
        for task in self._tasks:
            task.cancel()

    async def finished(self) -> None:
        """Wait until all dials have ended."""
        if self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _reach(self, node: NodeId, address: bytes, waiting: list[Any]) -> Link:
        link = Link(self._sockets, dialled=True, expected=node)
        context = self._tls.client if self._tls else None
        try:
            host, port = split_address(address.decode())
            async with running_timeout(self._sockets.limits.dial_seconds):
                await self._sockets.environment.create_connection(lambda: link, host, port, ssl=context)
                await link.greeted
            problem = None if link.is_up else link.fault or self._on_closed(address)
        except (OSError, TimeoutError, UnicodeError, InputError, ssl.SSLError) as error:
            problem = self._describe(error, address)
        finally:
            self._dials.pop((node, address), None)
        if problem is None and node in (0, link.node):
            self.problems.pop(address, None)
            self._note_answer(address, link.node)
            # The other end accepts one link from this node: if an earlier dial to it succeeded, use that link.
            used = self._sockets.link(link.node) or link
            used.write(Parcel(waiting))
            # No event of the driver ends here.
            used.flush()
            return link
        self._sockets.counts["frames lost: unreachable"] += len(waiting)
        if problem is not None:
            self._on_unreached(node, address, problem)
        return link

    def _note_answer(self, address: bytes, node: NodeId) -> None:
        self._answered.pop(address, None)
        self._answered[address] = node
        if len(self._answered) > ANSWERED_MAX:
            del self._answered[next(iter(self._answered))]

    def _on_unreached(self, node: NodeId, address: bytes, problem: str) -> None:
        self._sockets.counts["unreachable"] += 1
        self.problems.pop(address, None)
        self.problems[address] = problem
        if len(self.problems) > ANSWERED_MAX:
            del self.problems[next(iter(self.problems))]
        where = address.decode(errors="replace")
        log.info("cannot reach %s: %s", where, problem, extra={"facts": {"address": where, "reason": problem}})
        self._sockets.on_unreached(node)

    def _on_closed(self, address: bytes) -> str:
        """The other end closed the connection before its greeting: it refuses this node and does not say why."""
        reason = CLOSED if self._tls is None else self._tls.why_refused(ConnectionResetError())
        return self._refused(reason, address)

    def _describe(self, error: Exception, address: bytes) -> str:
        if self._tls is not None and isinstance(error, ssl.SSLError | ConnectionResetError):
            return self._refused(self._tls.why_refused(error), address)
        return words_of(error)

    def _refused(self, reason: str, address: bytes) -> str:
        self._sockets.refusals.add(reason, address.decode(errors="replace"), dialled=True)
        return reason
