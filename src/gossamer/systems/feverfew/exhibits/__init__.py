"""The exhibits of the paper, in its order."""

from gossamer.analysis.exhibits.harness import Exhibit
from gossamer.systems.feverfew.exhibits import (
    dataset,
    degrees,
    frontier,
    gossip,
    groups,
    robustness,
    searches,
    shape,
    theorems,
)

_ALL = (dataset, theorems, gossip, searches, degrees, shape, robustness, frontier, groups)

EXHIBITS: tuple[Exhibit, ...] = tuple(exhibit for module in _ALL for exhibit in module.EXHIBITS)
