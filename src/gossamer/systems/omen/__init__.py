"""OMen: overlays that mend themselves under churn.

C. Chen, R. Vitenberg, H.-A. Jacobsen. *OMen: Overlay Mending for Topic-based Publish/Subscribe Systems Under Churn.* DEBS
2016.

The idea: nodes stand on a circle. The successor of a node prepares for its departure: it knows the node's neighbours and
a *backup set*, other nodes that hold its topics. When the node departs, the successor runs a central algorithm (LowODA)
on these few nodes only, and links them. So degrees stay near those of a central plan, and a repair is fast.

`omen-g` is the paper's OMen-G: knowledge is complete, and churn events happen one after another. Its overlay at the
start is LowODA's.

Differs: a repair counts all links with an end in the shadow set, and joins only the neighbours of the departed node
(`counted`). Algorithm 1 as printed counts links inside the shadow set, which adds several times the links.
Differs: after a departure, neighbours of shadow nodes may get links, too (`linked`), and of links that join as much the one
between nodes with fewer links is added.
Differs: a backup is the less loaded of two random holders of a topic (`backups.py`).
Differs: a repair also drops links whose ends have common neighbours on all the topics that they share (`drops`).
"""

from gossamer.model.values.ids import NodeId
from gossamer.model.values.time import SECOND_US
from gossamer.protocols.contract.parts import InterestView, Part
from gossamer.protocols.contract.system import Knows, LiveStart, LockstepTimer, StudyEntry, System
from gossamer.protocols.membership import interest_parts
from gossamer.protocols.membership.cyclon import Cyclon, CyclonParameters
from gossamer.systems.omen.machine import Omen
from gossamer.systems.omen.messages import TurnDue
from gossamer.systems.omen.parameters import OmenGParameters, OmenParameters


def _parts(parameters: OmenParameters, seed: int, node: NodeId, view: InterestView | None) -> tuple[Part, ...]:
    exchange, below, view = interest_parts(parameters.period_us, seed, node, view)
    membership = next((part for part in below if isinstance(part, Cyclon)), None)
    return (*below, Omen(parameters, seed, node, exchange, view, membership))


def _takes_view(parameters: OmenParameters) -> bool:
    return parameters.membership == "oracle"


def _contact_count(parameters: OmenParameters) -> int:
    return CyclonParameters().view_size if parameters.membership == "cyclon" else 0


_HERE = "gossamer.systems.omen"
# Chosen: live nodes check for disconnected topics twice a second, because many may start together.
_LIVE = {"membership": "cyclon", "start": "joins", "mend_us": SECOND_US // 2, "links_max": 500}

SYSTEMS: tuple[System, ...] = (
    System(
        name="omen",
        summary="Mends the overlay after each join or leave, with few nodes and links; keeps degrees low under churn.",
        paper="Chen, Vitenberg, Jacobsen: OMen (DEBS 2016)",
        parameters=OmenParameters,
        parts=_parts,
        knows=Knows.TOPICS,
        keep_alive_kinds=("LinkPulse", "WatchPulse", "WatchOk"),
        cycle_us=lambda parameters: parameters.period_us,
        takes_view=_takes_view,
        contact_count=_contact_count,
        timers=(LockstepTimer(TurnDue()),),
        population=f"{_HERE}.population:omen_population",
        planner=f"{_HERE}.planner:plan_start",
        # Chosen: the study builds the overlay by joins, one by one; `lowoda` is the plan. Under churn, turns of ten
        # seconds take a tenth of the time to simulate.
        study=(StudyEntry({"start": "joins", "choices": 1, "drops": False}, "omen, by joins"),),
        churn_study=(
            StudyEntry({"period_us": 10 * SECOND_US, "mend_us": 10 * SECOND_US}, "omen, 10 s turns", ("tree",)),
        ),
        live_study=(StudyEntry({"membership": "cyclon", "start": "joins"}),),
        live=(
            LiveStart("omen", "omen", _LIVE),
            # Chosen: five turns to find the peers of the plan. Then OMen keeps the topics connected.
            LiveStart("omen-planned", "omen", {**_LIVE, "first_turns": 5}, takes_plan=True),
        ),
    ),
    System(
        name="omen-g",
        summary="Mends a plan of LowODA after each join or leave, with few nodes and links; every node knows all.",
        paper="Chen, Vitenberg, Jacobsen: OMen (DEBS 2016)",
        parameters=OmenGParameters,
        needs_seed=False,
        planner=f"{_HERE}.planner:plan_start",
        exhibits=f"{_HERE}.exhibits:EXHIBITS",
        experiments=f"{_HERE}.experiments",
    ),
)
