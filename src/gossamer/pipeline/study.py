"""A whole study in stages: raw data, tables, a workload, runs of every system, measurements.

A stage is a folder with a manifest. It is skipped when its manifest has the same hash of inputs, settings and code. A
stage is written under a temporary name and then renamed, so a study can be interrupted at any time and run again. If
some runs failed, their stage is not finished, and a rerun repeats those runs.
"""

import hashlib
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import Meta

from gossamer.model.tables.folders import write_json
from gossamer.model.tables.measures import FIGURES, figure_labels
from gossamer.model.tables.schemas import SCHEMAS, write_table
from gossamer.model.values.errors import InputError
from gossamer.model.values.progress import Progress
from gossamer.model.values.run import CYCLE_LIMIT, Run
from gossamer.model.values.time import SECOND_US
from gossamer.pipeline.stages import Stages
from gossamer.pipeline.sweep import LIMIT_SECONDS, Failure, sweep
from gossamer.simulator.pool import run_key
from gossamer.systems import (
    StudyEntry,
    System,
    all_disseminations,
    all_systems,
    check_dissemination,
    find_system,
    read_parameters,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_Count = Annotated[int, Meta(ge=1)]


class Candidate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A system with its parameters, and its label in the report."""

    system: str
    parameters: dict[str, Any] = {}
    label: str = ""
    # Under churn: the disseminations to run instead of the study's own, and their parameters.
    disseminations: tuple[str, ...] = ()
    dissemination_parameters: dict[str, Any] = {}
    # The cycles after which a build ends even if its links still change.
    cycle_limit: _Count = CYCLE_LIMIT

    def name(self) -> str:
        """The label in the report."""
        return self.label or self.system


def _candidates(entries: Callable[[System], tuple[StudyEntry, ...]]) -> tuple[Candidate, ...]:
    """The study entries of all systems.

    Central systems come last; systems that know their neighbours' topics come first.
    """
    systems = sorted(all_systems().values(), key=lambda system: (system.is_central, -system.knows))
    return tuple(
        Candidate(
            system.name,
            dict(entry.parameters),
            entry.label,
            entry.disseminations,
            dict(entry.dissemination_parameters),
            entry.cycle_limit,
        )
        for system in systems
        for entry in entries(system)
    )


def _study_disseminations() -> tuple[str, ...]:
    return tuple(name for name, dissemination in all_disseminations().items() if dissemination.in_study)


class Study(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of a study. Every field can be set in a TOML file."""

    seed: int = 1
    # A file of friendships; without one, friendships are generated, including bad lines.
    edges: str | None = None
    users: _Count = 200_000
    mean_degree: Annotated[float, Meta(gt=0)] = 20.0
    # A file of machine events; without one, a trace is generated.
    events: str | None = None
    machines: _Count = 12_500
    max_bad: Annotated[float, Meta(ge=0, le=1)] = 0.25
    # The sample on which the systems run.
    nodes: _Count = 2_000
    sample_seeds: _Count = 3
    seeds: tuple[int, ...] = (1, 2, 3)
    systems: tuple[Candidate, ...] = msgspec.field(default_factory=lambda: _candidates(lambda system: system.study))
    # Simulations under churn with published messages use a smaller network.
    churn_nodes: _Count = 300
    churn_minutes: Annotated[float, Meta(gt=0, le=1440)] = 10.0
    churn_events: _Count = 50
    churn_systems: tuple[Candidate, ...] = msgspec.field(
        default_factory=lambda: _candidates(lambda system: system.churn_study)
    )
    disseminations: tuple[str, ...] = msgspec.field(default_factory=_study_disseminations)
    # This share of the nodes fails at once: in every built overlay, without repair, and in simulations, which repair
    # it.
    failed_share: Annotated[float, Meta(gt=0, lt=1)] = 0.2
    # A run that takes longer is stopped and listed among the failures.
    run_seconds: Annotated[float, Meta(gt=0, le=LIMIT_SECONDS)] = LIMIT_SECONDS

    def check(self) -> None:
        """Check every system and parameter before any work is done."""
        for candidate in self.systems:
            read_parameters(find_system(candidate.system), candidate.parameters)
        for candidate in self.churn_systems:
            for dissemination in candidate.disseminations or self.disseminations:
                system = find_system(candidate.system)
                read_parameters(system, candidate.parameters)
                check_dissemination(system, dissemination, candidate.dissemination_parameters)
        if not self.seeds:
            raise InputError("a study needs at least one seed")
        if self.churn_nodes > self.nodes or (self.edges is None and self.nodes > self.users):
            raise InputError(
                "`churn_nodes` must be at most `nodes`, and `nodes` at most `users`: each is a sample of the next"
            )


def read_study(path: Path | None) -> Study:
    """Read a study from a TOML file, or take the default study."""
    if path is None:
        return Study()
    try:
        study = msgspec.toml.decode(path.read_bytes(), type=Study, strict=False)
    except msgspec.ValidationError as error:
        raise InputError(f"{path}: {error}; known settings: {', '.join(Study.__struct_fields__)}") from None
    except msgspec.DecodeError as error:
        raise InputError(f"{path} is not TOML: {error}") from None
    study.check()
    return study


# The files of a folder of real data sets that a study can read; the first that exists is used.
REAL_EDGES = ("facebook100-cornell5/cornell5_edges.txt.gz", "ego-facebook/facebook_combined.txt.gz")
REAL_EVENTS = ("google-2011-machines/part-00000-of-00001.csv.gz",)


def on_real_data(study: Study, folder: Path | None) -> Study:
    """The same study, with the real data sets of a folder as its input."""
    if folder is None:
        return study
    found = []
    for names in (REAL_EDGES, REAL_EVENTS):
        there = [folder / name for name in names if (folder / name).is_file()]
        if not there:
            raise InputError(f"{folder} has none of {', '.join(names)}")
        found.append(str(there[0]))
    return msgspec.structs.replace(study, edges=found[0], events=found[1])


def run_study(
    spark: "SparkSession", study: Study, folder: Path, progress: Progress, said: Callable[[str], None]
) -> Stages:
    """Carry out all stages in order."""
    study.check()
    folder.mkdir(parents=True, exist_ok=True)
    stages = Stages(folder, said)
    edges, events = _raw(study, stages)
    graph = _ingest(spark, study, stages, edges, events)
    _sample(spark, study, stages, graph)
    _results(spark, study, stages, progress)
    return stages


def _raw(study: Study, stages: Stages) -> tuple[Path, Path]:
    """The raw files: those of the study's settings, or generated ones."""
    from gossamer.workloads.raw import write_raw_edges, write_raw_events

    def make(folder: Path) -> dict[str, Any]:
        rows: dict[str, Any] = {}
        if study.edges is None:
            rows["edges"] = vars(write_raw_edges(folder / "edges.txt", study.users, study.mean_degree, study.seed))
        if study.events is None:
            rows["events"] = vars(write_raw_events(folder / "events.csv.gz", study.machines, study.seed))
        return rows

    inputs = {
        "seed": study.seed,
        "users": study.users if study.edges is None else study.edges,
        "mean_degree": study.mean_degree,
        "machines": study.machines if study.events is None else study.events,
    }
    raw = stages.run("raw", inputs, make)
    return (
        Path(study.edges) if study.edges else raw / "edges.txt",
        Path(study.events) if study.events else raw / "events.csv.gz",
    )


def _files(path: Path, stages: Stages) -> "list[Path]":
    from gossamer.pipeline.inputs import find_inputs

    found = find_inputs(str(path))
    if found.skipped:
        stages.said(found.skipped_sentence())
    return [file for file in found.files if isinstance(file, Path)]


def _ingest(spark: "SparkSession", study: Study, stages: Stages, edges: Path, events: Path) -> Path:
    from gossamer.model.tables.folders import file_sha256
    from gossamer.pipeline.ingest import Ingested, ingest_edges, ingest_machine_events

    def identity(path: Path) -> Any:
        # A generated file is identified by its stage, a given file by its content.
        return stages.key("raw") if stages.folder in path.parents else file_sha256(path)

    def rows(found: Ingested) -> dict[str, Any]:
        return {**vars(found.counts), "formats": found.format_facts()}

    files = _files(edges, stages)
    graph = stages.run(
        "graph",
        {"edges": [identity(file) for file in files], "max_bad": study.max_bad},
        lambda folder: rows(ingest_edges(spark, files, folder, False, study.max_bad)),
    )
    traces = _files(events, stages)
    stages.run(
        "machines",
        {"events": [identity(file) for file in traces], "max_bad": study.max_bad},
        lambda folder: rows(ingest_machine_events(spark, traces, folder, study.max_bad)),
    )
    return graph


def _sample(spark: "SparkSession", study: Study, stages: Stages, graph: Path) -> None:
    from gossamer.model.tables.workload import read_workload, write_churn
    from gossamer.pipeline.events import churn_from_events
    from gossamer.pipeline.profile import profile_folder, spread_columns
    from gossamer.pipeline.sample import write_sample
    from gossamer.workloads.churn import fail_at_once

    def sample(nodes: int) -> Callable[[Path], dict[str, Any]]:
        return lambda folder: write_sample(spark, graph, folder, nodes, study.sample_seeds, study.seed, "friends")

    common = {"graph": stages.key("graph"), "seeds": study.sample_seeds, "seed": study.seed}
    stages.run("workload", {**common, "nodes": study.nodes}, sample(study.nodes))
    small = stages.run("churn-workload", {**common, "nodes": study.churn_nodes}, sample(study.churn_nodes))
    until_us = int(study.churn_minutes * 60 * SECOND_US)

    def make_churn(folder: Path) -> dict[str, Any]:
        node_ids = read_workload(small).node_ids
        churn = churn_from_events(spark, stages.folder / "machines", len(node_ids), until_us, study.seed)
        return {"churn": write_churn(folder, churn, node_ids)}

    inputs = {"machines": stages.key("machines"), "workload": stages.key("churn-workload"), "until_us": until_us}
    stages.run("churn", inputs, make_churn)

    def make_failure(folder: Path) -> dict[str, Any]:
        node_ids = read_workload(small).node_ids
        return {
            "churn": write_churn(
                folder, fail_at_once(len(node_ids), study.failed_share, until_us, study.seed), node_ids
            )
        }

    stages.run("failure", {**inputs, "share": study.failed_share, "seed": study.seed}, make_failure)

    def make_profile(folder: Path) -> dict[str, Any]:
        found = {
            name: profile_folder(spark, path)
            for name, path in (("data", graph), ("sample", stages.folder / "workload"))
        }
        write_json(folder / "profile.json", {name: each.figures() for name, each in found.items()})
        return {"spreads": write_table("spreads", folder / "spreads.parquet", spread_columns(found))}

    stages.run("profile", {"graph": stages.key("graph"), "workload": stages.key("workload")}, make_profile)


def study_runs(study: Study, folder: Path) -> list[tuple[str, str, Run]]:
    """(label, kind, run) of every run of a study; the kind is build, churn or failure."""
    found = []
    for candidate in study.systems:
        for seed in study.seeds if find_system(candidate.system).needs_seed else study.seeds[:1]:
            run = Run(
                system=candidate.system,
                parameters=candidate.parameters,
                seed=seed,
                workload=str(folder / "workload"),
                cycle_limit=candidate.cycle_limit,
                failed_share=study.failed_share,
            )
            found.append((candidate.name(), "build", run))
    for candidate in study.churn_systems:
        carried_by = candidate.disseminations or study.disseminations
        for dissemination, what, seed in product(carried_by, ("churn", "failure"), study.seeds):
            run = Run(
                system=candidate.system,
                parameters=candidate.parameters,
                seed=seed,
                workload=str(folder / "churn-workload"),
                engine="event",
                until_us=int(study.churn_minutes * 60 * SECOND_US),
                churn=str(folder / what),
                dissemination=dissemination,
                dissemination_parameters=candidate.dissemination_parameters,
                event_count=study.churn_events,
            )
            found.append((f"{candidate.name()}, {dissemination}", what, run))
    return found


def _results(spark: "SparkSession", study: Study, stages: Stages, progress: Progress) -> None:
    wanted = study_runs(study, stages.folder)
    inputs = {
        "workloads": [stages.key(name) for name in ("workload", "churn-workload", "churn", "failure")],
        "runs": [[label, what, run] for label, what, run in wanted],
    }
    inputs = msgspec.to_builtins(inputs)
    inputs["runs"] = [[label, what, {**run, "workload": "", "churn": ""}] for label, what, run in inputs["runs"]]
    # Results are stored by run, which names the workload by its path. The token separates different workloads there.
    token = hashlib.sha256("".join(inputs["workloads"]).encode()).hexdigest()[:16]

    def carry_out(folder: Path) -> dict[str, Any]:
        runs = [run for _, _, run in wanted]
        swept = sweep(spark, runs, stages.folder / "runs" / token, progress, study.run_seconds)
        rows = []
        for label, what, run in wanted:
            metrics = swept.metrics.get(run_key(run))
            if metrics is not None:
                numbers = {name: value for name, value in metrics.items() if isinstance(value, int | float)}
                rows.append({"label": label, "kind": what, **numbers, "system": run.system, "seed": run.seed})
                rows[-1]["metrics"] = msgspec.json.encode(metrics).decode()
        names = dict.fromkeys((*SCHEMAS["results"].required.names, *(name for row in rows for name in row)))
        columns = {name: [row.get(name) for row in rows] for name in names}
        write_table("results", folder / "results.parquet", columns)
        write_json(folder / FIGURES, figure_labels())
        write_table("failures", folder / "failures.parquet", _failure_columns(swept.failures))
        failed = failure_sentences(wanted, swept.failures)
        return {"results": len(rows), "failures": len(failed), "failed": failed}

    stages.run("results", inputs, carry_out)


def failure_sentences(wanted: Sequence[tuple[str, str, Run]], failures: Sequence[Failure]) -> list[str]:
    """One sentence for each failed run of the study: its label, its kind, its seed and the reason."""
    reasons = {run_key(failure.run): failure.reason for failure in failures}
    return [
        f"{label} ({what}, seed {run.seed}) failed: {reasons[run_key(run)]}"
        for label, what, run in wanted
        if run_key(run) in reasons
    ]


def _failure_columns(failures: Sequence[Failure]) -> dict[str, list[Any]]:
    return {
        "system": [failure.run.system for failure in failures],
        "seed": [failure.run.seed for failure in failures],
        "run": [run_key(failure.run).decode() for failure in failures],
        "reason": [failure.reason for failure in failures],
    }
