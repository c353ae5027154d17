"""Decisions of a driver rather than of a protocol: first contacts, and which node introduces a newcomer.

Kernels and machines must start equally, so every driver uses these functions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gossamer.kernels.cyclon import draw_contacts
from gossamer.model.arrays.churn import ABSENT, CRASH, JOIN, Churn
from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.overlay import Overlay
from gossamer.model.values.draw import Purpose, below, draw
from gossamer.model.values.progress import silent
from gossamer.protocols.contract.events import Started, Subscribe
from gossamer.protocols.contract.messages import Peer
from gossamer.protocols.contract.system import System, load


def together(seed: int, node: int, node_count: int, contact_count: int) -> Started:
    """The first event of a node when all nodes start at the same time: it gets random contacts.

    The nodes are 0 to node_count - 1. Where some of them are absent, use `together_among`.
    """
    contacts = np.zeros(contact_count, np.uint32)
    found = draw_contacts(np.uint64(seed), node, node_count, contacts)
    return Started(tuple(Peer(int(contact)) for contact in contacts[:found]), joining=False)


def together_among(seed: int, place: int, nodes: Sequence[int], contact_count: int) -> Started:
    """The same for the node at `place` in `nodes`, the nodes that start; its contacts are among them."""
    event = together(seed, place, len(nodes), contact_count)
    return Started(tuple(Peer(nodes[contact.node]) for contact in event.contacts), joining=False)


def planned_start(system: System, parameters: Any, seed: int, interest: Interest) -> Overlay | None:
    """The links with which the nodes of `interest` start together; None where nodes start with contacts only.

    Nodes that are absent must hold no topic in `interest`, so that the links do not lead through them.
    """
    if system.planner is None or system.is_central:
        return None
    overlay: Overlay | None = load(system.planner)(parameters, seed, interest, silent)
    return overlay


def with_links(planned: Overlay, node: int) -> Started:
    """The first event of a node that starts with planned links."""
    return Started(tuple(map(Peer, planned.neighbours_of(node).tolist())), joining=False)


def introducer(seed: int, node: int, now_us: int, present: Sequence[int] | NDArray[np.integer]) -> int | None:
    """The node that introduces a newcomer: a random one of the nodes (by id) that were present before these joins."""
    if not len(present):
        return None
    return int(present[below(draw(seed, node, Purpose.INTRODUCER, now_us), len(present))])


def newcomer(seed: int, node: int, now_us: int, present: Sequence[int]) -> Started:
    """The first event of a node that joins later."""
    contact = introducer(seed, node, now_us, present)
    return Started((Peer(contact),) if contact is not None else ())


class FirstPeers(Protocol):
    """Chooses the peers that a node knows in a topic at first, for systems that are given some (`System.first_peers`).

    Made from (parameters, seed, oracle). Machines and kernels must start equally, so every driver uses it.
    """

    def start_together(self, interest: Interest) -> None:
        """Choose the first peers of all nodes that start at the same time."""
        ...

    def together(self, node: int, topic: int, role: int) -> Subscribe:
        """The event of a node that starts with all others."""
        ...

    def joining(self, node: int, topic: int, role: int, now_us: int) -> Subscribe:
        """The event of a node that joins the topic later."""
        ...


class GivenLinks:
    """First peers from an overlay: a node knows its neighbours in each topic, as a live node knows those of its plan."""

    def __init__(self, overlay: Overlay, interest: Interest) -> None:
        self._overlay = overlay
        self._topics = [frozenset(interest.topics_of(node).tolist()) for node in range(interest.node_count)]

    def start_together(self, interest: Interest) -> None:
        """The overlay is given already."""

    def together(self, node: int, topic: int, role: int) -> Subscribe:
        """The event of a node that starts with all others."""
        neighbours = self._overlay.neighbours_of(node).tolist()
        return Subscribe(topic, role, tuple(Peer(other) for other in neighbours if topic in self._topics[other]))

    def joining(self, node: int, topic: int, role: int, now_us: int) -> Subscribe:
        """A node that joins later knows the same neighbours."""
        return self.together(node, topic, role)


def first_peers(system: System, parameters: Any, seed: int, oracle: Any) -> FirstPeers | None:
    """The object that chooses first peers for this system; None where these parameters give nodes no first peers."""
    if system.first_peers is None or not system.takes_first_peers(parameters):
        return None
    made: FirstPeers = load(system.first_peers)(parameters, seed, oracle)
    return made


@dataclass(frozen=True)
class CycleChanges:
    """The nodes that leave, crash or join before one cycle, by id."""

    leavers: tuple[int, ...] = ()
    crashes: tuple[int, ...] = ()
    joiners: tuple[int, ...] = ()
    # New interests with ascending topics, of nodes that join and of nodes that change their interest.
    interests: Mapping[int, tuple[int, ...]] = field(default_factory=dict)


def changes_by_cycle(churn: Churn, period_us: int) -> dict[int, CycleChanges]:
    """The rows of a churn table by cycle. A row takes effect in the first cycle that starts at or after its time.

    The rows of one node in one cycle are reduced to their net effect. A node that leaves and returns starts anew.
    """
    rows: dict[int, dict[int, list[int]]] = {}
    for at_us, node, event in zip(churn.at_us.tolist(), churn.nodes.tolist(), churn.events.tolist(), strict=True):
        if event == ABSENT:
            continue
        cycle = max(1, -(-at_us // period_us))
        rows.setdefault(cycle, {}).setdefault(node, []).append(event)
    gathered = {}
    for cycle, by_node in rows.items():
        gone = {node: events[0] for node, events in sorted(by_node.items()) if events[0] != JOIN}
        back = [node for node, events in sorted(by_node.items()) if events[-1] == JOIN]
        gathered[cycle] = CycleChanges(
            leavers=tuple(node for node, event in gone.items() if event != CRASH),
            crashes=tuple(node for node, event in gone.items() if event == CRASH),
            joiners=tuple(back),
        )
    return gathered
