"""What a driver decides and a protocol does not: first contacts, and who introduces a newcomer.

Kernels and machines must start from the same facts, so every driver takes them from here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gossamer.kernels.cyclon import draw_contacts
from gossamer.model.arrays.churn import ABSENT, CRASH, JOIN, Churn
from gossamer.model.arrays.interest import Interest
from gossamer.model.values.draw import Purpose, below, draw
from gossamer.protocols.contract.events import Started, Subscribe
from gossamer.protocols.contract.messages import Peer
from gossamer.protocols.contract.system import System, load


def together(seed: int, node: int, node_count: int, contact_count: int) -> Started:
    """The first event of a node whose whole population starts at once: a ready view of random contacts.

    Nodes are numbered 0 to node_count - 1; where some of them are away, use `together_among`.
    """
    contacts = np.zeros(contact_count, np.uint32)
    found = draw_contacts(np.uint64(seed), node, node_count, contacts)
    return Started(tuple(Peer(int(contact)) for contact in contacts[:found]), joining=False)


def together_among(seed: int, place: int, nodes: Sequence[int], contact_count: int) -> Started:
    """The same for the node at `place` among those that start together; its contacts are among them too."""
    event = together(seed, place, len(nodes), contact_count)
    return Started(tuple(Peer(nodes[contact.node]) for contact in event.contacts), joining=False)


def introducer(seed: int, node: int, now_us: int, present: Sequence[int] | NDArray[np.integer]) -> int | None:
    """The node that introduces a newcomer: any of those present (by id) when this round of joins began."""
    if not len(present):
        return None
    return int(present[below(draw(seed, node, Purpose.INTRODUCER, now_us), len(present))])


def newcomer(seed: int, node: int, now_us: int, present: Sequence[int]) -> Started:
    """The first event of a node that comes later."""
    contact = introducer(seed, node, now_us, present)
    return Started((Peer(contact),) if contact is not None else ())


class FirstPeers(Protocol):
    """Chooses the peers that a node knows in a topic at first, for systems that are given some (`System.first_peers`).

    Made from (parameters, seed, oracle). Machines and kernels must start from the same facts, so every driver asks it.
    """

    def start_together(self, interest: Interest) -> None:
        """Choose the first peers of a population that starts at once."""
        ...

    def together(self, node: int, topic: int, role: int) -> Subscribe:
        """The event of a node that starts with all others."""
        ...

    def joining(self, node: int, topic: int, role: int, now_us: int) -> Subscribe:
        """The event of a node that joins the topic later."""
        ...


def first_peers(system: System, parameters: Any, seed: int, oracle: Any) -> FirstPeers | None:
    """What chooses first peers for this system with these parameters; None where nodes are given none."""
    if system.first_peers is None or not system.takes_first_peers(parameters):
        return None
    made: FirstPeers = load(system.first_peers)(parameters, seed, oracle)
    return made


@dataclass(frozen=True)
class CycleChanges:
    """Who goes and comes before one cycle, by id."""

    leavers: tuple[int, ...] = ()
    crashes: tuple[int, ...] = ()
    joiners: tuple[int, ...] = ()
    # New interests, topics ascending: of joiners, and of nodes that are there and change their mind.
    interests: Mapping[int, tuple[int, ...]] = field(default_factory=dict)


def changes_by_cycle(churn: Churn, period_us: int) -> dict[int, CycleChanges]:
    """Rows of a churn table gathered into the cycle they take effect in: the first that starts at or after them.

    Within a cycle a node's rows collapse to their net effect; going and coming again is a new start.
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
