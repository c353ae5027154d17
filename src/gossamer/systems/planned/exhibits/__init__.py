"""A comparison of the central planners. No paper publishes these numbers for these workloads; the claims are ours."""

from gossamer.systems.planned.exhibits.degrees import EXHIBITS

__all__ = ["EXHIBITS"]
