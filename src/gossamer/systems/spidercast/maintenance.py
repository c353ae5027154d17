"""SpiderCast's neighbour maintenance: MAINTAINNEIGHBORS, CONNECT and DISCONNECT (Figure 2) for both tasks.

A turn of a task does at most one thing: it asks one peer to become a neighbour, or asks one neighbour to part.
"""

from gossamer.model.values.draw import Purpose, draw_base
from gossamer.model.values.ids import NodeId
from gossamer.protocols.contract.actions import Action, Observe
from gossamer.protocols.contract.facts import BridgeWanted
from gossamer.protocols.contract.messages import Peer
from gossamer.protocols.contract.parts import InterestView
from gossamer.protocols.membership.interest_exchange import InterestExchange
from gossamer.protocols.roots import Roots
from gossamer.systems.spidercast.attempts import ConnectAttempts
from gossamer.systems.spidercast.links import Links
from gossamer.systems.spidercast.messages import ConnectRequest, DisconnectRequest, Task
from gossamer.systems.spidercast.parameters import Departures
from gossamer.systems.spidercast.task import NeighbourTask, wants_more_links

_CONNECT = (Purpose.SPIDERCAST_CONNECT_GREEDY, Purpose.SPIDERCAST_CONNECT_RANDOM)
_DISCONNECT = (Purpose.SPIDERCAST_DISCONNECT_GREEDY, Purpose.SPIDERCAST_DISCONNECT_RANDOM)


class Maintenance:
    """The active side of the protocol. The message handlers are in `machine.py`."""

    __slots__ = (
        "_adaptive",
        "_drop_when_stuck",
        "_exchange",
        "_links",
        "_node",
        "_reading",
        "_seed",
        "_tasks",
        "_view",
        "address",
        "asked_to_part",
        "attempts",
        "late_us",
    )

    def __init__(
        self,
        tasks: tuple[NeighbourTask, ...],
        links: Links,
        reading: Departures,
        view: InterestView,
        exchange: InterestExchange,
        seed: int,
        node: NodeId,
        *,
        adaptive: bool,
        drop_when_stuck: bool,
    ) -> None:
        self._tasks = tasks
        self._links = links
        self._reading = reading
        self._view = view
        self._exchange = exchange
        self._seed = seed
        self._node = node
        self._adaptive = adaptive
        self._drop_when_stuck = drop_when_stuck
        self.attempts = (ConnectAttempts(reading.redirects), ConnectAttempts(reading.redirects))
        # By task: the neighbour that was sent a DISCONNECT in the last turn.
        self.asked_to_part: list[NodeId | None] = [None, None]
        # The node's own address, which every CONNECT carries.
        self.address = b""
        # By how much the node's last heartbeat turn was late. It reads an answer as late as it fires a timer, and so may a
        # peer that it asks: answers are waited for that much longer.
        self.late_us = 0

    def turn(self, now_us: int, out: list[Action]) -> bool:
        """One iteration of the loop for each task; returns whether there may be more to do."""
        self.asked_to_part = [None, None]
        busy = self._maintain(Task.GREEDY, now_us, out)
        self._adapt()
        return self._ask_given(now_us, out) or self._maintain(Task.RANDOM, now_us, out) or busy

    def _maintain(self, kind: Task, now_us: int, out: list[Action]) -> bool:
        """One iteration for one task; returns whether it did anything. A covered task without work may fall asleep."""
        task = self._tasks[kind]
        if task.coverage == 0 or task.is_asleep:
            return False
        did = self._iterate(kind, task, now_us, out)
        task.is_asleep = self._reading.wakes == "loss" and not did and not task.under_covered
        return did

    def _iterate(self, kind: Task, task: NeighbourTask, now_us: int, out: list[Action]) -> bool:
        """MAINTAINNEIGHBORS, lines 4-12."""
        degree_max = task.degree_max
        under_covered = task.under_covered
        if under_covered:
            task.target = degree_max
            gap = degree_max - task.degree
            if gap > 0:
                is_asking = self._connect(kind, now_us, out)
                if is_asking or not task.counts_uncovered:
                    return is_asking
            if gap == 0:
                # Differs (`drop_when_stuck`): as written such a node is stuck: it neither connects nor disconnects. With
                # views of 1,000 of 30,000 nodes this left 112 topics disconnected instead of 53.
                return self._drop_when_stuck and self._disconnect(kind, under_covered, now_us, out)
        # DISCONNECT, lines 21-30. Differs, with `part_uncovered`: it also runs when no known peer can cover the remaining
        # topics. As written, one such topic keeps all links: of 600 links among 50 nodes that had joined one by one, 100
        # were redundant at both ends.
        task.target = min(degree_max, task.degree)
        over = task.degree - task.target
        if kind == Task.RANDOM and over <= 0 and self._reading.random_parts == "above":
            return False
        return self._disconnect(kind, None if over > 0 else under_covered, now_us, out)

    def _connect(self, kind: Task, now_us: int, out: list[Action]) -> bool:
        """CONNECT, lines 14-20; returns whether an answer is awaited."""
        task, attempts = self._tasks[kind], self.attempts[kind]
        if attempts.is_waiting(now_us):
            return True
        attempts.end_quarantines(now_us)
        exclude = {self._node, *task.neighbours, *attempts.quarantined}
        key = draw_base(self._seed, self._node, _CONNECT[kind], now_us)
        peer = attempts.take_redirect(self._node, task)
        peer = peer or task.next_coverage_node(self._view, tuple(self._exchange.topics), exclude, key)
        if peer is None:
            # There is no candidate until a quarantine ends or the view changes; the heartbeat timer tries again.
            return False
        self.ask(kind, peer, now_us, out)
        return True

    def ask(self, kind: Task, peer: Peer, now_us: int, out: list[Action], is_bridge: bool = False) -> None:
        """Send a CONNECT. A peer that is asked for a bridge is not quarantined."""
        task, attempts = self._tasks[kind], self.attempts[kind]
        if attempts.open_peer is not None:
            self._links.forget_address(attempts.open_peer)
        if not is_bridge:
            attempts.quarantined[peer.node] = now_us + self._reading.quarantine_us + self.late_us
        attempts.open_peer = peer.node
        attempts.open_until_us = now_us + self._reading.connect_timeout_us + self.late_us
        attempts.told = (task.degree, task.target)
        attempts.is_bridge = is_bridge
        self._links.note_address(peer)
        own = self._exchange
        request = ConnectRequest(
            kind, *attempts.told, own.first(), self.address, is_bridge, own.version, len(own.topics)
        )
        out.append(self._links.to((peer.node,), request))

    def _ask_given(self, now_us: int, out: list[Action]) -> bool:
        """Ask the next peer that the application named; returns whether there were any left."""
        attempts = self.attempts[Task.RANDOM]
        if not attempts.given:
            return False
        peer = attempts.take_given(self._tasks[Task.RANDOM], now_us)
        if peer is not None:
            out.append(Observe(BridgeWanted(peer.node)))
            self.ask(Task.RANDOM, peer, now_us, out, is_bridge=True)
        return True

    def ask_for_bridge(self, roots: Roots, now_us: int, out: list[Action]) -> None:
        """Ask a peer in another component of a topic for a bridge, if there is such a peer and room for a neighbour."""
        random = self._tasks[Task.RANDOM]
        if not random.has_room:
            return
        key = draw_base(self._seed, self._node, Purpose.SPIDERCAST_BRIDGE, now_us)
        peer = roots.next_bridge(self._view, {self._node, *random.neighbours}, key)
        if peer is not None:
            out.append(Observe(BridgeWanted(peer.node)))
            self.ask(Task.RANDOM, peer, now_us, out, is_bridge=True)

    def _disconnect(self, kind: Task, under_covered_most: int | None, now_us: int, out: list[Action]) -> bool:
        """Send a DISCONNECT to the most redundant neighbour; returns whether there was one.

        Its removal must leave at most `under_covered_most` topics under-covered (None: any number).
        """
        task = self._tasks[kind]
        key = draw_base(self._seed, self._node, _DISCONNECT[kind], now_us)
        node = task.disconnect_candidate(key, under_covered_most)
        if node is None:
            return False
        neighbour = task.neighbours[node]
        neighbour.asked_when = (neighbour.degree, neighbour.target)
        self.asked_to_part[kind] = node
        out.append(self._links.to((node,), DisconnectRequest(kind)))
        return True

    def _adapt(self) -> None:
        """3.3.1: a node whose K_g coverage took only K_g links adds random coverage until it has enough links."""
        greedy, random = self._tasks
        if self._adaptive and wants_more_links(greedy, random, len(self._exchange.topics)):
            random.raise_coverage()
