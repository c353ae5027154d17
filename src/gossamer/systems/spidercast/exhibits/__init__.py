"""The exhibits of the SpiderCast paper, by section."""

from gossamer.analysis.exhibits.harness import Exhibit
from gossamer.systems.spidercast.exhibits import (
    coverage,
    dynamic,
    popularity,
    rivals,
    scale,
    views,
)

EXHIBITS: tuple[Exhibit, ...] = (
    *coverage.EXHIBITS,
    *popularity.EXHIBITS,
    *scale.EXHIBITS,
    *views.EXHIBITS,
    *dynamic.EXHIBITS,
    *rivals.EXHIBITS,
)
