"""Zones of nodes from a file of (node, zone) rows."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from gossamer.model.tables.workload import Workload
from gossamer.model.values.errors import InputError
from gossamer.workloads.named import read_pairs, read_workload


def with_zones(workload: Workload, path: Path) -> Workload:
    """The workload with the zones of a file with the columns node (or service ...) and zone, or of another workload."""
    pairs = _zones_of(path) if path.is_dir() else read_pairs(path, "user", "zone")
    names = workload.names_of_nodes()
    inhabited = {pairs[name] for name in names if name in pairs}
    for zone in dict.fromkeys(pairs.values()):
        if zone not in inhabited:
            raise InputError(f"{path}: no node of the workload is in zone {zone!r}")
    workload.places_of(list(pairs), str(path))
    missing = [name for name in names if name not in pairs]
    if missing:
        raise InputError(f"{path} has no zone for {missing[0]!r} ({len(missing):,} nodes have none)")
    return replace(workload, zones=np.array([pairs[name] for name in names], object))


def _zones_of(folder: Path) -> dict[str, str]:
    found = read_workload(folder)
    if found.zones is None:
        raise InputError(f"{folder} has no zones; give a file with the columns service and zone")
    return dict(zip(found.names_of_nodes(), found.zones.tolist(), strict=True))


def numbered_zones(workload: Workload) -> tuple[list[str], "np.ndarray[tuple[int], np.dtype[np.int64]]"]:
    """The names of the zones, and the number of each node's zone."""
    if workload.zones is None:
        raise InputError("the workload has no zones; give a file of (node, zone) rows")
    names, numbers = np.unique(workload.zones.astype(str), return_inverse=True)
    return names.tolist(), numbers.astype(np.int64)
