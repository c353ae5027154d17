"""The runs of a study, and the tables of their results."""

import hashlib
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from gossamer.model.tables.folders import write_json
from gossamer.model.tables.measures import FIGURES, figure_labels
from gossamer.model.tables.schemas import SCHEMAS, write_table
from gossamer.model.values.progress import Progress
from gossamer.model.values.run import Run
from gossamer.model.values.time import SECOND_US
from gossamer.pipeline.stages import Stages
from gossamer.pipeline.study_settings import Candidate, Study
from gossamer.pipeline.sweep import Failure, sweep
from gossamer.simulator.pool import run_key

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The kinds of runs. `live` builds use the small network and nodes that know others only from messages; `small` builds are
# those of the same systems, in the same network, as `build` has them.
BUILD, SMALL, LIVE, CHURN, FAILURE = "build", "small", "live", "churn", "failure"


class WantedRun(msgspec.Struct, frozen=True):
    """A run of a study: its label in the report, its kind, and the number of its sample from 1."""

    label: str
    kind: str
    sample: int
    run: Run


def sample_folder(folder: Path, name: str, sample: int) -> Path:
    """The folder of a stage that is made for each sample; the first sample has no number."""
    return folder / (name if sample == 1 else f"{name}-{sample}")


def study_runs(study: Study, folder: Path) -> list[WantedRun]:
    """Every run of a study."""
    study = study.expanded()
    found = [
        each
        for sample in range(1, study.samples + 1)
        for each in (*_builds(study, folder, sample), *_simulations(study, folder, sample))
    ]
    return found


def _builds(study: Study, folder: Path, sample: int) -> list[WantedRun]:
    live = study.live_systems or ()
    compared = {candidate.system for candidate in live}
    small = tuple(candidate for candidate in study.systems if candidate.system in compared)
    groups = (
        (BUILD, study.systems, "workload", "cycle"),
        (SMALL, small, "churn-workload", "cycle"),
        (LIVE, live, "churn-workload", "event"),
    )
    found = []
    for kind, candidates, workload, engine in groups:
        for candidate in candidates:
            # Also where the system draws nothing: the nodes that fail are drawn, and all systems must lose the same.
            for seed in study.seeds:
                run = Run(
                    system=candidate.system,
                    parameters=candidate.parameters,
                    seed=seed,
                    workload=str(sample_folder(folder, workload, sample)),
                    engine="event" if engine == "event" else "cycle",
                    cycle_limit=candidate.cycle_limit,
                    failed_share=study.failed_share,
                )
                found.append(WantedRun(candidate.name(), kind, sample, run))
    return found


def _simulations(study: Study, folder: Path, sample: int) -> list[WantedRun]:
    found = []
    for candidate in study.churn_systems:
        carried_by = candidate.disseminations or study.disseminations
        for dissemination, kind, seed in product(carried_by, (CHURN, FAILURE), study.seeds):
            run = _simulation(study, candidate, dissemination, seed, folder, kind, sample)
            found.append(WantedRun(f"{candidate.name()}, {dissemination}", kind, sample, run))
    return found


def _simulation(
    study: Study, candidate: Candidate, dissemination: str, seed: int, folder: Path, kind: str, sample: int
) -> Run:
    return Run(
        system=candidate.system,
        parameters=candidate.parameters,
        seed=seed,
        workload=str(sample_folder(folder, "churn-workload", sample)),
        engine="event",
        until_us=int(study.churn_minutes * 60 * SECOND_US),
        churn=str(sample_folder(folder, kind, sample)),
        dissemination=dissemination,
        dissemination_parameters=candidate.dissemination_parameters,
        event_count=study.churn_events,
    )


def write_results(spark: "SparkSession", study: Study, stages: Stages, progress: Progress) -> None:
    """The stage of all runs: results.parquet and failures.parquet."""
    wanted = study_runs(study, stages.folder)
    names = [
        sample_folder(Path(), name, sample).name
        for sample in range(1, study.samples + 1)
        for name in ("workload", "churn-workload", "churn", "failure")
    ]
    inputs = msgspec.to_builtins({"workloads": [stages.key(name) for name in names], "runs": wanted})
    for each in inputs["runs"]:
        each["run"] |= {"workload": "", "churn": ""}
    # Results are stored by run, which names the workload by its path. The token separates different workloads there.
    token = hashlib.sha256("".join(inputs["workloads"]).encode()).hexdigest()[:16]

    def carry_out(folder: Path) -> dict[str, Any]:
        # Runs of the event engine take longest: they come first, so that no core waits for one of them at the end.
        runs = sorted((each.run for each in wanted), key=lambda run: run.engine != "event")
        swept = sweep(spark, runs, stages.folder / "runs" / token, progress, study.run_seconds)
        rows = [_row(each, found) for each in wanted if (found := swept.metrics.get(run_key(each.run))) is not None]
        columns = dict.fromkeys((*SCHEMAS["results"].required.names, *(name for row in rows for name in row)))
        table = {name: [row.get(name) for row in rows] for name in columns}
        write_table("results", folder / "results.parquet", table)
        write_json(folder / FIGURES, figure_labels())
        write_table("failures", folder / "failures.parquet", _failure_columns(swept.failures))
        failed = failure_sentences(wanted, swept.failures)
        return {"results": len(rows), "failures": len(failed), "failed": failed}

    stages.run("results", inputs, carry_out)


def _row(wanted: WantedRun, metrics: Mapping[str, Any]) -> dict[str, Any]:
    run = wanted.run
    numbers = {name: value for name, value in metrics.items() if isinstance(value, int | float)}
    told = {"system": run.system, "seed": run.seed, "sample": wanted.sample}
    return {
        "label": wanted.label,
        "kind": wanted.kind,
        **numbers,
        **_degree_figures(metrics),
        **told,
        "metrics": msgspec.json.encode(metrics).decode(),
    }


def _degree_figures(metrics: Mapping[str, Any]) -> dict[str, int]:
    """The 99th percentile of degrees: the smallest degree that at least 99% of the nodes do not exceed."""
    degrees = metrics.get("degrees")
    if not degrees:
        return {}
    pairs = sorted(zip(degrees["degree"], degrees["nodes"], strict=True))
    total, seen = sum(nodes for _, nodes in pairs), 0
    for degree, nodes in pairs:
        seen += nodes
        if 100 * seen >= 99 * total:
            return {"p99_degree": int(degree)}
    return {}


def failure_sentences(wanted: Sequence[WantedRun], failures: Sequence[Failure]) -> list[str]:
    """One sentence for each failed run of the study: its label, its kind, its seed and the reason."""
    reasons = {run_key(failure.run): failure.reason for failure in failures}
    return [
        f"{each.label} ({each.kind}, seed {each.run.seed}{f', sample {each.sample}' if each.sample > 1 else ''}) failed: "
        f"{reasons[run_key(each.run)]}"
        for each in wanted
        if run_key(each.run) in reasons
    ]


def _failure_columns(failures: Sequence[Failure]) -> dict[str, list[Any]]:
    return {
        "system": [failure.run.system for failure in failures],
        "seed": [failure.run.seed for failure in failures],
        "run": [run_key(failure.run).decode() for failure in failures],
        "reason": [failure.reason for failure in failures],
    }
