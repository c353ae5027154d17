"""Push and pull: in each round a node calls one random neighbour on a topic, and messages cross the call both ways.

Papers: Karp, Schindelhauer, Shenker, Vöcking: Randomized rumor spreading (FOCS 2000); Ma, Wang, Sun (2014) disseminate
with it (section 4.4).

Idea: pushes inform most nodes, and pulls inform the rest soon. Nodes pass a message on while its age is at most
log3 n + O(ln ln n) rounds. This is a dissemination, not an overlay: it runs on every overlay whose nodes know which
neighbours hold a topic. `machine.py` lists the departures (`Differs:`), and docs/papers.md too.
"""

from typing import Any

from gossamer.model.values.ids import NodeId
from gossamer.protocols.contract.parts import Part
from gossamer.protocols.contract.system import Dissemination, System
from gossamer.systems.push_pull.machine import PushPull
from gossamer.systems.push_pull.parameters import PushPullParameters


def _push_pull(parameters: PushPullParameters, overlay: Any, seed: int, node: NodeId, held: Any) -> Part:
    return PushPull(parameters, overlay, seed, node, held)


_HERE = "gossamer.systems.push_pull"

SYSTEMS: tuple[System, ...] = ()

DISSEMINATIONS: tuple[Dissemination, ...] = (
    Dissemination(
        name="push-pull",
        parameters=PushPullParameters,
        part=_push_pull,
        on_static_overlay=f"{_HERE}.population:push_pull_events",
        by_rounds=f"{_HERE}.population:SpreadByRounds",
        warm_up=f"{_HERE}.warm:warm_up",
        in_study=True,
    ),
)
