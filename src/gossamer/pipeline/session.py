"""The one place where a Spark session is made: embedded by default, a cluster or Spark Connect by one setting.

Nothing else in this room asks where it runs. DataFrame API and Arrow functions only: no RDDs and no `sparkContext`, so
that the same code runs in process, on a cluster and over Connect.
"""

import logging
import os
import signal
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import gossamer
from gossamer.model.tables.measures import measure_modules
from gossamer.model.values.errors import InputError
from gossamer.pipeline.java import find_java_home
from gossamer.systems import all_systems, module_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Chosen: embedded, on all cores; the second number is how often a task is tried. With `local[*]` it is once, whatever
# spark.task.maxFailures says.
EMBEDDED = "local[*,4]"


@contextmanager
def spark_session(
    master: str | None = None, remote: str | None = None, driver_memory: str | None = None
) -> Iterator["SparkSession"]:
    """A session for the length of a command; `remote` is a Spark Connect address, `master` a cluster's."""
    if master and remote:
        raise InputError("--master and --remote exclude each other: one is a cluster, the other Spark Connect")
    _prepare_environment(embedded=not (master or remote))
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("gossamer")
    if remote:
        builder = builder.remote(remote)
    else:
        builder = builder.master(master or EMBEDDED)
        for name, value in _settings(driver_memory, embedded=not master).items():
            builder = builder.config(name, value)
    with _quiet_java() as said:
        try:
            session = builder.getOrCreate()
        except Exception as error:
            raise InputError(f"Spark did not start: {_reason(error, said)}") from None
    # Workers fetch what is shipped when they first need it, so it stays until the end.
    with tempfile.TemporaryDirectory() as shipped, _stopping(session):
        if not remote:
            session.sparkContext.setLogLevel("ERROR")
            # PySpark's own way with Ctrl-C talks to Java from within the handler, while it may be talking already.
            signal.signal(signal.SIGINT, signal.default_int_handler)
        # A broken line to Java is an exception where it matters; py4j's log of it is not for users.
        logging.getLogger().setLevel(logging.CRITICAL)
        if master or remote:
            _ship_package(session, Path(shipped))
        yield session


@contextmanager
def _stopping(session: "SparkSession") -> Iterator[None]:
    try:
        yield
    finally:
        # After Ctrl-C Java may be gone already; that it cannot be asked to stop is no news to anybody.
        with suppress(Exception):
            session.stop()


@contextmanager
def _quiet_java() -> Iterator[IO[bytes]]:
    """Java and its workers inherit standard error; what they say there goes to a file of its own instead."""
    with tempfile.TemporaryFile() as said:
        ours = os.dup(2)
        try:
            os.dup2(said.fileno(), 2)
            yield said
        finally:
            os.dup2(ours, 2)
            os.close(ours)


def _reason(error: Exception, said: IO[bytes]) -> str:
    said.seek(0)
    lines = [line for line in said.read().decode(errors="replace").splitlines() if "rror" in line or "xception" in line]
    return lines[0].strip() if lines else str(error).strip().splitlines()[0]


def on_worker(module: str, name: str, *bound: Any) -> Callable[[Any], Any]:
    """A function of this package for a worker to call with rows, after what is bound; the package is found there.

    It travels by value and imports on arrival, so that a worker without what we need fails its task with one sentence.
    """

    def call(rows: Any) -> Any:
        import importlib
        import platform
        import sys

        try:
            function = getattr(importlib.import_module(module), name)
        except ModuleNotFoundError as error:
            raise RuntimeError(
                f"worker {platform.node()} has no {error.name}: install gossamer[sim] for {sys.executable} there, or set "
                "PYSPARK_PYTHON to a Python that has it"
            ) from None
        return function(*bound, rows)

    return call


def _ship_package(session: "SparkSession", folder: Path) -> None:
    """Workers of a cluster get this very code, and that of other people's systems, with their data files.

    The libraries that they need (numpy, numba, pyarrow) are installed on the workers.
    """
    others = {module_of(system) for system in all_systems()} | set(measure_modules())
    for name in ("gossamer", *sorted(others - {""})):
        # A system may be a module below its package: the whole package goes.
        root = Path(str(import_module(name.partition(".")[0]).__file__)).parent
        archive = folder / f"{root.name}.zip"
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
            for path in sorted(root.rglob("*")):
                if path.is_file() and "__pycache__" not in path.parts:
                    packed.write(path, path.relative_to(root.parent))
        session.addArtifacts(str(archive), pyfile=True)


def _prepare_environment(embedded: bool) -> None:
    """What Spark and its Python workers read from the environment."""
    os.environ["JAVA_HOME"] = str(find_java_home())
    # Otherwise workers take whatever `python3` is on the path.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    # One task is one core: a kernel must not start threads of its own.
    os.environ.setdefault("NUMBA_NUM_THREADS", "1")
    if embedded:
        # Otherwise the machine's name must resolve, which on a laptop it may not.
        os.environ.setdefault("SPARK_LOCAL_HOSTNAME", "localhost")


def _settings(driver_memory: str | None, embedded: bool) -> dict[str, str]:
    settings = {
        # Shuffles of small tables are merged, of large ones split.
        "spark.sql.adaptive.enabled": "true",
        # Python functions get Arrow batches; a batch of this many rows is a few MiB of ids.
        "spark.sql.execution.arrow.maxRecordsPerBatch": "50000",
        # A failure in Arrow is an error, not a silent slow path.
        "spark.sql.execution.arrow.pyspark.fallback.enabled": "false",
        # Small, quick to read, and what the rest of our tables use.
        "spark.sql.parquet.compression.codec": "zstd",
        # Times are microseconds from a run's start; nothing depends on where the machine stands.
        "spark.sql.session.timeZone": "UTC",
        # Nobody looks at it, and it takes a port.
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    if embedded:
        # A start for the adaptive planner: enough for every core, and for a skewed partition to be split. A cluster's own
        # setting, or Spark's 200, stands there.
        settings["spark.sql.shuffle.partitions"] = str(max(8, 4 * (os.cpu_count() or 1)))
        # Driver and executor are one process here: a quarter of the machine, at most 8 GiB.
        settings["spark.driver.memory"] = driver_memory or f"{_embedded_memory_mib()}m"
        settings["spark.driver.host"] = settings["spark.driver.bindAddress"] = "127.0.0.1"
        # Log4j's own line about its configuration is not for users.
        settings["spark.driver.extraJavaOptions"] = "-Dlog4j2.level=ERROR -XX:+UseParallelGC"
        return settings
    if driver_memory:
        settings["spark.driver.memory"] = driver_memory
    # What `_prepare_environment` sets here must be so on the workers too. Kernels are compiled once for each machine.
    settings["spark.executorEnv.NUMBA_NUM_THREADS"] = "1"
    settings["spark.executorEnv.NUMBA_CACHE_DIR"] = str(
        Path(tempfile.gettempdir()) / f"gossamer-{gossamer.__version__}"
    )
    return settings


def _embedded_memory_mib() -> int:
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    return max(1024, min(8192, total // 4))


def spark_path(path: Path) -> str:
    """A local path as Spark wants it: absolute, so that it does not depend on where the driver was started."""
    return path.resolve().as_uri()
