"""Overlays that are planned centrally: registry entries for `planners/`, so that every command and study knows them.

Papers: Chockler, Melamed, Tock, Vitenberg: Constructing scalable overlays for pub-sub with many topics (PODC 2007) for
GM; Onus, Richa: Parameterized maximum and average degree approximation in topic-based publish-subscribe overlay network
design (2010) for LowODA, and Minimum maximum-degree publish-subscribe overlay network design (2011) for MinMaxODA;
SpiderCast, section 3.9.2, for a ring per topic; the gossipsub specification for a mesh per topic.

The planner must know all interests, and must plan again when interests change. No node runs a protocol.
"""

from gossamer.protocols.contract.system import StudyEntry, System
from gossamer.systems.planned.parameters import (
    GmParameters,
    LowodaParameters,
    MeshParameters,
    MinmaxodaParameters,
    RingParameters,
)

_HERE = "gossamer.systems.planned"
_ODA_PAPER = "Onus, Richa: Minimum maximum-degree publish-subscribe overlay network design (2011); low degree (2010)"

SYSTEMS: tuple[System, ...] = (
    System(
        name="ring-per-topic",
        summary="A ring through every topic's nodes, duplicate links merged; planned centrally.",
        paper="Chockler, Melamed, Tock, Vitenberg: SpiderCast (DEBS 2007), 3.9.2",
        parameters=RingParameters,
        needs_seed=False,
        planner=f"{_HERE}.planner:plan_ring_per_topic",
        study=(StudyEntry(),),
    ),
    System(
        name="mesh-per-topic",
        summary="A random mesh in every topic, duplicate links merged: what gossipsub keeps; planned centrally.",
        paper="libp2p gossipsub v1.1 specification (D = 6)",
        parameters=MeshParameters,
        planner=f"{_HERE}.planner:plan_mesh_per_topic",
        study=(StudyEntry(),),
    ),
    System(
        name="gm",
        summary="The link that joins components in most topics, again and again; fewest links; planned centrally.",
        paper="Chockler, Melamed, Tock, Vitenberg: Constructing scalable overlays for pub-sub with many topics (PODC 2007)",
        parameters=GmParameters,
        needs_seed=False,
        planner=f"{_HERE}.planner:plan_gm",
        exhibits=f"{_HERE}.exhibits:EXHIBITS",
        study=(StudyEntry(),),
    ),
    System(
        name="lowoda",
        summary="As gm, but a link must be rho times better to raise the maximum degree; planned centrally.",
        paper=_ODA_PAPER,
        parameters=LowodaParameters,
        needs_seed=False,
        planner=f"{_HERE}.planner:plan_lowoda",
        study=(StudyEntry(),),
    ),
    System(
        name="minmaxoda",
        summary="As gm, among links that raise the maximum degree least; planned centrally.",
        paper=_ODA_PAPER,
        parameters=MinmaxodaParameters,
        needs_seed=False,
        planner=f"{_HERE}.planner:plan_minmaxoda",
        study=(StudyEntry(),),
    ),
)
