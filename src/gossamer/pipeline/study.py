"""A whole study in stages: raw data, tables, a workload, runs of every system, measurements.

A stage is a folder with a manifest. It is skipped when its manifest has the same hash of inputs, settings and code. A
stage is written under a temporary name and then renamed, so a study can be interrupted at any time and run again. If
some runs failed, their stage is not finished, and a rerun repeats those runs.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gossamer.model.tables.folders import write_json
from gossamer.model.tables.schemas import write_table
from gossamer.model.values.errors import InputError
from gossamer.model.values.progress import Progress
from gossamer.model.values.time import SECOND_US
from gossamer.pipeline.files import check_shared
from gossamer.pipeline.stages import Stages
from gossamer.pipeline.storage import Place, fingerprint, read_place
from gossamer.pipeline.study_inputs import check_inputs, reading_of
from gossamer.pipeline.study_results import sample_folder, write_results
from gossamer.pipeline.study_settings import BOTH, EDGES, MEMBERSHIPS, WORKLOAD, Study

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from gossamer.pipeline.ingest import Ingested


def run_study(
    spark: "SparkSession",
    study: Study,
    folder: Path,
    progress: Progress,
    said: Callable[[str], None],
    tables: Place | None = None,
) -> Stages:
    """Carry out all stages in order.

    `tables` is where the tables that grow with the input are written: at a URI, or by default in the study's folder.
    """
    study.check()
    check_inputs(study, folder)
    # Workers have other working folders.
    folder = Path(os.path.abspath(folder))
    folder.mkdir(parents=True, exist_ok=True)
    stages = Stages(folder, said, spark, tables or folder)
    check_shared(spark, folder)
    make_tables(spark, study, stages)
    make_samples(spark, study, stages)
    write_results(spark, study, stages, progress)
    return stages


def make_tables(spark: "SparkSession", study: Study, stages: Stages) -> None:
    """The stages from raw data to tables: `graph` has edges, interests or both; `machines` has machine events."""
    raw = _raw(study, stages)
    if study.kind == WORKLOAD:
        _take_workload(spark, study, stages)
    elif study.kind == BOTH:
        _ingest_both(spark, study, stages)
    elif study.kind == MEMBERSHIPS:
        _ingest(spark, study, stages, "graph", MEMBERSHIPS, str(study.memberships))
    else:
        _ingest(spark, study, stages, "graph", EDGES, study.edges or str(raw / "edges.txt"))
    _ingest(spark, study, stages, "machines", "events", study.events or str(raw / "events.csv.gz"))


def _raw(study: Study, stages: Stages) -> Path:
    """The folder of generated raw files, for inputs that are not given."""
    from gossamer.workloads.raw import write_raw_edges, write_raw_events

    needs_edges = (study.edges, study.memberships, study.workload) == (None, None, None)

    def make(folder: Path) -> dict[str, Any]:
        rows: dict[str, Any] = {}
        if needs_edges:
            rows["edges"] = vars(write_raw_edges(folder / "edges.txt", study.users, study.mean_degree, study.seed))
        if study.events is None:
            rows["events"] = vars(write_raw_events(folder / "events.csv.gz", study.machines, study.seed))
        return rows

    inputs = {
        "seed": study.seed,
        "users": study.users if needs_edges else None,
        "mean_degree": study.mean_degree,
        "machines": study.machines if study.events is None else study.events,
    }
    return stages.run("raw", inputs, make)


def _ingest(spark: "SparkSession", study: Study, stages: Stages, stage: str, kind: str, path: str) -> Place:
    """Turn the lines of a file, a folder, a glob or a URI into tables."""
    from gossamer.pipeline.ingest import ingest_edges, ingest_machine_events, ingest_memberships
    from gossamer.pipeline.inputs import find_inputs

    found = find_inputs(path, spark)
    if found.skipped:
        stages.said(found.skipped_sentence())
    files, reading = found.files, reading_of(study)
    ingests: dict[str, Callable[[Place], Ingested]] = {
        EDGES: lambda folder: ingest_edges(spark, files, folder, study.directed, study.max_bad, reading),
        MEMBERSHIPS: lambda folder: ingest_memberships(spark, files, folder, study.max_bad, reading),
        "events": lambda folder: ingest_machine_events(spark, files, folder, study.max_bad),
    }

    def make(folder: Place) -> dict[str, Any]:
        done = ingests[kind](folder)
        return {**vars(done.counts), **done.names, "formats": done.format_facts()}

    # A generated file is identified by its stage, a given file by its content.
    known = [
        stages.key("raw") if isinstance(file, Path) and stages.folder in file.parents else fingerprint(spark, file)
        for file in files
    ]
    inputs = {"kind": kind, "files": known, "max_bad": study.max_bad, "directed": study.directed}
    told = {"reading": [reading.delimiter, reading.header, reading.columns]} if kind != "events" else {}
    return stages.run_table(stage, {**inputs, **told}, make)


def _ingest_both(spark: "SparkSession", study: Study, stages: Stages) -> None:
    from gossamer.pipeline.shared_ids import share_ids

    edges = _ingest(spark, study, stages, "edges", EDGES, str(study.edges))
    memberships = _ingest(spark, study, stages, "memberships", MEMBERSHIPS, str(study.memberships))
    inputs = {"kind": BOTH, "edges": stages.key("edges"), "memberships": stages.key("memberships")}
    stages.run_table("graph", inputs, lambda folder: share_ids(spark, edges, memberships, folder))


def _take_workload(spark: "SparkSession", study: Study, stages: Stages) -> None:
    from gossamer.pipeline.study_samples import take_workload

    workload = read_place(str(study.workload))
    inputs = {"kind": WORKLOAD, "interests": fingerprint(spark, workload / "interests.parquet")}
    stages.run_table("graph", inputs, lambda folder: take_workload(spark, workload, folder))


def make_samples(spark: "SparkSession", study: Study, stages: Stages) -> None:
    """The stages of every sample: its workload, a smaller one, churn, a failure of many nodes; and the profile."""
    users = int(stages.done["graph"]["rows"]["nodes"])
    if study.samples > 1 and study.nodes >= users:
        raise InputError(
            f"`samples` is {study.samples}, but the input has {users} nodes and `nodes` is {study.nodes}: there is only "
            "one sample, the whole input; set `samples` to 1 or `nodes` lower"
        )
    for sample in range(1, study.samples + 1):
        _sample(spark, study, stages, sample, users)
    _profile(spark, study, stages)


def _sample(spark: "SparkSession", study: Study, stages: Stages, sample: int, users: int) -> None:
    from gossamer.model.tables.workload import read_workload, write_churn
    from gossamer.pipeline.events import churn_from_events
    from gossamer.pipeline.study_samples import write_study_sample
    from gossamer.workloads.churn import fail_at_once

    graph, seed = stages.tables / "graph", study.seed + sample - 1

    def name(stage: str) -> str:
        return sample_folder(stages.folder, stage, sample).name

    def make(nodes: int) -> Callable[[Path], dict[str, Any]]:
        starts = min(study.sample_seeds, nodes)
        return lambda folder: write_study_sample(
            spark, graph, folder, study.kind, study.directed, users, nodes, starts, seed
        )

    common = {"graph": stages.key("graph"), "seeds": study.sample_seeds, "seed": seed, "directed": study.directed}
    stages.run(name("workload"), {**common, "nodes": study.nodes}, make(study.nodes))
    small = stages.run(name("churn-workload"), {**common, "nodes": study.small_nodes}, make(study.small_nodes))
    until_us = int(study.churn_minutes * 60 * SECOND_US)

    def make_churn(folder: Path) -> dict[str, Any]:
        node_ids = read_workload(small).node_ids
        churn = churn_from_events(spark, stages.tables / "machines", len(node_ids), until_us, seed)
        return {"churn": write_churn(folder, churn, node_ids)}

    def make_failure(folder: Path) -> dict[str, Any]:
        node_ids = read_workload(small).node_ids
        failed = fail_at_once(len(node_ids), study.failed_share, until_us, seed)
        return {"churn": write_churn(folder, failed, node_ids)}

    inputs = {"machines": stages.key("machines"), "workload": stages.key(name("churn-workload")), "until_us": until_us}
    stages.run(name("churn"), inputs, make_churn)
    stages.run(name("failure"), {**inputs, "share": study.failed_share, "seed": seed}, make_failure)


def _profile(spark: "SparkSession", study: Study, stages: Stages) -> None:
    """Profile the whole input and every sample, so that the report can compare them."""
    from gossamer.pipeline.profile import profile_folder, spread_columns

    folders: dict[str, Place] = {"data": stages.tables / "graph"}
    for sample in range(1, study.samples + 1):
        folders["sample" if sample == 1 else f"sample {sample}"] = sample_folder(stages.folder, "workload", sample)

    def make(folder: Path) -> dict[str, Any]:
        found = {name: profile_folder(spark, path, study.kind != EDGES) for name, path in folders.items()}
        write_json(folder / "profile.json", {name: each.figures() for name, each in found.items()})
        return {"spreads": write_table("spreads", folder / "spreads.parquet", spread_columns(found))}

    stages.run("profile", {path.name: stages.key(path.name) for path in folders.values()}, make)
