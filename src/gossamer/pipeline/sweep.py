"""Carries out many runs as Spark tasks, one run for each task.

Results are stored as they arrive, and a failed run does not stop the others.
`simulator/pool.py` does the same with processes. Both store results in the same form, so neither repeats a run that the
other has finished.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from gossamer.model.tables.measures import load_measures, measure_modules
from gossamer.model.values.progress import Progress
from gossamer.model.values.run import Run
from gossamer.pipeline.failures import sentence_for
from gossamer.pipeline.session import on_worker
from gossamer.simulator.pool import keep_result, kept_result, resolved, run_key, run_metrics

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    import pyarrow as pa
    from pyspark.sql import SparkSession

# Chosen: one day; a study may set less.
LIMIT_SECONDS = 86_400.0
# Chosen: a process that was killed for lack of memory may succeed at the second attempt; a third would not help.
ATTEMPTS = 2
# Chosen: the number of driver threads, each of which waits for one task.
AT_ONCE_MAX = 64


@dataclass(frozen=True)
class Failure:
    """A run that failed, and the reason."""

    run: Run
    reason: str


@dataclass(frozen=True)
class Swept:
    """The metrics of runs by `run_key`, and the runs that failed."""

    metrics: dict[bytes, dict[str, Any]]
    failures: list[Failure]


def sweep(
    spark: "SparkSession", runs: Sequence[Run], kept: Path, progress: Progress, limit_seconds: float = LIMIT_SECONDS
) -> Swept:
    """Carry out the runs that have no stored result.

    A result is stored when its run ends, so an interrupted sweep resumes.
    """
    wanted = {run_key(run): resolved(run) for run in runs}
    done = {key: found for key, run in wanted.items() if (found := kept_result(kept, run)) is not None}
    todo = [run for key, run in wanted.items() if key not in done]
    failures: list[Failure] = []
    kept.mkdir(parents=True, exist_ok=True)
    progress("runs", len(done), len(wanted))
    # Each run is a separate job, so that a failure affects only its own job. There are a few jobs for each core, so
    # that no core waits for the driver.
    pool = ThreadPoolExecutor(min(int(spark.conf.get("spark.sql.shuffle.partitions") or 8), AT_ONCE_MAX))
    try:
        waiting = {pool.submit(_job, spark, run_key(run), limit_seconds): run for run in todo}
        for ended in as_completed(waiting):
            run, (metrics, reason) = waiting[ended], ended.result()
            if metrics is None:
                failures.append(Failure(run, reason))
            else:
                keep_result(kept, run, metrics)
                done[run_key(run)] = metrics
            progress("runs", len(done) + len(failures), len(wanted))
    finally:
        # After Ctrl-C the threads end together with the session.
        pool.shutdown(wait=False, cancel_futures=True)
    failures.sort(key=lambda failure: run_key(failure.run))
    return Swept(done, failures)


def _job(spark: "SparkSession", text: bytes, limit_seconds: float) -> tuple[dict[str, Any] | None, str]:
    """Carry out one run as one task. Spark repeats the task on another worker if its worker is lost."""
    execute_row = on_worker(__name__, "execute_row", text, limit_seconds, measure_modules())
    try:
        # Take the whole result: Spark does not reuse a worker with unread rows, and a new worker takes a second to
        # start.
        table = spark.range(0, 1, 1, 1).mapInArrow(execute_row, "metrics binary, reason string").toArrow()
    except Exception as error:
        return None, f"the task failed: {_sentence(error)}"
    (row,) = table.to_pylist()
    return (msgspec.json.decode(row["metrics"]) if row["metrics"] else None), row["reason"]


def _sentence(error: Exception) -> str:
    """The cause of a failed task if it is known, or the first line of Spark's message."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return (sentence_for(str(error)) or lines[0])[:300]


def execute_row(
    text: bytes, limit_seconds: float, measures: Sequence[str], batches: "Iterator[pa.RecordBatch]"
) -> "Iterator[pa.RecordBatch]":
    """In a worker: carry out the run and return one row with its metrics or the reason of its failure."""
    import pyarrow as pa

    for _ in batches:
        metrics, reason = isolated(partial(_carry_out, text, measures), limit_seconds)
        yield pa.RecordBatch.from_pydict({"metrics": [metrics], "reason": [reason]})


def _carry_out(text: bytes, measures: Sequence[str]) -> bytes:
    load_measures(measures)
    # The time of one core: a run that shares its core with other programs takes longer, but costs the same.
    began = time.process_time()
    metrics = run_metrics(msgspec.json.decode(text, type=Run))
    return msgspec.json.encode({**metrics, "run_seconds": round(time.process_time() - began, 3)})


class _Runner:
    """A process of a worker that does one piece of work after another. It ends together with the worker.

    It is forked, because a new interpreter takes a second to start, and it is kept, because loading the compiled
    kernels takes another second.
    """

    def __init__(self) -> None:
        from multiprocessing import get_context

        context = get_context("fork")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(self.connection, theirs), daemon=True)
        self.process.start()
        theirs.close()

    def end(self) -> int | None:
        """Stop the process and return its exit code."""
        self.process.join(timeout=1)
        self.process.kill()
        self.process.join()
        self.connection.close()
        return self.process.exitcode


# The runner of this worker, after it was started.
_runners: list[_Runner] = []


def isolated(work: Callable[[], Any], limit_seconds: float) -> tuple[Any, str]:
    """In a worker: do some work in a separate process. Returns its result, or None and the reason why there is none."""
    for _ in range(ATTEMPTS):
        runner = _runners.pop() if _runners else _Runner()
        try:
            began = time.monotonic()
            runner.connection.send(work)
            # The time is also read: on a busy machine the result may be there before this process waits for it.
            if not runner.connection.poll(limit_seconds) or time.monotonic() - began > limit_seconds:
                runner.process.kill()
                runner.end()
                return None, f"stopped: it took longer than {limit_seconds:g} s"
            found: tuple[Any, str] = runner.connection.recv()
        except (EOFError, OSError):
            code = runner.end()
            continue
        _runners.append(runner)
        return found
    return None, f"its process died with exit code {code}, {ATTEMPTS} times"


def _serve(unused: "Connection", there: "Connection") -> None:
    unused.close()
    while True:
        try:
            work = there.recv()
        except EOFError:
            return
        try:
            there.send((work(), ""))
        except Exception as error:
            there.send((None, f"{type(error).__name__}: {error}"))
