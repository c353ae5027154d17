"""How messages travel over an overlay that knows which neighbours hold a topic: flooding, and a tree.

A system may bring a dissemination of its own (`DISSEMINATIONS` in its folder).
"""

from typing import Any

from gossamer.model.values.ids import NodeId
from gossamer.protocols.contract.parts import Part
from gossamer.protocols.contract.system import Dissemination, NoParameters
from gossamer.protocols.dissemination.flood import Flood
from gossamer.protocols.dissemination.tree import Tree


def _flood(parameters: NoParameters, overlay: Any, seed: int, node: NodeId, held: Any) -> Part:
    return Flood(overlay, node, held)


def _tree(parameters: NoParameters, overlay: Any, seed: int, node: NodeId, held: Any) -> Part:
    return Tree(overlay, node, held)


DISSEMINATIONS: tuple[Dissemination, ...] = (
    Dissemination(name="flood", parameters=NoParameters, part=_flood, in_study=True),
    Dissemination(name="tree", parameters=NoParameters, part=_tree, in_study=True),
)
