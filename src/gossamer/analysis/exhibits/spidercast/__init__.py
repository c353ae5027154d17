"""The exhibits of the SpiderCast paper, by section."""

from gossamer.analysis.exhibits.harness import Exhibit
from gossamer.analysis.exhibits.spidercast import coverage, dynamic, rivals, scale

EXHIBITS: tuple[Exhibit, ...] = (*coverage.EXHIBITS, *scale.EXHIBITS, *dynamic.EXHIBITS, *rivals.EXHIBITS)
