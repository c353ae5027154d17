"""One churn event, and the links that repair it (Algorithm 1)."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import IntEnum

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.messages import Peer
from gossamer.protocols.contract.parts import InterestView
from gossamer.protocols.repair import Labels, Link, connect, labels_inside, labels_of_terminals
from gossamer.systems.omen.messages import ChurnEvent, ChurnKind, ShadowState
from gossamer.systems.omen.parameters import OmenParameters
from gossamer.systems.omen.watch import Subject, Watched

# Chosen: neighbours of nodes that are gone that a repair takes in.
TERMINALS_MAX = 1_000


class EventPhase(IntEnum):
    """Where an event is."""

    STANDBY = 0
    QUEUED = 1
    REPAIRING = 2
    CHECKING = 3


class Repair(Subject):
    """One churn event and all that its repair needs."""

    __slots__ = (
        "event",
        "fresh_us",
        "gone",
        "has_returned",
        "is_certain",
        "notified",
        "pending",
        "phase",
        "rounds",
        "turns",
    )

    def __init__(self, event: ChurnEvent, token: int, topics: frozenset[TopicId]) -> None:
        super().__init__(event.node, token, topics)
        self.event = event
        self.phase = EventPhase.STANDBY
        # Turns in this phase.
        self.turns = 0
        self.rounds = 0
        # The links that are being made, and the end that was asked to make each.
        self.pending: dict[Link, NodeId] = {}
        self.notified: dict[NodeId, Peer] = {}
        # Shadow nodes that are gone or cannot be linked.
        self.gone: set[NodeId] = set()
        # The node that left is back, with a higher incarnation.
        self.has_returned = False
        # The node said itself that it leaves.
        self.is_certain = False
        # Links must have been told after this time to count in a check.
        self.fresh_us = -1

    @classmethod
    def after(cls, event: ChurnEvent, token: int, watched: Watched) -> "Repair":
        """The repair of an event of a node that was watched."""
        repair = cls(event, token, watched.topics)
        repair.terminals = dict(watched.terminals)
        repair.backups = dict(watched.backups)
        repair.shadows = dict(watched.shadows)
        repair.addresses = dict(watched.addresses)
        return repair

    def enter(self, phase: EventPhase) -> None:
        """The event moves on."""
        self.phase = phase
        self.turns = 0

    def await_links(self, links: Sequence[Link], coordinator: NodeId) -> None:
        """These links are to be made, each by one of its ends. Ends become shadow nodes, so that the check asks them, too."""
        self.rounds += 1
        self.enter(EventPhase.REPAIRING)
        ends = Counter(node for link in links for node in link)
        self.backups |= dict.fromkeys(node for node in ends if node not in self.terminals)
        for link in links:
            self.pending[link] = max(link, key=lambda node: (node == coordinator, ends[node], -node))

    def add_terminals(self, peers: Iterable[Peer]) -> None:
        """Further neighbours of the node."""
        for peer in peers:
            if len(self.terminals) < TERMINALS_MAX:
                self.terminals.setdefault(peer.node)
                self.addresses.setdefault(peer.node, peer.address)

    def take(self, node: NodeId, state: ShadowState, now_us: int) -> None:
        """A shadow node has answered.

        What a neighbour is not linked to any more must be joined, too: it may have restarted while this event was
        repaired, and whoever repairs that does not know of the link between these two events.
        """
        shadow = self.shadows.get(node)
        before = {} if shadow is None else shadow.links
        super().take(node, state, now_us)
        if shadow is not None and node in self.terminals:
            lost = [other for other in before if other not in shadow.links and other != self.event.node]
            self.add_terminals(map(self.peer, lost))

    @property
    def is_about_absence(self) -> bool:
        """Whether the node itself takes no part in the repair."""
        return self.event.kind is ChurnKind.CHANGE or (self.event.kind is ChurnKind.LEAVE and not self.has_returned)

    def live(self, nodes: Iterable[NodeId]) -> list[NodeId]:
        """Those of these nodes that can be linked."""
        return [
            node for node in nodes if node not in self.gone and not (node == self.event.node and self.is_about_absence)
        ]


def new_links(
    repair: Repair, parameters: OmenParameters, view: InterestView, failed: Collection[NodeId], now_us: int
) -> list[Link]:
    """The links to add, in order (`repairTcoOnChurn`).

    Differs: neighbours of shadow nodes may get links, too (`linked`), but for those that are taken for dead (`failed`).
    """
    # A backup that has not answered for a turn may be gone.
    since_us = now_us - parameters.period_us
    silent = {node for node, each in repair.shadows.items() if each.unanswered and each.asked_us < since_us}
    live = [node for node in repair.live(repair.nodes()) if node in repair.terminals or node not in silent]
    held = {node: _held(repair, node, view) for node in live}
    degrees: dict[NodeId, int] = {}
    labels: Labels
    if repair.event.kind is ChurnKind.JOIN:
        labels = _labels_of_newcomer(repair, held)
    else:
        known = set(live) if parameters.counted == "inside" else None
        links = {node: _live_links(repair, node, known) for node in live}
        if known is None:
            takes_seen = parameters.linked == "seen"
            every = labels_of_terminals(links, held, repair.live(repair.terminals), takes_seen)
            shut = silent.union(failed).difference(held)
            labels = {
                topic: {node: label for node, label in nodes.items() if node not in shut}
                for topic, nodes in every.items()
            }
            degrees = _seen_degrees(repair, links) if takes_seen else {}
        else:
            inside = [(u, v) for u, others in links.items() for v in others]
            labels = labels_inside(held, inside, sorted(repair.topics))
    parted = {topic: nodes for topic, nodes in labels.items() if len(set(nodes.values())) > 1}
    degrees |= {node: _degree(repair, node) for node in live}
    return connect(parted, degrees, parameters.rho) if parted else []


def _seen_degrees(repair: Repair, links: Mapping[NodeId, Collection[NodeId]]) -> dict[NodeId, int]:
    """The degrees of neighbours of shadow nodes. Those who tell them may know different ones."""
    degrees: dict[NodeId, int] = {}
    for node, others in links.items():
        for other in others:
            degrees[other] = max(degrees.get(other, 0), repair.shadows[node].degrees.get(other, 0))
    return degrees


def _labels_of_newcomer(repair: Repair, held: dict[NodeId, frozenset[TopicId]]) -> Labels:
    """The backups count as connected in every topic, so that only the newcomer is linked (section 3.2).

    Backups that have a link on the topic come first: one without may be a newcomer itself.
    """
    node = repair.event.node
    labels: Labels = {}
    for topic in sorted(repair.topics):
        others = [other for other in held if other != node and topic in held[other]]
        linked = [other for other in others if any(topic in each for each in _live_links(repair, other).values())]
        if others:
            labels[topic] = {node: node, **dict.fromkeys(linked or others, (linked or others)[0])}
    return labels


def _live_links(
    repair: Repair, node: NodeId, among: Collection[NodeId] | None = None
) -> dict[NodeId, frozenset[TopicId]]:
    shadow = repair.shadows.get(node)
    if shadow is None:
        return {}
    return {other: shadow.links[other] for other in repair.live(shadow.links) if among is None or other in among}


def _degree(repair: Repair, node: NodeId) -> int:
    """The links of a node without those to nodes that are gone."""
    shadow = repair.shadows.get(node)
    return 0 if shadow is None else shadow.degree - len(shadow.links) + len(repair.live(shadow.links))


def _held(repair: Repair, node: NodeId, view: InterestView) -> frozenset[TopicId]:
    """The topics of the repair that a node holds, as far as it is known."""
    if node == repair.event.node and repair.event.kind is ChurnKind.JOIN:
        return repair.topics
    shadow = repair.shadows.get(node)
    if shadow is not None and shadow.at_us >= 0:
        return shadow.held & repair.topics
    named = (each.links.get(node, frozenset()) for each in repair.shadows.values())
    return repair.topics & view.topics_of(node).union(*named)
