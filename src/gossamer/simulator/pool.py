"""Carries out many runs on this machine, with one process for each core, and stores each result when its run ends.

The name of a stored result is a hash of the run and of the code. A list of runs that was interrupted continues where it
stopped, and after a change of the code every run is computed again.
"""

import hashlib
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np

import gossamer
from gossamer.model.tables.measures import load_measures, measure_modules
from gossamer.model.values.errors import InputError
from gossamer.model.values.progress import Progress
from gossamer.model.values.run import Experiment, Run
from gossamer.protocols.contract.system import load
from gossamer.simulator.execute import execute
from gossamer.systems import find_system, module_of

AnyRun = TypeVar("AnyRun", bound=Run | Experiment)


def execute_all(
    runs: Sequence[Run | Experiment], kept: Path, jobs: int, progress: Progress
) -> dict[bytes, dict[str, Any]]:
    """The metrics of every run, by `run_key`, with its CPU time (`cpu_seconds`). Equal runs are computed once."""
    wanted = {run_key(run): resolved(run) for run in runs}
    done = {key: found for key, run in wanted.items() if (found := kept_result(kept, run)) is not None}
    todo = [run for key, run in wanted.items() if key not in done]
    progress("runs", len(done), len(wanted))
    if not todo:
        return done
    kept.mkdir(parents=True, exist_ok=True)
    # Long runs first, so that no core waits for a long run at the end.
    todo.sort(key=_size, reverse=True)
    # Spawn instead of fork, because numba and pyarrow start threads.
    with ProcessPoolExecutor(
        min(jobs, len(todo)),
        mp_context=get_context("spawn"),
        initializer=load_measures,
        initargs=(measure_modules(),),
    ) as pool:
        waiting = {pool.submit(_timed_metrics, run): run for run in todo}
        try:
            for finished in as_completed(waiting):
                run = waiting[finished]
                done[run_key(run)] = finished.result()
                keep_result(kept, run, done[run_key(run)])
                progress("runs", len(done), len(wanted))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return done


def run_key(run: Run | Experiment) -> bytes:
    """The key of a run; equal runs have equal keys."""
    return msgspec.json.encode(resolved(run))


def resolved(run: AnyRun) -> AnyRun:
    """The run with the module of its system, if the system is another package's: workers import it by name."""
    find_system(run.system, run.module)
    dissemination = run.dissemination if isinstance(run, Run) else None
    module = module_of(run.system) or module_of(dissemination or "")
    return msgspec.structs.replace(run, module=module) if module else run


def run_metrics(run: Run | Experiment) -> dict[str, Any]:
    """The part of a run's result that is stored: its metrics and degrees."""
    if isinstance(run, Experiment):
        return experiment_metrics(run)
    result = execute(run)
    kept = {
        table: {name: np.asarray(column).tolist() for name, column in result.tables[table].items()}
        for table in ("degrees", "view_degrees")
        if table in result.tables
    }
    return {**result.metrics, **kept}


def _timed_metrics(run: Run | Experiment) -> dict[str, Any]:
    began = os.times()
    metrics = run_metrics(run)
    ended = os.times()
    return {**metrics, "cpu_seconds": ended.user - began.user + ended.system - began.system}


def experiment_metrics(experiment: Experiment) -> dict[str, Any]:
    """Call the function that an experiment names."""
    system = find_system(experiment.system, experiment.module)
    function = getattr(load(system.experiments), experiment.name, None) if system.experiments else None
    if function is None:
        raise InputError(f"{system.name} has no experiment {experiment.name!r}")
    metrics: dict[str, Any] = function(seed=experiment.seed, **experiment.arguments, **experiment.data)
    return metrics


# The size of a workload that is read from a file is not known in advance; it may be the largest.
_UNKNOWN = 10**9


def _size(run: Run | Experiment) -> int:
    if isinstance(run, Experiment):
        return int(run.arguments.get("nodes", _UNKNOWN if run.data else 0))
    law = run.workload
    return _UNKNOWN if isinstance(law, str) else law.nodes * (20 if run.engine == "event" else 1)


@cache
def code_hash(*more: str, modules: tuple[str, ...] = ()) -> str:
    """A hash of the source of all rooms that a result depends on, of more rooms, and of modules of other packages.

    Exhibits only choose runs and read their metrics, so that a change of an exhibit keeps the stored results.
    """
    root = Path(str(gossamer.__file__)).parent
    rooms = ("kernels", "model", "planners", "protocols", "simulator", "systems", "workloads", *more)
    places = [root / room for room in rooms] + [_source(module) for module in modules]
    digest = hashlib.sha256()
    for place in places:
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            if path.parent.name != "exhibits":
                digest.update(path.read_bytes())
    return digest.hexdigest()


def _source(module: str) -> Path:
    """The folder of a module's package, or the file of a module without a package."""
    path = Path(str(import_module(module).__file__))
    return path.parent if "." in module or path.name == "__init__.py" else path


def _name(run: Run | Experiment) -> str:
    module = resolved(run).module
    code = code_hash(modules=((module,) if module else ()) + measure_modules())
    return hashlib.sha256(run_key(run) + code.encode()).hexdigest()[:32] + ".json"


def kept_result(kept: Path, run: Run | Experiment) -> dict[str, Any] | None:
    """The stored result of a run, if this code has computed it before."""
    try:
        content = msgspec.json.decode((kept / _name(run)).read_bytes(), type=dict[str, Any])
    except (OSError, ValueError):
        return None
    return content


def keep_result(kept: Path, run: Run | Experiment, metrics: dict[str, Any]) -> None:
    """Store the result of a run."""
    making = kept / f".{_name(run)}.{os.getpid()}"
    making.write_bytes(msgspec.json.encode(metrics))
    making.replace(kept / _name(run))
