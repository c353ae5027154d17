"""Starts Spark sessions: in process by default, on a cluster or over Spark Connect by one setting.

No other module of the pipeline depends on where it runs. The pipeline uses only the DataFrame API and Arrow functions,
no RDDs and no `sparkContext`, so the same code runs in process, on a cluster and over Connect.
"""

import logging
import os
import signal
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import gossamer
from gossamer.model.tables.measures import measure_modules
from gossamer.model.values.errors import InputError
from gossamer.pipeline.failures import explained
from gossamer.pipeline.java import find_java_home
from gossamer.systems import all_systems, module_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Chosen: in process, on all cores. The second value is the number of attempts for a task; with `local[*]` there is only
# one attempt, whatever spark.task.maxFailures says.
EMBEDDED = "local[*,4]"


@contextmanager
def spark_session(
    master: str | None = None,
    remote: str | None = None,
    driver_memory: str | None = None,
    conf: Sequence[str] = (),
) -> Iterator["SparkSession"]:
    """A session that ends with the block. `remote` is the address of Spark Connect, `master` that of a cluster.

    `conf` are settings of Spark as NAME=VALUE, which replace ours. Failures of Spark with a known cause, such as a full disk
    or storage that Spark does not know, are raised as one sentence.
    """
    own = read_conf(conf)
    if master and remote:
        raise InputError("`master` and `remote` exclude each other: one is a cluster, the other Spark Connect")
    _prepare_environment(embedded=not (master or remote))
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("gossamer")
    builder = builder.remote(remote) if remote else builder.master(master or EMBEDDED)
    settings = {} if remote else _settings(driver_memory, embedded=not master)
    for name, value in (settings | own).items():
        builder = builder.config(name, value)
    with _quiet_java() as output:
        try:
            session = builder.getOrCreate()
        except Exception as error:
            raise InputError(f"Spark did not start: {_reason(error, output)}") from None
        _check_taken(session, own)
    # Workers fetch the packages when they first need them, so the files stay until the session ends.
    with tempfile.TemporaryDirectory() as shipped, _quiet_py4j(), _stopping(session):
        if not remote:
            session.sparkContext.setLogLevel("ERROR")
            # PySpark's handler of Ctrl-C calls Java, which fails if the interrupted code was calling Java.
            signal.signal(signal.SIGINT, signal.default_int_handler)
        if master or remote:
            _ship_packages(session, Path(shipped))
        with explained():
            yield session


def read_conf(texts: Sequence[str]) -> dict[str, str]:
    """Settings of Spark, given as NAME=VALUE."""
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.startswith("spark.") or not value:
            raise InputError(f"`conf` must be NAME=VALUE with a name that starts with spark., got {text!r}")
        found[name.strip()] = value.strip()
    return found


def _check_taken(session: "SparkSession", own: dict[str, str]) -> None:
    """Refuse settings that have no effect: those of a running session or server, which only its start can set."""
    for name, value in own.items():
        if session.conf.get(name, None) != value:
            raise InputError(f"`conf` {name}={value} has no effect here: it must be set where Spark is started")


@contextmanager
def _stopping(session: "SparkSession") -> Iterator[None]:
    try:
        yield
    finally:
        # After Ctrl-C Java may have ended already, and stopping it fails.
        with suppress(Exception):
            session.stop()


@contextmanager
def _quiet_py4j() -> Iterator[None]:
    """Drop what py4j logs about a broken connection to Java, which raises an exception where it matters.

    py4j logs a part of it on the root logger, whose level and other records belong to the program that called us.
    """
    root, own = logging.getLogger(), logging.getLogger("py4j")
    before = own.level
    root.addFilter(_is_not_of_py4j)
    own.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        root.removeFilter(_is_not_of_py4j)
        own.setLevel(before)


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    return Path(record.pathname).parent.name != "py4j"


@contextmanager
def _quiet_java() -> Iterator[IO[bytes]]:
    """Send the standard error of Java and its workers, which they inherit, to a file."""
    with tempfile.TemporaryFile() as output:
        ours = os.dup(2)
        try:
            os.dup2(output.fileno(), 2)
            yield output
        finally:
            os.dup2(ours, 2)
            os.close(ours)


def _reason(error: Exception, output: IO[bytes]) -> str:
    output.seek(0)
    lines = [
        line for line in output.read().decode(errors="replace").splitlines() if "rror" in line or "xception" in line
    ]
    return lines[0].strip() if lines else str(error).strip().splitlines()[0]


def on_worker(module: str, name: str, *bound: Any) -> Callable[[Any], Any]:
    """A function that a worker calls as `module.name(*bound, rows)`.

    It is sent by value and imports the module in the worker, so that a worker without the needed libraries fails its
    task with one sentence.
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


def _ship_packages(session: "SparkSession", folder: Path) -> None:
    """Send this package, and the packages of other systems and measures, to the workers of a cluster.

    The libraries that they need (numpy, numba, pyarrow) must be installed on the workers.
    """
    others = {module_of(system) for system in all_systems()} | set(measure_modules())
    for name in ("gossamer", *sorted(others - {""})):
        session.addArtifacts(str(pack(name, folder)), pyfile=True)


def pack(module: str, folder: Path) -> Path:
    """A zip of the package that a module is in, with its data files."""
    root = Path(str(import_module(module.partition(".")[0]).__file__)).parent
    archive = folder / f"{root.name}.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in sorted(root.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                packed.write(path, path.relative_to(root.parent))
    return archive


def _prepare_environment(embedded: bool) -> None:
    """Set the environment variables that Spark and its Python workers read."""
    os.environ["JAVA_HOME"] = str(find_java_home())
    # Otherwise workers use the first `python3` on the path.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    # A task has one core, so kernels must not start threads.
    os.environ.setdefault("NUMBA_NUM_THREADS", "1")
    if embedded:
        # Otherwise Spark resolves the name of the machine, which may fail on a laptop.
        os.environ.setdefault("SPARK_LOCAL_HOSTNAME", "localhost")


def _settings(driver_memory: str | None, embedded: bool) -> dict[str, str]:
    settings = {
        # Merges the partitions of small shuffles, and splits those of large ones.
        "spark.sql.adaptive.enabled": "true",
        # Rows of an Arrow batch for a Python function; a batch of ids takes a few MiB.
        "spark.sql.execution.arrow.maxRecordsPerBatch": "50000",
        # A failure in Arrow raises an error instead of silently taking a slow path.
        "spark.sql.execution.arrow.pyspark.fallback.enabled": "false",
        # Small, fast to read, and the codec of all other tables.
        "spark.sql.parquet.compression.codec": "zstd",
        # Times are microseconds since the start of a run, so no time zone matters; this one is the same everywhere.
        "spark.sql.session.timeZone": "UTC",
        # Chosen: rows of ids shrink to a fifth in a shuffle. With Spark's 64 MiB a partition would have five million
        # rows, and hash tables of that size are sorted on disk.
        "spark.sql.adaptive.advisoryPartitionSizeInBytes": "16m",
        "spark.ui.showConsoleProgress": "false",
    }
    if embedded:
        # The web interface is not used, and would take a port. A cluster keeps its own setting.
        settings["spark.ui.enabled"] = "false"
        # The initial number of partitions for the adaptive planner: enough for every core and for splitting a skewed
        # partition. On a cluster its own setting, or Spark's default of 200, applies.
        settings["spark.sql.shuffle.partitions"] = str(max(8, 4 * (os.cpu_count() or 1)))
        # Driver and executor are one process: it gets a quarter of the machine's memory, at most 8 GiB.
        settings["spark.driver.memory"] = driver_memory or f"{_embedded_memory_mib()}m"
        settings["spark.driver.host"] = settings["spark.driver.bindAddress"] = "127.0.0.1"
        # Hides the message of Log4j about its configuration.
        settings["spark.driver.extraJavaOptions"] = "-Dlog4j2.level=ERROR -XX:+UseParallelGC"
        return settings
    if driver_memory:
        settings["spark.driver.memory"] = driver_memory
    # Workers need the variables of `_prepare_environment` too. Kernels are compiled once on each machine.
    settings["spark.executorEnv.NUMBA_NUM_THREADS"] = "1"
    settings["spark.executorEnv.NUMBA_CACHE_DIR"] = str(
        Path(tempfile.gettempdir()) / f"gossamer-{gossamer.__version__}"
    )
    return settings


def _embedded_memory_mib() -> int:
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    return max(1024, min(8192, total // 4))
