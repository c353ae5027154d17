"""Gossip on unstructured overlays: random links that ignore interests, and messages relayed with a probability.

Paper: Ferretti: Publish-subscribe systems via gossip: a study based on complex networks (2011).

Idea: a node relays a message to every neighbour that follows its topic, and to every other neighbour with probability
gamma. Percolation theory then says how far messages get (`theory/percolation.py`). This is the one dissemination whose
paper lets nodes relay topics that they do not hold.

`unstructured.py` is the overlay part: a node keeps the links with which it was started. `wiring.py` draws these links
from a degree law. `machine.py` is the dissemination. Departures are marked `Differs:`; docs/papers.md lists them.
"""

from typing import Any

from gossamer.model.values.ids import NodeId
from gossamer.model.values.time import SECOND_US
from gossamer.protocols.contract.parts import InterestView, Part
from gossamer.protocols.contract.system import Dissemination, Knows, LiveStart, StudyEntry, System
from gossamer.systems.gossip.machine import Gossip, GossipParameters
from gossamer.systems.gossip.parameters import UnstructuredParameters
from gossamer.systems.gossip.unstructured import Unstructured


def _parts(parameters: UnstructuredParameters, seed: int, node: NodeId, view: InterestView | None) -> tuple[Part, ...]:
    return (Unstructured(parameters, node),)


def _gossip(parameters: GossipParameters, overlay: Any, seed: int, node: NodeId, held: Any) -> Part:
    return Gossip(parameters, seed, node, held)


_HERE = "gossamer.systems.gossip"

SYSTEMS: tuple[System, ...] = (
    System(
        name="unstructured",
        summary="Random links by a degree law (Poisson, regular, scale-free, given); ignores interests.",
        paper="Ferretti: Publish-subscribe systems via gossip: a study based on complex networks (2011)",
        parameters=UnstructuredParameters,
        parts=_parts,
        connects_topics=False,
        knows=Knows.LINKS,
        cycle_us=lambda parameters: SECOND_US,
        planner=f"{_HERE}.wiring:unstructured_planner",
        warm_up=f"{_HERE}.warm:warm_up",
        exhibits=f"{_HERE}.exhibits:EXHIBITS",
        churn_study=(StudyEntry({"degree": "poisson:10"}, "random links", ("gossip",), {"gamma": 0.3}),),
    ),
)

DISSEMINATIONS: tuple[Dissemination, ...] = (
    Dissemination(
        name="gossip",
        parameters=GossipParameters,
        part=_gossip,
        needs=Knows.LINKS,
        relays_without_topic=True,
        on_static_overlay=f"{_HERE}.population:gossip_events",
        theory_checks=f"{_HERE}.check",
        # Chosen: six random links, as many as gossipsub keeps for each topic.
        live=(LiveStart("gossip", "random", {"membership": "cyclon", "links": 6}, dissemination="gossip"),),
    ),
)
