"""The churn events that a node knows, and how it repairs the overlay after those that it coordinates (Algorithms 1 and 5).

An event is (node, incarnation, kind). At each node it is unknown; standing by, because another node coordinates it; queued;
repairing, while links await acknowledgement; checking; or done, which is remembered for a while.

Differs: after its links are up, a coordinator asks the shadow nodes for their links once more, and repairs again if a
topic is still disconnected. What was prefetched may be out of date: two coordinators at the same time
may each count on links that the other's node had.
Differs: a neighbour that is gone too is replaced by its own neighbours (`_lose`), so that topics stay connected when
neighbours fail together. An event waits while this node repairs another one next to it.
Differs: an event whose backup set is not ready is repaired with what is known after `deadline_turns`.
"""

from collections.abc import Collection, Sequence

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.actions import Action
from gossamer.protocols.contract.messages import Peer
from gossamer.protocols.contract.parts import InterestView
from gossamer.protocols.repair import Link
from gossamer.systems.omen.circle import Circle
from gossamer.systems.omen.links import ANSWER_TURNS, LinkAsks, OmenLinks
from gossamer.systems.omen.messages import (
    NODES_MAX,
    ChurnEvent,
    ChurnKind,
    ChurnNotice,
    DoneNotice,
    LinkCommand,
    LinkDone,
    ShadowState,
    Suspicion,
    send,
)
from gossamer.systems.omen.parameters import OmenParameters
from gossamer.systems.omen.repair import EventPhase, Repair, new_links
from gossamer.systems.omen.watch import Watched

# Chosen: events that a node works on, finished ones that it remembers, and shadow nodes that it asks at once.
OPEN_MAX = DONE_MAX = ASKS_MAX = 64
# Chosen: turns after which a coordinator tries again to link a node that still has topics without a neighbour.
AGAIN_TURNS = 3
# Chosen: how often a coordinator repairs again after a check.
ROUNDS_MAX = 8


class Repairs:
    """The events of one node."""

    __slots__ = (
        "_asks",
        "_circle",
        "_done",
        "_links",
        "_node",
        "_parameters",
        "_tokens",
        "_view",
        "address",
        "open",
    )

    def __init__(
        self,
        parameters: OmenParameters,
        node: NodeId,
        circle: Circle,
        links: OmenLinks,
        asks: LinkAsks,
        view: InterestView,
    ) -> None:
        self._parameters = parameters
        self._node = node
        self._circle = circle
        self._links = links
        self._asks = asks
        self._view = view
        self._tokens = 0
        self.address = b""
        self.open: dict[ChurnEvent, Repair] = {}
        self._done: dict[ChurnEvent, Repair] = {}

    def token(self) -> int:
        """A new name for questions to shadow nodes."""
        self._tokens += 1
        return self._tokens

    # Events begin.

    def notice(
        self,
        event: ChurnEvent,
        terminals: Sequence[Peer],
        watched: Watched | None,
        now_us: int,
        out: list[Action],
        is_handed_over: bool = False,
        is_certain: bool = False,
    ) -> bool | None:
        """A node left or crashed (`handleChurnEvent`): returns whether the event is done; None if it is not taken.

        `is_certain`: the node has said so itself.
        """
        repair = self.open.get(event)
        if repair is None:
            repair = self._done.get(event)
            if repair is not None:
                if all(peer.node in repair.terminals for peer in terminals):
                    return True
                # A neighbour that nobody knew of: the repair did not join it.
                del self._done[event]
                repair.fresh_us = now_us
            elif watched is None or not watched.state or len(self.open) >= OPEN_MAX:
                # The node has not told this one its state yet (hole 7), but has told others.
                if is_handed_over or not self._is_mine(event.node):
                    return None
                out += [send(peer, ChurnNotice(event, tuple(terminals), True)) for peer in self._circle.successors()]
                return False
            else:
                repair = Repair.after(event, self.token(), watched)
            self.open[event] = repair
            repair.enter(EventPhase.STANDBY)
        repair.is_certain = repair.is_certain or is_certain
        repair.add_terminals(peer for peer in terminals if peer.node != event.node)
        for node in [*repair.terminals, *repair.backups]:
            if self._circle.is_failed(node):
                self._lose(repair, node)
        if repair.phase is EventPhase.STANDBY:
            if self._is_mine(event.node) or is_handed_over:
                self._queue(repair, now_us, out)
            elif terminals and not is_certain:
                # A neighbour reported to this node: it may not know the first successor.
                first = self._circle.first_after(event.node)
                out.append(send(self._circle.peer(first), ChurnNotice(event, tuple(terminals))))
        return False

    def join(self, watched: Watched, now_us: int, out: list[Action]) -> None:
        """A predecessor has topics that none of its neighbours holds: it has joined, or has taken up topics."""
        event = ChurnEvent(watched.node, watched.state, ChurnKind.JOIN)
        is_known = any(each.node == event.node and each.kind is ChurnKind.JOIN for each in self.open)
        if is_known or event in self._done or len(self.open) >= OPEN_MAX:
            return
        repair = Repair.after(event, self.token(), watched)
        repair.terminals = {watched.node: None}
        repair.addresses[watched.node] = watched.address
        repair.topics = frozenset(watched.lonely) & watched.topics
        self.open[event] = repair
        repair.enter(EventPhase.QUEUED)
        self._process(repair, now_us, out)

    def change(
        self, topic: TopicId, version: int, neighbours: Collection[Peer], now_us: int, out: list[Action]
    ) -> None:
        """This node gives up a topic: it joins its neighbours on the topic, as if it had left."""
        if len(neighbours) < 2 or len(self.open) >= OPEN_MAX:
            return
        repair = Repair(ChurnEvent(self._node, version, ChurnKind.CHANGE), self.token(), frozenset((topic,)))
        repair.add_terminals(neighbours)
        self.open[repair.event] = repair
        self._check(repair, now_us, out)

    def _is_mine(self, node: NodeId) -> bool:
        return self._circle.first_after(node) == self._node

    def _queue(self, repair: Repair, now_us: int, out: list[Action]) -> None:
        """This node coordinates the event: other watchers stand by, and the node may object."""
        repair.enter(EventPhase.QUEUED)
        event = repair.event
        for peer in self._circle.successors()[: self._parameters.resilience]:
            if peer.node != event.node:
                repair.notified[peer.node] = peer
                out.append(send(peer, ChurnNotice(event)))
        if not (repair.has_returned or repair.is_certain):
            out.append(send(repair.peer(event.node), Suspicion(event.number)))
        self._process(repair, now_us, out)

    # What happens to open events.

    def ring_changed(self, now_us: int, out: list[Action]) -> None:
        """Events whose first live successor is this node now are queued (failover)."""
        for repair in list(self.open.values()):
            if repair.phase is EventPhase.STANDBY and self._is_mine(repair.event.node):
                self._queue(repair, now_us, out)

    def returned(self, peer: Peer, incarnation: int, now_us: int, out: list[Action]) -> None:
        """A node that was taken for dead is alive, or has started anew: it takes part in the repair (holes 8 and 9)."""
        for event, repair in list(self.open.items()):
            if event.node == peer.node and event.kind is ChurnKind.LEAVE and event.number < incarnation:
                repair.has_returned = True
                repair.gone.discard(peer.node)
                repair.add_terminals((peer,))
                if repair.phase in (EventPhase.QUEUED, EventPhase.CHECKING):
                    self._check(repair, now_us, out)

    def node_failed(self, node: NodeId, now_us: int, out: list[Action]) -> None:
        """A node cannot be reached: it takes no part in repairs."""
        for repair in list(self.open.values()):
            if node in repair.gone or (node not in repair.terminals and node not in repair.backups):
                continue
            self._lose(repair, node)
            if any(node in link for link in repair.pending):
                repair.pending = {link: end for link, end in repair.pending.items() if node not in link}
                if not repair.pending:
                    self._check(repair, now_us, out)
            elif repair.phase is EventPhase.CHECKING:
                self._ask_shadows(repair, now_us, out)
                self._process(repair, now_us, out)

    def _lose(self, repair: Repair, node: NodeId) -> None:
        """A shadow node is gone: its own neighbours stand for it (hole 2)."""
        if node in repair.gone:
            return
        repair.gone.add(node)
        shadow = repair.shadows.get(node)
        if node in repair.terminals and shadow is not None:
            repair.add_terminals(repair.peer(other) for other in shadow.links if other != repair.event.node)

    def take_state(self, sender: NodeId, state: ShadowState, now_us: int, out: list[Action]) -> None:
        """A shadow node has told its links."""
        for repair in [each for each in self.open.values() if each.token == state.token]:
            repair.take(sender, state, now_us)
            self._process(repair, now_us, out)

    def watched_told(self, watched: Watched, now_us: int, out: list[Action]) -> None:
        """More is known of the shadow nodes of a predecessor, which may be waiting for its first links."""
        for repair in list(self.open.values()):
            if (
                repair.event.kind is ChurnKind.JOIN
                and repair.node == watched.node
                and repair.phase is EventPhase.QUEUED
            ):
                repair.backups = dict(watched.backups)
                repair.addresses |= watched.addresses
                repair.shadows = dict(watched.shadows)
                self._process(repair, now_us, out)

    def links_done(self, sender: NodeId, done: LinkDone, now_us: int, out: list[Action]) -> None:
        """An end of new links has acknowledged them, or could not reach the other ends (hole 5)."""
        repair = self.open.get(done.event)
        if repair is None:
            return
        is_awaited = bool(repair.pending)
        for node in (*done.up, *done.down):
            link = (min(sender, node), max(sender, node))
            if repair.pending.get(link) == sender:
                del repair.pending[link]
                if node in done.down:
                    self._lose(repair, node)
        if is_awaited and not repair.pending:
            self._check(repair, now_us, out)

    def done(self, event: ChurnEvent) -> None:
        """Another node has finished the event (`gcChurnEvent`)."""
        repair = self.open.get(event)
        if repair is not None and repair.phase in (EventPhase.STANDBY, EventPhase.QUEUED):
            self._close(repair)

    def turn(self, now_us: int, out: list[Action]) -> None:
        """A turn has passed: timers of events."""
        for event, repair in list(self._done.items()):
            repair.turns += 1
            if event.kind is ChurnKind.JOIN and repair.turns > AGAIN_TURNS:
                del self._done[event]
        for repair in list(self.open.values()):
            if self.open.get(repair.event) is not repair:
                continue
            repair.turns += 1
            match repair.phase:
                case EventPhase.STANDBY:
                    # The later successors wait longer, so that they do not all repair.
                    if repair.turns > self._parameters.standby_turns * self._rank(repair.event.node):
                        self._queue(repair, now_us, out)
                case EventPhase.QUEUED:
                    self._process(repair, now_us, out)
                case EventPhase.REPAIRING:
                    self._command_again(repair, now_us, out)
                case EventPhase.CHECKING:
                    self._ask_again(repair, now_us, out)

    def _rank(self, node: NodeId) -> int:
        """How many known nodes follow `node` before this one, L at most, and one more."""
        between = self._circle.distance_before(node)
        nearer = sum(self._circle.distance_before(other) < between for other in self._circle.view.nodes())
        return 1 + min(nearer, self._parameters.resilience)

    # A repair.

    def _process(self, repair: Repair, now_us: int, out: list[Action]) -> None:
        """`processExeQ`: repair an event that is ready, or past its deadline."""
        if repair.phase is EventPhase.QUEUED:
            if self._is_next_to_another(repair):
                return
            if self._is_ready(repair) or repair.turns >= self._parameters.deadline_turns:
                self._repair(repair, now_us, out)
        elif repair.phase is EventPhase.CHECKING and self._is_fresh(repair):
            self._repair(repair, now_us, out)

    def _is_next_to_another(self, repair: Repair) -> bool:
        """Whether this node repairs an event of a neighbour of the node; one after the other adds fewer links."""
        if repair.turns >= self._parameters.deadline_turns:
            return False
        for other in self.open.values():
            if other is not repair and other.phase > EventPhase.QUEUED and other.event.kind is not ChurnKind.JOIN:
                if repair.event.node in other.terminals or other.event.node in repair.terminals:
                    return True
        return False

    def _is_ready(self, repair: Repair) -> bool:
        nodes = repair.backups if repair.event.kind is ChurnKind.JOIN else repair.nodes()
        return all(node in repair.shadows and repair.shadows[node].at_us >= 0 for node in repair.live(nodes))

    def _is_fresh(self, repair: Repair) -> bool:
        return all(
            node in repair.shadows and repair.shadows[node].at_us >= repair.fresh_us
            for node in repair.live(repair.nodes())
        )

    def _repair(self, repair: Repair, now_us: int, out: list[Action]) -> None:
        """`repairTcoOnChurn`: compute links and have them made."""
        links: list[Link] = []
        if repair.rounds < ROUNDS_MAX:
            links = new_links(repair, self._parameters, self._view, self._circle.failed, now_us)
        if not links:
            if repair.phase is EventPhase.CHECKING or repair.event.kind is ChurnKind.JOIN:
                self._finish(repair, out)
            else:
                self._check(repair, now_us, out)
            return
        repair.await_links(links, self._node)
        self._command(repair, now_us, out)

    def _command(self, repair: Repair, now_us: int, out: list[Action]) -> None:
        """Ask one end of each new link to make it (hole 5: until it says that it is up)."""
        by_end: dict[NodeId, list[Peer]] = {}
        for (u, v), end in repair.pending.items():
            by_end.setdefault(end, []).append(repair.peer(v if end == u else u))
        for end, peers in by_end.items():
            if end != self._node:
                out.append(send(repair.peer(end), LinkCommand(repair.event, tuple(peers[:NODES_MAX]), self.address)))
                continue
            order = self._asks.order(repair.event, Peer(end), peers, self._links.neighbours, out)
            if order is not None:
                done = LinkDone(order.event, tuple(order.up), tuple(order.down))
                self.links_done(end, done, now_us, out)

    def _command_again(self, repair: Repair, now_us: int, out: list[Action]) -> None:
        # An end may itself wait for the other end.
        if repair.turns <= 2 * ANSWER_TURNS:
            self._command(repair, now_us, out)
            return
        # The check shows which ends are gone.
        repair.pending = {}
        self._check(repair, now_us, out)

    # The check after a repair.

    def _check(self, repair: Repair, now_us: int, out: list[Action]) -> None:
        """Ask the shadow nodes for their links once more."""
        if repair.event.kind is ChurnKind.JOIN:
            if repair.gone and repair.rounds < ROUNDS_MAX:
                self._repair(repair, now_us, out)
            else:
                self._finish(repair, out)
            return
        repair.enter(EventPhase.CHECKING)
        repair.fresh_us = now_us
        self._ask_shadows(repair, now_us, out)
        self._process(repair, now_us, out)

    def _ask_shadows(self, repair: Repair, now_us: int, out: list[Action]) -> None:
        asked = 0
        for node in repair.live(repair.nodes()):
            shadow = repair.shadow(node)
            if node == self._node:
                held, links = self._links.on_topics(repair.topics)
                repair.take_own(node, held, links, len(self._links.neighbours), now_us)
            elif shadow.at_us < repair.fresh_us and shadow.asked_us < now_us and asked < ASKS_MAX:
                asked += 1
                repair.ask(node, self.address, now_us, out)

    def _ask_again(self, repair: Repair, now_us: int, out: list[Action]) -> None:
        for node in repair.live(repair.nodes()):
            if repair.shadow(node).unanswered > ANSWER_TURNS:
                self._lose(repair, node)
        self._ask_shadows(repair, now_us, out)
        self._process(repair, now_us, out)

    def _finish(self, repair: Repair, out: list[Action]) -> None:
        out += [send(peer, DoneNotice(repair.event)) for peer in repair.notified.values()]
        self._close(repair)

    def _close(self, repair: Repair) -> None:
        del self.open[repair.event]
        repair.turns = 0
        self._done[repair.event] = repair
        if len(self._done) > DONE_MAX:
            del self._done[next(iter(self._done))]
