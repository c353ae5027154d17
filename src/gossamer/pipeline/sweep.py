"""Many runs as Spark tasks: one run a task, results kept as they come, failures counted and not fatal.

The list of runs and the results are those of `simulator/pool.py`, which does the same with processes: what either has
done the other does not do again.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from gossamer.model.values.run import Run
from gossamer.simulator.pool import keep_result, kept_result, run_key, run_metrics

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Failure:
    """A run that did not end well, and what it said."""

    run: Run
    reason: str


@dataclass(frozen=True)
class Swept:
    """Metrics by `run_key`, how long each took, and what failed."""

    metrics: dict[bytes, dict[str, Any]]
    failures: list[Failure]


def sweep(spark: "SparkSession", runs: Sequence[Run], kept: Path, progress: Progress) -> Swept:
    """Carry out what is not kept yet."""
    wanted = {run_key(run): run for run in runs}
    done = {key: found for key, run in wanted.items() if (found := kept_result(kept, run)) is not None}
    todo = [run for key, run in wanted.items() if key not in done]
    failures: list[Failure] = []
    kept.mkdir(parents=True, exist_ok=True)
    # As many tasks in one job as a shuffle has, a few for each core: what a job has done is kept, and a kill costs one job.
    at_once = int(spark.conf.get("spark.sql.shuffle.partitions") or 8)
    progress("runs", len(done), len(wanted))
    for first in range(0, len(todo), at_once):
        batch = todo[first : first + at_once]
        for run, (metrics, reason) in zip(batch, _carry_out(spark, batch), strict=True):
            if metrics is None:
                failures.append(Failure(run, reason))
            else:
                keep_result(kept, run, metrics)
                done[run_key(run)] = metrics
        progress("runs", len(done) + len(failures), len(wanted))
    return Swept(done, failures)


def _carry_out(spark: "SparkSession", batch: Sequence[Run]) -> list[tuple[dict[str, Any] | None, str]]:
    """One job; if a worker died so often that the job was given up, each run by itself."""
    try:
        return _job(spark, batch)
    except Exception as error:
        if len(batch) == 1:
            return [(None, f"the task failed {str(error).strip().splitlines()[0][:300]}")]
        return [result for run in batch for result in _carry_out(spark, [run])]


def _job(spark: "SparkSession", batch: Sequence[Run]) -> list[tuple[dict[str, Any] | None, str]]:
    texts = [run_key(run) for run in batch]

    def execute_rows(batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        import pyarrow as pa

        for rows in batches:
            for number in map(int, rows.column("id").to_numpy()):
                metrics, reason = _attempt(texts[number])
                yield pa.RecordBatch.from_pydict({"id": [number], "metrics": [metrics], "reason": [reason]})

    # A row for each task: `range` makes as many partitions as rows. As many rows come back as a batch has.
    table = spark.range(0, len(batch), 1, len(batch)).mapInArrow(
        execute_rows, "id bigint, metrics binary, reason string"
    )
    found = {row["id"]: row for row in table.toArrow().to_pylist()}
    return [
        (msgspec.json.decode(found[number]["metrics"]) if found[number]["metrics"] else None, found[number]["reason"])
        for number in range(len(batch))
    ]


def _attempt(text: bytes) -> tuple[bytes | None, str]:
    """In a worker: carry one run out; what it raises is its result."""
    began = time.monotonic()
    try:
        metrics = run_metrics(msgspec.json.decode(text, type=Run))
    except Exception as error:
        return None, f"{type(error).__name__}: {error}"
    return msgspec.json.encode({**metrics, "run_seconds": round(time.monotonic() - began, 3)}), ""
