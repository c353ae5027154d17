"""SpiderCast: a topic-connected overlay by local coverage (Chockler, Melamed, Tock, Vitenberg, DEBS 2007).

The idea: every node wants each of its topics to be held by K of its neighbours. It asks the peer that covers most of
the topics that are still under-covered (greedy, K_g) or a random peer that covers at least one of them (random, K_r),
and disconnects from redundant neighbours. One link serves all topics that its ends share, so that few links are needed.
With K_g = 3 topic overlays are as good as random 3-regular graphs, which are connected with high probability.

This file has the message handlers (Figure 4) and failure detection; `maintenance.py` has the loop that sends CONNECT
and DISCONNECT (Figure 2), `task.py` the rules of one task (Figures 3 and 5).

Departures from the paper. The first five are parameters with their reasons in `parameters.py`; `paper=true` is without them:
- a DISCONNECT that was refused is not repeated until the neighbour's state changes (`ask_again`);
- a node at exactly L_max that is under-covered may drop a wholly redundant neighbour (`drop_when_stuck`);
- a node at rest sets no maintenance timer; events that can change its next turn, such as every removal, set one (`wakes`);
- one redirect candidate is kept instead of a set (`redirects`);
- disconnected topics are detected and bridged (`mend_us`, decision 013). A bridge is a neighbour in the random task, within
  L_max + Margin: with K_r = 0 and Margin = 0 there is no room for one. It is removed when its ends share no topic any more;
- a heartbeat from a node that is no neighbour is answered with LEAVE, so that links become symmetric again;
- interests are sent in bounded frames: with CONNECT up to a limit, then changes only, and whole on request
  (`interest_exchange.py`). Coverage counts the topics that are known so far.
"""

from collections.abc import Sequence
from typing import ClassVar

from gossamer.model.values.draw import Purpose, draw_base
from gossamer.model.values.ids import NodeId
from gossamer.protocols.contract.actions import Action, Observe, SetTimer
from gossamer.protocols.contract.events import (
    Event,
    MessageReceived,
    PeerDown,
    Started,
    Stopping,
    Subscribe,
    TimerFired,
    Unsubscribe,
)
from gossamer.protocols.contract.facts import Fact, PeerMisbehaved
from gossamer.protocols.contract.messages import Peer, Timer, WireMessage
from gossamer.protocols.contract.parts import InterestView
from gossamer.protocols.membership.interest_exchange import PART_TOPICS, InterestExchange, InterestFetched
from gossamer.protocols.roots import REPEAT, Roots
from gossamer.systems.spidercast.interests import ASKS, NO_CHANGE, HeartbeatFields, NeighbourInterests, may_be_bridge
from gossamer.systems.spidercast.keep_alive import KeepAlive
from gossamer.systems.spidercast.links import Links
from gossamer.systems.spidercast.maintenance import Maintenance
from gossamer.systems.spidercast.messages import (
    MESSAGES,
    Claims,
    ConnectOk,
    ConnectRequest,
    DisconnectOk,
    DisconnectRequest,
    Heartbeat,
    HeartbeatDue,
    LeaveNotice,
    MaintenanceDue,
    MendDue,
    Redirect,
    Task,
)
from gossamer.systems.spidercast.parameters import Departures
from gossamer.systems.spidercast.task import Neighbour, NeighbourTask, Rule

_REDIRECT = (Purpose.SPIDERCAST_REDIRECT_GREEDY, Purpose.SPIDERCAST_REDIRECT_RANDOM)


class SpiderCast:
    """The overlay part. `tasks` gives (rule, coverage) of the greedy and of the random task."""

    __slots__ = (
        "_attempts",
        "_exchange",
        "_interests",
        "_is_quiet",
        "_keep_alive",
        "_links",
        "_maintenance",
        "_mend_us",
        "_node",
        "_reading",
        "_seed",
        "_turn_is_set",
        "_version",
        "heard",
        "neighbours_on",
        "roots",
        "spoken",
        "tasks",
    )

    MESSAGES: ClassVar[tuple[type[WireMessage], ...]] = MESSAGES
    TIMERS: ClassVar[tuple[type[Timer], ...]] = (MaintenanceDue, HeartbeatDue, MendDue)

    def __init__(
        self,
        tasks: tuple[tuple[Rule, int], tuple[Rule, int]],
        margin: int,
        reading: Departures,
        view: InterestView,
        exchange: InterestExchange,
        seed: int,
        node: NodeId,
        *,
        adaptive: bool = False,
        drop_when_stuck: bool = True,
        part_uncovered: bool = False,
        mend_us: int = 0,
        claims_again: bool = True,
    ) -> None:
        self.tasks = tuple(NeighbourTask(rule, coverage, margin, reading, part_uncovered) for rule, coverage in tasks)
        self._reading = reading
        self._seed = seed
        self._node = node
        self._mend_us = mend_us
        self._keep_alive = KeepAlive(reading)
        # See `SilenceDetector` and `SilenceAvoider`.
        self.heard, self.spoken = self._keep_alive.heard, self._keep_alive.spoken
        self.roots = Roots(node, claims_again)
        self._exchange = exchange
        self._version = 0  # the version of the interest that was last sent to neighbours
        self._links = Links(self.tasks, exchange.topics)
        # See `TopicNeighbours`. Bound directly, because disseminations call it for every message.
        self.neighbours_on = self._links.neighbours_on
        self._interests = NeighbourInterests(self.tasks, self._links, self.roots, exchange)
        self._maintenance = Maintenance(
            self.tasks,
            self._links,
            reading,
            view,
            exchange,
            seed,
            node,
            adaptive=adaptive,
            drop_when_stuck=drop_when_stuck,
        )
        self._attempts = self._maintenance.attempts
        # At most one maintenance timer is set, so that none is stale. A quiet node found nothing to do in its last turn, and
        # nothing has changed since: the next turn can be skipped.
        self._turn_is_set = self._is_quiet = False

    def redirect(self, task: Task) -> NodeId | None:
        """The oldest redirect candidate that a task has not tried yet."""
        kept = self._attempts[task].redirects
        return kept[0].node if kept else None

    def handle(self, event: Event, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """See `Part`."""
        match event:
            case MessageReceived():
                self._on_message(event.sender, event.message, now_us, out)
            case TimerFired(timer=MaintenanceDue()):
                self._on_maintenance_due(now_us, out)
            case TimerFired(timer=MendDue()):
                self._on_mend_due(now_us, out)
            case TimerFired():
                self._on_heartbeat_due(now_us, out)
            case PeerDown():
                self._on_peer_down(event, now_us, out)
            case Subscribe() | Unsubscribe():
                self._on_interest(event, now_us, out)
            case Started():
                self._on_started(event, now_us, out)
            case Stopping():
                self._on_stopping(out)
        return self._links.take_facts()

    def learn(self, fact: Fact, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """The whole interest of a neighbour or of a candidate was fetched."""
        if isinstance(fact, InterestFetched):
            self._is_quiet = False
            self._interests.take_in(fact)
            self._wake(now_us, out)
        return self._links.take_facts()

    # Start, stop and changes of interest.

    def _on_started(self, event: Started, now_us: int, out: list[Action]) -> None:
        self._maintenance.address = event.address
        self._version = self._exchange.version
        out.append(SetTimer(self._keep_alive.start(now_us), HeartbeatDue()))
        if self._mend_us:
            out.append(SetTimer(now_us + self._mend_us, MendDue()))
        self._wake(now_us, out)

    def _on_stopping(self, out: list[Action]) -> None:
        # Paper: "an orderly leave involves sending the LEAVE message to all the neighbors" (2.4).
        for kind, task in enumerate(self.tasks):
            if task.neighbours:
                out.append(self._links.to(tuple(task.neighbours), LeaveNotice(kind)))

    def _on_interest(self, event: Subscribe | Unsubscribe, now_us: int, out: list[Action]) -> None:
        if isinstance(event, Subscribe) and event.peers:
            self._attempts[Task.RANDOM].given |= {peer.node: peer for peer in event.peers}
            self._wake(now_us, out)
        since, self._version = self._version, self._exchange.version
        if since == self._version:
            return
        self._is_quiet = False
        added, removed = ((event.topic,), ()) if isinstance(event, Subscribe) else ((), (event.topic,))
        if removed:
            self._links.forget_topic(event.topic)
        changing: tuple[Roots | NeighbourTask, ...] = (self.roots, *self.tasks)
        for state in changing:
            (state.add_topic if added else state.remove_topic)(event.topic)
        for kind, task in enumerate(self.tasks):
            # Paper: a change of interest is propagated "via the heart beat messages" (2.4).
            self._tell(kind, tuple(task.neighbours), now_us, out, (since, added, removed, False))
        self._wake(now_us, out)

    # Maintenance turns (`maintenance.py`).

    def _on_maintenance_due(self, now_us: int, out: list[Action]) -> None:
        self._turn_is_set = False
        if self._is_quiet and not self._attempts[Task.RANDOM].given:
            return
        before, coverage = len(out), self.tasks[Task.RANDOM].coverage
        busy = self._maintenance.turn(now_us, out)
        for kind, task in enumerate(self.tasks):
            # No heartbeat to a neighbour that was just sent a DISCONNECT: it may have removed the link when it arrives.
            untold = tuple(node for node in task.untold() if node != self._maintenance.asked_to_part[kind])
            self._tell(kind, untold, now_us, out)
        waiting = any(task.coverage and task.under_covered for task in self.tasks)
        self._is_quiet = not (busy or waiting or len(out) > before or self.tasks[Task.RANDOM].coverage != coverage)
        if busy or self._reading.wakes == "always":
            self._wake(now_us, out)

    # Messages, Figure 4.

    def _on_message(self, sender: NodeId, message: WireMessage, now_us: int, out: list[Action]) -> None:
        if isinstance(message, Claims):
            if not self.roots.take_claims(self.tasks, sender, message.claims):
                out.append(Observe(PeerMisbehaved(sender, "claims what cannot be")))
            return
        self._is_quiet = False
        kind: int = message.task  # type: ignore[attr-defined]
        if kind not in (Task.GREEDY, Task.RANDOM) or sender == self._node:
            out.append(Observe(PeerMisbehaved(sender, "names no task of SpiderCast")))
            return
        match message:
            case ConnectRequest():
                self._on_connect(sender, message, now_us, out)
            case ConnectOk():
                self._on_connect_ok(sender, message, now_us, out)
            case Redirect():
                self._on_redirect(sender, message, now_us, out)
            case DisconnectRequest():
                self._on_disconnect(sender, message, now_us, out)
            case DisconnectOk() | LeaveNotice():
                if sender in self.tasks[kind].neighbours:
                    self._remove(kind, sender, now_us, out)
            case Heartbeat():
                self._on_heartbeat(sender, message, now_us, out)

    def _on_connect(self, sender: NodeId, message: ConnectRequest, now_us: int, out: list[Action]) -> None:
        task = self.tasks[message.task]
        self._links.note_address(Peer(sender, message.address))
        if sender in task.neighbours or task.has_room:
            told = (task.degree + (sender not in task.neighbours), task.target)
            neighbour = self._interests.new_neighbour(sender, message, told, now_us, out)
            neighbour.is_bridge = may_be_bridge(message, self._exchange.topics)
            self._add(message.task, sender, neighbour, now_us, out)
            answer = ConnectOk(message.task, *told, self._exchange.first(), self._version, len(self._exchange.topics))
            out.append(self._links.to((sender,), answer))
            task.grow_target()
            self._wake(now_us, out)
            return
        key = draw_base(self._seed, self._node, _REDIRECT[message.task], now_us) + sender
        node = task.redirect_candidate(message.interest[:PART_TOPICS], key)
        peer = None if node is None else self._links.peer(node)
        out.append(self._links.to((sender,), Redirect(message.task, peer)))
        self._links.forget_address(sender)

    def _on_connect_ok(self, sender: NodeId, message: ConnectOk, now_us: int, out: list[Action]) -> None:
        task, attempts = self.tasks[message.task], self._attempts[message.task]
        answers_open = attempts.close(sender)
        told, is_bridge = (attempts.told, attempts.is_bridge) if answers_open else ((-1, -1), False)
        # Differs: the paper accepts any CONNECT-OK; we accept it only from a peer that was asked, however late.
        asked = is_bridge or sender in attempts.quarantined or sender in task.neighbours
        if asked and (sender in task.neighbours or task.has_room):
            neighbour = self._interests.new_neighbour(sender, message, told, now_us, out)
            neighbour.is_bridge = is_bridge
            self._add(message.task, sender, neighbour, now_us, out)
            task.grow_target()
            self._wake(now_us, out)
        else:
            out.append(self._links.to((sender,), LeaveNotice(message.task)))

    def _on_redirect(self, sender: NodeId, message: Redirect, now_us: int, out: list[Action]) -> None:
        attempts = self._attempts[message.task]
        # Where a set is kept, a late answer is a candidate too.
        if not attempts.close(sender) and (attempts.kept == 1 or sender not in attempts.quarantined):
            return
        self._links.forget_address(sender)
        # Reading: Figure 4, line 11 adds m to the candidates; the text says the sender. We follow the figure.
        attempts.keep_redirect(message.peer)
        self._wake(now_us, out)

    def _on_disconnect(self, sender: NodeId, message: DisconnectRequest, now_us: int, out: list[Action]) -> None:
        task = self.tasks[message.task]
        if sender not in task.neighbours:
            out.append(self._links.to((sender,), DisconnectOk(message.task)))
            return
        # Paper: "it will disconnect from q if it can remove q without causing its interest to become under-covered, or
        # if it has more than L^max neighbors" (2.3.1); Figure 4, line 23 says L instead of L^max (`agrees_above`).
        under_covered = task.under_covered_without(sender) - (task.under_covered if task.counts_uncovered else 0)
        most = task.degree_max if self._reading.agrees_above == "L_max" else task.target
        if under_covered and task.degree <= most:
            return
        self._remove(message.task, sender, now_us, out)
        out.append(self._links.to((sender,), DisconnectOk(message.task)))
        if not under_covered:
            task.target = task.degree

    def _on_heartbeat(self, sender: NodeId, message: Heartbeat, now_us: int, out: list[Action]) -> None:
        neighbour = self.tasks[message.task].neighbours.get(sender)
        if neighbour is None:
            out.append(self._links.to((sender,), LeaveNotice(message.task)))
            return
        changed = (neighbour.degree, neighbour.target) != (message.degree, message.target)
        neighbour.degree, neighbour.target = message.degree, message.target
        if message.asks:
            self._tell(message.task, (sender,), now_us, out)
        if self._interests.update(sender, message, now_us, out) or changed:
            self._wake(now_us, out)

    # Disconnected topics (`protocols/roots.py`).

    def _on_mend_due(self, now_us: int, out: list[Action]) -> None:
        out.append(SetTimer(now_us + self._mend_us, MendDue()))
        for node in self.tasks[Task.RANDOM].idle_bridges():
            out.append(self._links.to((node,), LeaveNotice(Task.RANDOM)))
            self._remove(Task.RANDOM, node, now_us, out)
        if self.roots.is_moving:
            self.roots.is_moving = False
            return
        for nodes, claims in self.roots.check(self.tasks, repeat=now_us // self._mend_us % REPEAT == 0):
            out.append(self._links.to(nodes, Claims(claims)))
        self._maintenance.ask_for_bridge(self.roots, now_us, out)

    # Failure detection.

    def _on_heartbeat_due(self, now_us: int, out: list[Action]) -> None:
        self._maintenance.late_us = self._keep_alive.begin_turn(now_us)
        out.append(SetTimer(self._keep_alive.due_us, HeartbeatDue()))
        for kind, task in enumerate(self.tasks):
            turn = self._keep_alive.turn(task, now_us)
            # Paper: FAILUREDETECTIONSUSPECT removes the connection (Figure 4, lines 29-30).
            for node in turn.dead:
                self._remove(kind, node, now_us, out)
            self._tell(kind, tuple(turn.told), now_us, out)
            self._tell(kind, tuple(turn.asked), now_us, out, ASKS)
            if task.coverage and task.under_covered:
                self._wake(now_us, out)
        self._keep_alive.end_turn()

    def _on_peer_down(self, event: PeerDown, now_us: int, out: list[Action]) -> None:
        for kind, task in enumerate(self.tasks):
            if event.node in task.neighbours:
                self._remove(kind, event.node, now_us, out)
            if not event.hung_up and self._attempts[kind].close(event.node):
                self._is_quiet = False
                self._links.forget_address(event.node)
                self._wake(now_us, out)

    # Adding and removing neighbours.

    def _add(self, kind: int, node: NodeId, neighbour: Neighbour, now_us: int, out: list[Action]) -> None:
        neighbour.spoken_us = neighbour.told_us = now_us
        known = self.tasks[kind].neighbours.get(node)
        neighbour.is_bridge = neighbour.is_bridge or (known is not None and known.is_bridge)
        self._links.add(kind, node, neighbour, out)
        self.roots.neighbours_changed()

    def _remove(self, kind: int, node: NodeId, now_us: int, out: list[Action]) -> None:
        """REMOVECONNECTION (Figure 4, lines 34-38)."""
        self._links.remove(kind, node, out)
        self.roots.neighbours_changed()
        self._is_quiet = False
        self._wake(now_us, out)

    def _tell(
        self, kind: int, nodes: tuple[NodeId, ...], now_us: int, out: list[Action], change: HeartbeatFields = NO_CHANGE
    ) -> None:
        """Send a heartbeat to these neighbours, if there are any."""
        if not nodes:
            return
        task = self.tasks[kind]
        told = (task.degree, task.target)
        since, added, removed, asks = change
        for node in nodes:
            task.neighbours[node].told, task.neighbours[node].told_us = told, now_us
        out.append(self._links.to(nodes, Heartbeat(kind, *told, self._version, since, added, removed, asks)))

    def _wake(self, now_us: int, out: list[Action]) -> None:
        """Set the maintenance timer, unless it is set."""
        if not self._turn_is_set:
            self._turn_is_set = True
            out.append(SetTimer(now_us + self._reading.period_us, MaintenanceDue()))
