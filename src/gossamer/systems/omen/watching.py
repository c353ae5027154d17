"""The predecessors that this node watches: messages about them, their backup sets, and their shadow nodes (Algorithm 4)."""

from collections.abc import Container

from gossamer.model.values.ids import NodeId
from gossamer.protocols.contract.actions import Action
from gossamer.protocols.contract.messages import Peer
from gossamer.protocols.membership.interest_exchange import InterestExchange, InterestFetched
from gossamer.systems.omen.circle import Circle
from gossamer.systems.omen.links import OmenLinks
from gossamer.systems.omen.messages import (
    ChurnEvent,
    ChurnKind,
    RingDescriptor,
    ShadowAsk,
    ShadowState,
    Suspicion,
    WatchOk,
    WatchPulse,
    WatchState,
    send,
)
from gossamer.systems.omen.parameters import OmenParameters
from gossamer.systems.omen.repairs import Repairs
from gossamer.systems.omen.watch import BACKUP_TURNS, RENEW_TURNS, BackupSets, Watched

# Chosen: turns for which a node that asked for this node's links as a backup counts in its load.
LOAD_TURNS = 64
# Chosen: questions of other nodes that are answered in a turn, and questions to others that are sent at once.
ANSWERS_MAX, ASKS_MAX = 512, 64
# Chosen: the nodes that count in a load.
LOAD_MAX = 10_000


class Watching:
    """The predecessors of one node, 2L + 2 at most."""

    __slots__ = (
        "_answers",
        "_backups",
        "_circle",
        "_exchange",
        "_links",
        "_node",
        "_parameters",
        "_repairs",
        "_serves",
        "_turn",
        "address",
        "watched",
    )

    def __init__(
        self,
        parameters: OmenParameters,
        node: NodeId,
        circle: Circle,
        links: OmenLinks,
        repairs: Repairs,
        backups: BackupSets,
        exchange: InterestExchange,
    ) -> None:
        self._parameters = parameters
        self._node = node
        self._circle = circle
        self._links = links
        self._repairs = repairs
        self._backups = backups
        self._exchange = exchange
        self._turn = 0
        self._answers = 0
        self.address = b""
        self.watched: dict[NodeId, Watched] = {}
        # The nodes in whose backup sets this node is, and when that was last noticed.
        self._serves: dict[NodeId, int] = {}

    # What predecessors tell.

    def pulse(self, sender: NodeId, message: WatchPulse, me: RingDescriptor, now_us: int, out: list[Action]) -> bool:
        """A predecessor is alive; returns whether it is."""
        peer = Peer(sender, message.address)
        if message.incarnation <= self._circle.failed.get(sender, -1):
            # It is alive and is taken for dead: it must know.
            out.append(send(peer, Suspicion(message.incarnation)))
            return False
        self._circle.hear(me, sender, message.address, message.incarnation)
        watched = self._admit(sender)
        if watched is None:
            out.append(send(peer, WatchOk(message.state)))
            return True
        watched.silent_turns = 0
        watched.address = message.address
        before, watched.incarnation = watched.incarnation, message.incarnation
        if 0 < before < message.incarnation:
            # Join(i + 1) implies Leave(i): the links that its neighbours had to it may be gone (hole 9).
            event = ChurnEvent(sender, before, ChurnKind.LEAVE)
            self._repairs.notice(event, (), watched, now_us, out)
        self._repairs.returned(peer, message.incarnation, now_us, out)
        out.append(send(peer, WatchOk(watched.state)))
        return True

    def _admit(self, node: NodeId) -> Watched | None:
        """The record of a predecessor; None if there is no room because others are nearer."""
        found = self.watched.get(node)
        if found is None:
            if len(self.watched) >= 2 * self._parameters.resilience + 2:
                farthest = max(self.watched, key=self._circle.distance_before)
                if self._circle.distance_before(farthest) <= self._circle.distance_before(node):
                    return None
                del self.watched[farthest]
            found = self.watched[node] = Watched(node, self._repairs.token())
        return found

    def state(self, sender: NodeId, message: WatchState, now_us: int, out: list[Action]) -> None:
        """A predecessor has told its state."""
        watched = self.watched.get(sender)
        if watched is None or message.state <= watched.state or message.incarnation < watched.incarnation:
            return
        watched.update(message)
        if message.version != watched.version:
            if message.count <= len(message.topics):
                watched.set_topics(message.topics, message.version)
            else:
                self._exchange.fetch(Peer(sender, message.address), now_us, out)
        self._prepare(watched, now_us, out)

    def take_interest(self, fetched: InterestFetched, now_us: int, out: list[Action]) -> None:
        """The whole interest of a predecessor was fetched."""
        watched = self.watched.get(fetched.node)
        if watched is not None and fetched.version > watched.version:
            watched.set_topics(fetched.topics, fetched.version)
            self._prepare(watched, now_us, out)

    def end(self, node: NodeId) -> None:
        """This node no longer watches another one."""
        self.watched.pop(node, None)

    def silent(self, heard: Container[NodeId]) -> list[NodeId]:
        """Predecessors that have been silent for too long; called once a turn."""
        found = []
        for node, watched in self.watched.items():
            watched.silent_turns = 0 if node in heard else watched.silent_turns + 1
            if watched.silent_turns > self._parameters.suspect_after:
                found.append(node)
        return found

    def forget(self, node: NodeId) -> None:
        """A node is gone: it is no longer watched, nor a backup."""
        self.watched.pop(node, None)
        for watched in self.watched.values():
            if node in watched.backups:
                del watched.backups[node]
                watched.is_stale = True

    # Backup sets and shadow nodes.

    def turn(self, turn: int, now_us: int, out: list[Action]) -> None:
        """Renew backup sets, and ask the shadow nodes that were asked longest ago."""
        self._turn = turn
        self._answers = 0
        for watched in self.watched.values():
            silent = [node for node in watched.backups if watched.shadow(node).unanswered > BACKUP_TURNS]
            for node in silent:
                del watched.backups[node]
            if silent or turn >= watched.renewed_turn + RENEW_TURNS:
                watched.is_stale = True
            self._prepare(watched, now_us, out)
        wanted = sorted(
            (watched.shadow(node).asked_us, place, node)
            for place, watched in enumerate(self.watched.values())
            for node in watched.nodes()
        )
        records = list(self.watched.values())
        for asked_us, place, node in wanted[: self._parameters.asks]:
            if asked_us < now_us:
                self._ask(records[place], node, now_us, out)

    def _prepare(self, watched: Watched, now_us: int, out: list[Action]) -> None:
        """`selectView`: choose a backup set if it is needed, and ask for links that are not known."""
        if watched.is_stale and watched.topics:
            chosen = self._backups.choose(watched.node, watched.topics)
            watched.backups = {peer.node: None for peer in chosen}
            watched.addresses |= {peer.node: peer.address for peer in chosen}
            watched.is_stale = False
            watched.renewed_turn = self._turn
            watched.forget_others()
        unknown = [node for node in watched.nodes() if node not in watched.shadows]
        for node in unknown[:ASKS_MAX]:
            self._ask(watched, node, now_us, out)
        if watched.lonely and self._circle.first_after(watched.node) == self._node:
            self._repairs.join(watched, now_us, out)

    def _ask(self, watched: Watched, node: NodeId, now_us: int, out: list[Action]) -> None:
        if node != self._node:
            watched.ask(node, self.address, now_us, out)
            return
        held, links = self._links.on_topics(watched.topics)
        watched.take_own(node, held, links, len(self._links.neighbours), now_us)
        watched.shadow(node).asked_us = now_us

    def take_state(self, sender: NodeId, message: ShadowState, now_us: int, out: list[Action]) -> None:
        """A shadow node has told its links."""
        for watched in self.watched.values():
            if watched.token == message.token:
                watched.take(sender, message, now_us)
                self._repairs.watched_told(watched, now_us, out)
                return
        self._repairs.take_state(sender, message, now_us, out)

    # Being a shadow node.

    def answer(self, sender: NodeId, message: ShadowAsk, turn: int, out: list[Action]) -> None:
        """Another node prepares for the departure of a third one, or checks a repair."""
        self._answers += 1
        if self._answers > ANSWERS_MAX:
            return
        if message.is_backup and (len(self._serves) < LOAD_MAX or message.subject in self._serves):
            self._serves[message.subject] = turn
        held, links = self._links.on_topics(message.topics)
        state = ShadowState(message.token, message.part, len(self._links.neighbours), held, links)
        out.append(send(Peer(sender, message.address), state))

    def load(self, turn: int) -> int:
        """The number of backup sets that this node is in."""
        if turn % LOAD_TURNS == 0:
            self._serves = {node: at for node, at in self._serves.items() if at > turn - LOAD_TURNS}
        return len(self._serves)
