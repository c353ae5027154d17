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
Differs: a backup is the less loaded of two random holders of a topic (`backups.py`).
Differs: a repair also drops links whose ends have common neighbours on all the topics that they share (`drops`).
"""

from gossamer.protocols.contract.system import System
from gossamer.systems.omen.parameters import OmenGParameters

_HERE = "gossamer.systems.omen"

SYSTEMS: tuple[System, ...] = (
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
