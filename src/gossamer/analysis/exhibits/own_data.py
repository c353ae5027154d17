"""The figures of the papers for a workload of your own: the same series and measures, without published values."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from msgspec.structs import replace as changed

from gossamer.analysis.exhibits.harness import Exhibit, Point
from gossamer.model.tables.workload import Workload, write_workload
from gossamer.model.values.draw import Purpose, draw
from gossamer.model.values.errors import InputError
from gossamer.model.values.run import Run, WorkloadLaw

# Chosen: where the x axis is the number of nodes, these shares of the workload's nodes.
SHARES = (0.25, 0.5, 0.75, 1.0)
# Chosen: the sample of each size is the same for every system and seed.
SAMPLE_SEED = 1


def on_workload(exhibit: Exhibit, workload: Workload, name: str, folder: Path) -> Exhibit:
    """The exhibit with every run on this workload; samples of it are written below `folder`.

    If x is the number of nodes, it becomes a quarter to all of the workload's nodes, and smaller samples are random nodes
    with all their topics. If x is a parameter of the system, it stays. Refuses figures whose x is another property of the
    workload, or which are not runs on a workload.
    """
    made: dict[int, str] = {}

    def place(nodes: int) -> str:
        if nodes not in made:
            made[nodes] = str(_write_sample(workload, nodes, folder / str(nodes)))
        return made[nodes]

    return replace(
        exhibit,
        name=f"{exhibit.name}-on-{name}",
        title=f"{exhibit.title.partition(',')[0]}, on {name}",
        points=lambda quick: _points(exhibit, exhibit.points(quick), workload.interest.node_count, place),
        left_out="further seeds",
        claims=(),
        remark="",
        package="",
    )


def _points(exhibit: Exhibit, points: list[Point], nodes: int, place: Callable[[int], str]) -> list[Point]:
    runs = [point.run for point in points if isinstance(point.run, Run)]
    if len(runs) < len(points) or any(run.churn is not None for run in runs):
        raise InputError(f"{exhibit.name} is not a figure of builds or simulations on one workload; choose another")
    pairs = list(zip(points, runs, strict=True))
    if all(isinstance(run.workload, WorkloadLaw) and point.x == run.workload.nodes for point, run in pairs):
        smallest = min(point.x for point in points)
        at_first = _different([(point, run) for point, run in pairs if point.x == smallest])
        sizes = sorted({max(2, round(share * nodes)) for share in SHARES})
        return [_moved(point, run, place(size), float(size)) for point, run in at_first for size in sizes]
    if len({repr(run.workload) for run in runs}) > 1:
        raise InputError(
            f"{exhibit.name} compares several workloads (its x axis or its series), so it cannot be drawn for one; choose "
            "a figure over nodes or over a parameter, such as spidercast/fig12"
        )
    return [_moved(point, run, place(nodes), point.x) for point, run in pairs]


def _different(pairs: list[tuple[Point, Run]]) -> list[tuple[Point, Run]]:
    """Without the series that differ from an earlier one only in its workload: on one workload they are the same."""
    first: dict[str, str] = {}
    for point, run in pairs:
        first.setdefault(repr(changed(run, workload="")), point.series)
    return [(point, run) for point, run in pairs if first[repr(changed(run, workload=""))] == point.series]


def _moved(point: Point, run: Run, workload: str, x: float) -> Point:
    """The point on another workload. The theory's value was for the old one."""
    return replace(point, x=x, run=changed(run, workload=workload), expected=None)


def _write_sample(workload: Workload, nodes: int, folder: Path) -> Path:
    order = sorted(
        range(workload.interest.node_count), key=lambda node: draw(SAMPLE_SEED, 0, Purpose.SAMPLE, 0, item=node)
    )
    folder.mkdir(parents=True, exist_ok=True)
    write_workload(folder, workload.of_nodes(np.sort(np.array(order[:nodes], np.int64))))
    return folder
