"""The central planners beside each other. No paper publishes these numbers for these workloads; the claims are ours."""

from gossamer.analysis.exhibits.planners.degrees import EXHIBITS

__all__ = ["EXHIBITS"]
