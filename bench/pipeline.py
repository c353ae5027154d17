"""The pipeline on embedded Spark at several sizes: ingest, sample, analyse, sweep; and alternatives without Spark."""

import json
import os
import re
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.report import show
from gossamer.kernels.sampling import units
from gossamer.model.tables.schemas import write_table
from gossamer.model.tables.workload import read_overlay, read_workload, write_interests
from gossamer.model.values.progress import silent
from gossamer.model.values.run import Run, WorkloadLaw
from gossamer.pipeline import ids
from gossamer.pipeline.analyse import FILES, SHUFFLE, write_analysis
from gossamer.pipeline.ingest import FOUND, _write_lines, ingest_edges
from gossamer.pipeline.lines import EDGES, group_files
from gossamer.pipeline.profile import profile_folder
from gossamer.pipeline.sample import write_sample
from gossamer.pipeline.session import spark_session
from gossamer.pipeline.sweep import sweep
from gossamer.simulator.measure import measure_topics
from gossamer.workloads.interests import make_interests
from gossamer.workloads.raw import write_raw_edges

# Users with 18.7 friends on average make about 9.4 lines each: 7, 14, 28 and 48 million. The first size is also done once
# without being measured, while Java compiles its code.
USERS = (750_000, 1_500_000, 3_000_000, 5_100_000)
MEAN_DEGREE = 18.7
SAMPLE_NODES = 100_000
# Users and mean degree for both plans of the joins: as many lines, with a table of names on each side of the switch.
PLANS_AT = ((750_000, 18.7), (3_000_000, 4.7))
ANALYSED = (100_000, 300_000, 1_000_000)
TASKS = 200


@dataclass
class Cost:
    """Wall seconds, core seconds, and the peak memory of Java and Python together, set when the measured block ends."""

    seconds: float = 0.0
    core_seconds: float = 0.0
    peak_gib: float = 0.0


def run() -> None:
    """Wanted: parse at 0.8 million lines a second, ingest at 0.35, under 8 GiB; core-seconds that grow with lines by an
    exponent of at most 1.1; components under 35 s and 12 s at a million nodes; under 0.2 core-seconds a task.
    """
    with tempfile.TemporaryDirectory() as folder, _events_in(Path(folder)), spark_session() as spark:
        _ingest(spark, Path(folder))
        for users, mean_degree in PLANS_AT:
            _join_plans(spark, Path(folder), users, mean_degree)
        _analyse(spark, Path(folder))
        _sweep(spark, Path(folder))


def _ingest(spark: Any, folder: Path) -> None:
    _stages(spark, folder, USERS[0])
    rows, costs = [], []
    for users in USERS:
        lines, shuffled, stages = _stages(spark, folder, users)
        costs.append((lines, *(cost.core_seconds for cost in stages.values())))
        said = {
            name: f"{cost.seconds:.0f} s ({cost.core_seconds:.1f} core-s), {lines / 1e6 / cost.seconds:.2f} M/s"
            for name, cost in stages.items()
        }
        peak = max(cost.peak_gib for cost in stages.values())
        rows.append([f"{lines / 1e6:.1f} M", *said.values(), f"{peak:.1f} GiB", f"{shuffled / lines:.0f} B"])
        print(*rows[-1], sep=" | ", flush=True)
        (folder / f"edges-{users}.txt").unlink()
    logs = np.log(np.array(costs, np.float64))
    growth = [f"{name} {np.polyfit(logs[:, 0], logs[:, part], 1)[0]:.2f}" for part, name in enumerate(said, start=1)]
    show(
        f"Edges as text, {os.cpu_count()} cores: parse and quarantine lines; the whole ingest; a sample of {SAMPLE_NODES:,}; "
        "the profile of the graph",
        ["lines", *said, "peak memory", "shuffled a line"],
        rows,
        f"Exponents of core-seconds in lines: {', '.join(growth)} (wanted: at most 1.1). "
        "Wanted: 0.8 and 0.35 million lines a second, under 8 GiB.",
    )
    print_plan("a hop of the search for the sample", folder, "hops.aside/000002")


def _stages(spark: Any, folder: Path, users: int) -> tuple[int, int, dict[str, Cost]]:
    """The lines of a file with this many users, the bytes that its ingest shuffles, and what each stage costs."""
    raw = folder / f"edges-{users}.txt"
    lines = write_raw_edges(raw, users, MEAN_DEGREE, 1).lines
    with tempfile.TemporaryDirectory(dir=folder) as made:
        graph, parsed, sample = (Path(made) / name for name in ("graph", "parsed", "sample"))
        for path in (graph, parsed, sample):
            path.mkdir()
        with measured() as parse:
            _write_lines(spark, group_files(spark, [raw], EDGES, FOUND), EDGES, ("source", "target"), parsed / "lines")
        before = _shuffled(folder)
        with measured() as whole:
            ingest_edges(spark, [raw], graph, directed=False)
        shuffled = _shuffled(folder) - before
        with measured() as sampled:
            write_sample(spark, graph, sample, SAMPLE_NODES, 3, 1, "friends")
        with measured() as profiled:
            profile_folder(spark, graph)
    return lines, shuffled, {"parse": parse, "ingest": whole, "sample": sampled, "profile": profiled}


def _join_plans(spark: Any, folder: Path, users: int, mean_degree: float) -> None:
    """Time the ingest by both plans of its joins with names; the size of the names table decides between them."""
    raw, rows = folder / f"plans-{users}.txt", []
    lines = write_raw_edges(raw, users, mean_degree, 1).lines
    for plan, most in (("names sent to every worker", 2**40), ("rows shuffled", 0)):
        graph = folder / f"plan-{users}-{most}"
        graph.mkdir()
        usual, ids.BROADCAST_BYTES_MAX = ids.BROADCAST_BYTES_MAX, most
        try:
            with measured() as cost:
                found = ingest_edges(spark, [raw], graph, directed=False)
        finally:
            ids.BROADCAST_BYTES_MAX = usual
        rows.append([plan, f"{cost.core_seconds:.0f}", f"{cost.seconds:.0f} s", f"{cost.peak_gib:.1f} GiB"])
        print_plan(plan, folder, f"{graph.name}/edges.parquet")
    names = found.names["nodes"]
    stated = names * (ids.ROW_BYTES + len(str(names)))
    show(
        f"Both plans for {lines / 1e6:.1f} million lines with {names:,} names, about {stated / 2**20:.0f} MiB in memory",
        ["plan", "core-seconds", "wall", "peak memory"],
        rows,
        f"The first is used up to {ids.BROADCAST_BYTES_MAX / 2**20:.0f} MiB.",
    )


def _analyse(spark: Any, folder: Path) -> None:
    rows = []
    for nodes in ANALYSED:
        workload, overlay = folder / f"w-{nodes}", folder / f"o-{nodes}"
        for path in (workload, overlay):
            path.mkdir()
        interest = make_interests(nodes, 1_000, "20", "zipf:0.5", 1)
        write_interests(workload, interest)
        u, v = (
            np.floor(units(np.uint64(1), np.uint64(900 + side), np.uint64(0), 5 * nodes) * nodes) for side in range(2)
        )
        low, high = np.minimum(u, v).astype(np.int64), np.maximum(u, v).astype(np.int64)
        keys = np.unique((low * nodes + high)[low != high])
        write_table("overlay", overlay / "overlay.parquet", {"u": keys // nodes, "v": keys % nodes})
        found, costs = {}, {}
        for way in (SHUFFLE, FILES):
            out = folder / f"a-{nodes}-{way}"
            out.mkdir()
            with measured() as costs[way]:
                found[way] = write_analysis(spark, overlay, workload, out, way, lengths=False)["components"]
        with measured() as here:
            read = read_workload(workload)
            topics = measure_topics(read_overlay(overlay, read.node_ids), read.interest, exact=False)
        assert found[SHUFFLE] == found[FILES] == int(topics.components.sum())
        rows.append(
            [
                f"{nodes:,}",
                *(f"{costs[way].seconds:.1f} s, {costs[way].peak_gib:.1f} GiB" for way in (SHUFFLE, FILES)),
                f"{here.seconds:.1f} s (with bounds on diameters, and clustering)",
            ]
        )
    show(
        "Components of every topic, 20 of 1,000 topics and 10 links a node: equal results in three ways",
        ["nodes", "shuffle", "files", "in process, one core"],
        rows,
        "Wanted at 1,000,000 nodes: under 35 s and under 12 s.",
    )


def _sweep(spark: Any, folder: Path) -> None:
    law = WorkloadLaw(nodes=20, topics=3, subscriptions="2", popularity="rss")

    def runs(first: int, count: int) -> list[Run]:
        return [Run(system="random", seed=seed, workload=law) for seed in range(first, first + count)]

    sweep(spark, runs(0, 20), folder / "runs", silent)
    with measured() as cost:
        sweep(spark, runs(1_000, TASKS), folder / "runs", silent)
    show(
        f"{TASKS} nearly empty runs, one Spark task each",
        ["wall a task", "core-seconds a task"],
        [[f"{cost.seconds / TASKS:.3f} s", f"{cost.core_seconds / TASKS:.3f}"]],
        "Wanted: under 0.2 core-seconds.",
    )


@contextmanager
def _events_in(folder: Path) -> Iterator[None]:
    """Spark settings that log the work of every task, so that shuffled bytes can be counted."""
    (folder / "events").mkdir()
    settings = {"enabled": "true", "dir": (folder / "events").as_uri(), "compress": "false", "rolling.enabled": "false"}
    text = "".join(f"spark.eventLog.{name} {value}\n" for name, value in settings.items())
    (folder / "spark-defaults.conf").write_text(text)
    os.environ["SPARK_CONF_DIR"] = str(folder)
    try:
        yield
    finally:
        del os.environ["SPARK_CONF_DIR"]


def _shuffled(folder: Path) -> int:
    """The bytes that Spark tasks have written to shuffles."""
    ended = (json.loads(line) for line in _events(folder) if '"SparkListenerTaskEnd"' in line[:60])
    return sum(event["Task Metrics"]["Shuffle Write Metrics"]["Shuffle Bytes Written"] for event in ended)


def _events(folder: Path) -> Iterator[str]:
    for file in (folder / "events").iterdir():
        with file.open() as lines:
            yield from lines


def print_plan(title: str, folder: Path, table: str) -> None:
    """Print the plan by which Spark last wrote a table, as its event log has it: what moves rows between tasks, and joins."""
    plans: dict[int, Any] = {}
    writes: set[int] = set()
    for line in _events(folder):
        if "SparkListenerSQL" in line[:100] and '"sparkPlanInfo"' in line:
            event = json.loads(line)
            # The last plan of a query is the final one of the adaptive planner.
            plans[event["executionId"]] = event["sparkPlanInfo"]
            if f"{table}, " in event["physicalPlanDescription"] and "Insert" in event["physicalPlanDescription"]:
                writes.add(event["executionId"])
    print(f"\nHow Spark wrote {table} ({title}), inputs further right:\n", flush=True)
    _print_operators(plans[max(writes)], 0)


def _print_operators(plan: Any, depth: int) -> None:
    name = plan["nodeName"]
    is_shown = any(word in name for word in ("Scan", "Exchange", "Join", "Aggregate", "Execute"))
    if is_shown:
        print(f"    {'  ' * depth}{re.sub(r'#[0-9]+L?|, .plan_id=[0-9]+.', '', plan['simpleString'])[:100]}")
    for child in plan["children"]:
        _print_operators(child, depth + is_shown)


@contextmanager
def measured() -> Iterator[Cost]:
    """Measure this process and its descendants, which include Java and its Python workers, without what watching costs."""
    cost, done = Cost(), threading.Event()
    watching: list[float] = []
    # By process, also of those that have ended.
    before = {process: core_seconds for process, (core_seconds, _) in _family().items()}
    used = dict(before)

    def look() -> None:
        family = _family()
        cost.peak_gib = max(cost.peak_gib, sum(each[1] for each in family.values()) / 2**30)
        used.update({process: core_seconds for process, (core_seconds, _) in family.items()})

    def watch() -> None:
        while not done.wait(0.5):
            look()
        watching.append(time.thread_time())

    watcher = threading.Thread(target=watch)
    watcher.start()
    began = time.perf_counter()
    try:
        yield cost
    finally:
        cost.seconds = time.perf_counter() - began
        done.set()
        watcher.join()
        look()
        cost.core_seconds = sum(used.values()) - sum(before.values()) - sum(watching)


def _family() -> dict[int, tuple[float, int]]:
    """(core seconds, resident bytes) of this process and its descendants."""
    parents, facts = {}, {}
    ticks, page = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            fields = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # the process has ended
        parents[int(name)] = int(fields[1])
        facts[int(name)] = (sum(map(int, fields[11:13])) / ticks, int(fields[21]) * page)
    mine = {os.getpid()}
    while True:
        more = {pid for pid, parent in parents.items() if parent in mine} - mine
        if not more:
            return {pid: facts[pid] for pid in mine}
        mine |= more
