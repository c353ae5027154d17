"""The exhibits of the SpiderCast paper, by section."""

from gossamer.analysis.exhibits.harness import Exhibit
from gossamer.systems.spidercast.exhibits import (
    coverage,
    dynamic,
    rivals,
    scale,
)

EXHIBITS: tuple[Exhibit, ...] = (*coverage.EXHIBITS, *scale.EXHIBITS, *dynamic.EXHIBITS, *rivals.EXHIBITS)
