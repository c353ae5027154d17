"""The watch over predecessors: what this node knows of each, its backup set, and the links of its shadow nodes.

Algorithm 2's local view. A predecessor tells its neighbours itself; its backup set is chosen from the nodes that this
node knows; and its shadow nodes, neighbours and backups, are asked for their links in turn. So all is at hand when the
predecessor goes.
"""

from collections.abc import Collection, Iterable, Iterator
from itertools import chain

from gossamer.model.values.draw import Purpose, draw_base
from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.actions import Action
from gossamer.protocols.contract.messages import Peer
from gossamer.protocols.contract.parts import InterestView
from gossamer.protocols.membership.interest_exchange import PART_TOPICS
from gossamer.systems.omen.backups import by_primal_dual
from gossamer.systems.omen.circle import Circle
from gossamer.systems.omen.messages import ShadowAsk, ShadowLink, ShadowState, WatchState, send
from gossamer.systems.omen.parameters import OmenParameters

# Chosen: turns after which a backup set is chosen anew, so that it takes in new holders and shares the load.
RENEW_TURNS = 60
# Chosen: turns after which a backup that does not answer is replaced.
BACKUP_TURNS = 8


class Shadow:
    """The links of a shadow node on the topics of one subject."""

    __slots__ = ("asked_us", "at_us", "degree", "degrees", "held", "links", "parts", "unanswered")

    def __init__(self) -> None:
        self.degree = 0
        self.held: frozenset[TopicId] = frozenset()
        self.links: dict[NodeId, frozenset[TopicId]] = {}
        # The degrees of those neighbours.
        self.degrees: dict[NodeId, int] = {}
        # The last state of each part of a large interest.
        self.parts: dict[int, ShadowState] = {}
        # When the oldest part arrived; -1 while parts are missing.
        self.at_us = -1
        self.asked_us = -1
        # Requests since the last answer.
        self.unanswered = 0


class Subject:
    """A node that a repair is about or will be about: its topics, neighbours, backups and their links."""

    __slots__ = ("addresses", "backups", "node", "shadows", "terminals", "token", "topics")

    def __init__(self, node: NodeId, token: int, topics: frozenset[TopicId] = frozenset()) -> None:
        self.node = node
        # Names the questions to its shadow nodes.
        self.token = token
        self.topics = topics
        self.terminals: dict[NodeId, None] = {}
        self.backups: dict[NodeId, None] = {}
        self.shadows: dict[NodeId, Shadow] = {}
        self.addresses: dict[NodeId, bytes] = {}

    def nodes(self) -> Iterator[NodeId]:
        """The shadow set."""
        return iter(dict.fromkeys(chain(self.terminals, self.backups)))

    def peer(self, node: NodeId) -> Peer:
        """A shadow node with its address."""
        return Peer(node, self.addresses.get(node, b""))

    def shadow(self, node: NodeId) -> Shadow:
        """What is known of a shadow node."""
        found = self.shadows.get(node)
        if found is None:
            found = self.shadows[node] = Shadow()
        return found

    def ask(self, node: NodeId, address: bytes, now_us: int, out: list[Action]) -> None:
        """Ask a shadow node for its links, in parts that fit a frame. `address` is that of this node."""
        shadow = self.shadow(node)
        shadow.asked_us = now_us
        shadow.unanswered += 1
        shadow.parts = {}
        topics = sorted(self.topics)
        for part, first in enumerate(range(0, len(topics), PART_TOPICS)):
            some = tuple(topics[first : first + PART_TOPICS])
            out.append(
                send(self.peer(node), ShadowAsk(self.node, self.token, part, some, node in self.backups, address))
            )

    def take(self, node: NodeId, state: ShadowState, now_us: int) -> None:
        """A shadow node has answered."""
        parts = -(-len(self.topics) // PART_TOPICS)
        if node not in self.shadows or state.part >= parts:
            return
        shadow = self.shadows[node]
        shadow.unanswered = 0
        shadow.parts[state.part] = state
        if len(shadow.parts) < parts:
            return
        shadow.at_us = now_us
        shadow.degree = state.degree
        shadow.held = self.topics.intersection(chain.from_iterable(each.held for each in shadow.parts.values()))
        shadow.links, shadow.degrees = {}, {}
        for each in shadow.parts.values():
            for link in each.links:
                common = self.topics.intersection(link.topics)
                shadow.links[link.node] = shadow.links.get(link.node, frozenset()) | common
                shadow.degrees[link.node] = link.degree
                self.addresses.setdefault(link.node, link.address)
        # Parts of another time must not mix with these.
        shadow.parts = {}

    def take_own(
        self, node: NodeId, held: Iterable[TopicId], links: Collection[ShadowLink], degree: int, now_us: int
    ) -> None:
        """This node is a shadow node itself."""
        shadow = self.shadow(node)
        shadow.at_us, shadow.degree, shadow.unanswered = now_us, degree, 0
        shadow.held = frozenset(held)
        shadow.links = {link.node: frozenset(link.topics) for link in links}
        shadow.degrees = {link.node: link.degree for link in links}
        for link in links:
            self.addresses.setdefault(link.node, link.address)

    def forget_others(self) -> None:
        """Drop what is known of nodes that are no shadow nodes any more."""
        wanted = {*self.terminals, *self.backups}
        self.shadows = {node: shadow for node, shadow in self.shadows.items() if node in wanted}
        kept = wanted.union(*(shadow.links for shadow in self.shadows.values()))
        self.addresses = {node: address for node, address in self.addresses.items() if node in kept}


class Watched(Subject):
    """A predecessor."""

    __slots__ = ("address", "incarnation", "is_stale", "lonely", "renewed_turn", "silent_turns", "state", "version")

    def __init__(self, node: NodeId, token: int) -> None:
        super().__init__(node, token)
        self.address = b""
        self.incarnation = 0
        self.state = 0
        # The version of its interest.
        self.version = -1
        self.lonely: tuple[TopicId, ...] = ()
        self.silent_turns = 0
        # Whether its backup set must be chosen anew.
        self.is_stale = True
        self.renewed_turn = 0

    @property
    def is_ready(self) -> bool:
        """The ready flag R(v') of Algorithm 2: the links of all neighbours and backups are known."""
        return not self.is_stale and all(
            node in self.shadows and self.shadows[node].at_us >= 0 for node in self.nodes()
        )

    def update(self, message: WatchState) -> None:
        """The predecessor has told its state; its topics are set apart, because a large interest is fetched."""
        self.state = message.state
        self.address = message.address
        self.lonely = message.lonely
        self.terminals = {peer.node: None for peer in message.neighbours}
        self.addresses |= {peer.node: peer.address for peer in message.neighbours}
        self.forget_others()

    def set_topics(self, topics: Iterable[TopicId], version: int) -> None:
        """The interest of the predecessor is known."""
        self.version = version
        changed = frozenset(topics)
        if changed != self.topics:
            self.topics = changed
            self.shadows = {}
            self.is_stale = True


class BackupSets:
    """Chooses backup sets (section 4.2) from the nodes that an interest view knows."""

    __slots__ = ("_circle", "_parameters", "_seed", "_view")

    def __init__(self, parameters: OmenParameters, seed: int, view: InterestView, circle: Circle) -> None:
        self._parameters = parameters
        self._seed = seed
        self._view = view
        self._circle = circle

    def choose(self, node: NodeId, topics: frozenset[TopicId]) -> list[Peer]:
        """A backup set for a node: `coverage` disjoint covers of these topics, of nodes that are not known to be dead.

        All watchers of a node that know the same nodes and loads choose the same set.
        """
        found: dict[NodeId, Peer] = {}
        shut = {node, *self._circle.failed}

        def cover(topic: TopicId, chosen: Iterable[NodeId], step: int) -> NodeId | None:
            key = draw_base(self._seed, node, Purpose.BACKUP_CHOICE, step)
            peer = self._view.random_cover((topic,), shut.union(chosen), key)
            if peer is None:
                return None
            found[peer.node] = peer
            return peer.node

        coverage, choices = self._parameters.coverage, self._parameters.choices
        if self._parameters.backups == "greedy":
            return self._by_greed(node, topics, shut, coverage)
        loads, topics_of = self._circle.loads, self._view.topics_of
        chosen = by_primal_dual(node, sorted(topics), cover, topics_of, loads, coverage, self._seed, 0, choices)
        return [found[each] for each in chosen]

    def _by_greed(self, node: NodeId, topics: frozenset[TopicId], shut: set[NodeId], coverage: int) -> list[Peer]:
        chosen: dict[NodeId, Peer] = {}
        key = draw_base(self._seed, node, Purpose.BACKUP_CHOICE, 0)
        for _ in range(coverage):
            left = set(topics)
            while left:
                peer = self._view.best_cover(sorted(left), shut.union(chosen), key)
                if peer is None:
                    break
                chosen[peer.node] = peer
                left -= self._view.topics_of(peer.node)
        return list(chosen.values())
