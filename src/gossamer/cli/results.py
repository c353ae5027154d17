"""The output of `build` and `simulate`: the same tables and metrics for every run."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from gossamer.cli.console import print_facts, print_json, print_table
from gossamer.cli.options import manifest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gossamer.model.values.run import Run
    from gossamer.simulator.execute import Result

# Names that tables and sentences show; JSON has all disconnected topics.
SHOWN = 10


def write_result(folder: Path, result: "Result", run: "Run", command: str, started: float) -> None:
    """Write the tables, metrics and manifest of a run."""
    from gossamer.model.tables.folders import write_json, write_manifest
    from gossamer.model.tables.schemas import write_table
    from gossamer.model.tables.workload import write_names, write_overlay

    rows = {"overlay": write_overlay(folder, result.overlay, result.workload.node_ids)}
    rows |= write_names(folder, result.workload)
    for name, columns in result.tables.items():
        rows[name] = write_table(name, folder / f"{name}.parquet", columns)
    write_json(folder / "metrics.json", result.metrics)
    content = manifest(command, run.seed, started, run_inputs(run), rows, run=run)
    content["inputs"]["interests"]["rows"] = result.workload.interest.subscription_count
    write_manifest(folder, content)


def run_inputs(run: "Run") -> dict[str, dict[str, Any]]:
    """The hash of every file that a run reads."""
    from gossamer.model.tables.folders import file_sha256
    from gossamer.model.tables.workload import CHURN, OVERLAY
    from gossamer.workloads.named import interests_file

    files = {"interests": interests_file(Path(str(run.workload)))}
    if run.churn is not None:
        churn = Path(run.churn)
        files["churn"] = churn / CHURN if (churn / CHURN).exists() else churn
    if run.links is not None:
        files["links"] = Path(run.links) / OVERLAY if Path(run.links).is_dir() else Path(run.links)
    if run.latency.startswith("matrix:"):
        files["latency"] = Path(run.latency.partition(":")[2])
    return {name: {"sha256": file_sha256(path)} for name, path in files.items()}


def connected_sentence(metrics: dict[str, Any]) -> str:
    """Whether every topic is connected; `disconnected_topics` has the names of those that are not."""
    disconnected = metrics["disconnected_topics"]
    if not disconnected:
        return "Every topic is connected."
    return f"{len(disconnected)} of {metrics['topics']} topics are disconnected: {some(disconnected)}."


def some(names: "Sequence[str]") -> str:
    """The first ten names."""
    return ", ".join(names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")


def most(names: "Sequence[str]", values: "Sequence[int]") -> dict[str, int]:
    """The names with the largest values, largest first."""
    order = sorted(range(len(names)), key=lambda place: -values[place])[:SHOWN]
    return {names[place]: int(values[place]) for place in order}


def show_most(title: str, values: dict[str, int], columns: list[str]) -> None:
    """A table of names with their values."""
    print_table(title, columns, [[name, f"{value:,}"] for name, value in values.items()])


def show_metrics(title: str, metrics: dict[str, Any], json: bool) -> None:
    """Metrics as JSON, or as a table with one line for each nested value."""
    if json:
        print_json(metrics)
        return
    flat: dict[str, Any] = {}
    for name, value in metrics.items():
        if isinstance(value, dict):
            flat |= {f"{name}: {inner}": deeper for inner, deeper in value.items()}
        else:
            flat[name] = value
    print_facts(title, flat)
