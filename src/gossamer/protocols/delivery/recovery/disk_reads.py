"""Requests for messages that are no longer in memory: the node's disk is read for one request of a neighbour at a time."""

from collections import deque

from gossamer.model.values.ids import NodeId
from gossamer.protocols.contract.actions import Action, Load
from gossamer.protocols.contract.events import Loaded
from gossamer.protocols.delivery.recovery.messages import ANSWER_BYTES_MAX, ANSWER_MAX, Ask

# Chosen: requests of one neighbour that wait for its read; further ones are answered with "later".
WAITING_MAX = 64

# A request, and the time of the oldest message that it wants, by this node's clock.
Wanted = tuple[Ask, int]


class DiskReads:
    """The reads in progress and the requests behind them. A read is as large as one frame of an answer.

    This node itself reads what it had before a restart, one request for each publisher.
    """

    __slots__ = ("_node", "_reading", "_ticket", "_waiting")

    def __init__(self, node: NodeId) -> None:
        self._node = node
        self._ticket = 0
        # The reads in progress: the node that asked, and its request.
        self._reading: dict[int, tuple[NodeId, Wanted]] = {}
        # For each node with a read in progress, its further requests.
        self._waiting: dict[NodeId, deque[Wanted]] = {}

    def put(self, asker: NodeId, ask: Ask, since_us: int, out: list[Action]) -> bool:
        """Read for a request now, or after the requests of the same node before it; returns whether there is room."""
        waiting = self._waiting.get(asker)
        if waiting is None:
            self._waiting[asker] = deque()
            self._read(asker, (ask, since_us), out)
            return True
        for place, (other, _) in enumerate(waiting):
            if (other.topic, other.publisher) == (ask.topic, ask.publisher):
                # The neighbour asked again.
                waiting[place] = (ask, since_us)
                return True
        if len(waiting) >= WAITING_MAX and asker != self._node:
            return False
        waiting.append((ask, since_us))
        return True

    def take(self, event: Loaded) -> tuple[NodeId, Ask, int] | None:
        """The node and the request that a read was for; None if the node is gone. Call `next` after the answer."""
        asker, wanted = self._reading.pop(event.ticket, (0, None))
        return None if wanted is None else (asker, *wanted)

    def next(self, asker: NodeId, may_go_on: bool, out: list[Action]) -> list[Ask]:
        """Read for the next request of a node; if it must not go on, returns the requests that are not read for."""
        waiting = self._waiting.pop(asker, deque())
        if not may_go_on:
            return [ask for ask, _ in waiting]
        if waiting:
            self._waiting[asker] = waiting
            self._read(asker, waiting.popleft(), out)
        return []

    def forget(self, node: NodeId) -> None:
        """A neighbour is gone. Its reads still end, and nobody gets them."""
        self._waiting.pop(node, None)
        self._reading = {ticket: read for ticket, read in self._reading.items() if read[0] != node}

    def _read(self, asker: NodeId, wanted: Wanted, out: list[Action]) -> None:
        self._ticket += 1
        self._reading[self._ticket] = (asker, wanted)
        ask, since_us = wanted
        limits = (ANSWER_MAX, ANSWER_BYTES_MAX)
        out.append(Load(self._ticket, ask.topic, ask.publisher, ask.after, ask.before, since_us, *limits))
