"""Turns raw data into tables and accounts for every line.

lines = comments + quarantined + self-loops + merged + rows. The counts are taken while the rows are processed,
compared, and written to the manifest. Names become dense ids that do not depend on partitioning (`ids.py`).
"""

from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING

from gossamer.model.tables.schemas import SCHEMAS, check_table_types
from gossamer.model.values.errors import CheckFailed, InputError
from gossamer.pipeline.ids import dense_ids
from gossamer.pipeline.lines import EDGES, MACHINE_EVENTS, MEMBERSHIPS, LineKind, bad_lines, judge_lines, read_lines
from gossamer.pipeline.session import spark_path

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

# Chosen: a file of another kind has errors on nearly every line, a file that was cut off or edited by hand on a few.
MAX_BAD = 0.25


@dataclass(frozen=True)
class LineCounts:
    """How many lines were read, and what happened to them."""

    lines: int
    comments: int
    quarantined: int
    self_loops: int
    merged: int
    rows: int

    def check(self) -> None:
        """Check that no line was lost."""
        accounted = self.comments + self.quarantined + self.self_loops + self.merged + self.rows
        if accounted != self.lines:
            raise CheckFailed(f"{self.lines} lines were read and {accounted} are accounted for")


@dataclass(frozen=True)
class Ingested:
    """The line counts of an ingest, and its numbers of distinct names."""

    counts: LineCounts
    names: dict[str, int]


def ingest_edges(
    spark: "SparkSession", files: list[Path], folder: Path, directed: bool, max_bad: float = MAX_BAD
) -> Ingested:
    """Write edges(source, target[, weight, time]) and names(id, name). Undirected edges have source < target."""
    lines, good, kept = _read(spark, files, folder, EDGES, max_bad)
    ids = _ids(spark, good, ("source", "target"), folder / "names.parquet")
    from pyspark.sql import functions as f

    edges = _with_id(_with_id(good, ids, "source"), ids, "target")
    low, high = f.least("source", "target"), f.greatest("source", "target")
    if not directed:
        edges = edges.select(low.alias("source"), high.alias("target"), *kept)
    counts = _finish(edges, ("source", "target"), kept, folder / "edges.parquet", lines, "source = target")
    return Ingested(counts, {"nodes": ids.count()})


def ingest_memberships(spark: "SparkSession", files: list[Path], folder: Path, max_bad: float = MAX_BAD) -> Ingested:
    """Write interests(node, topic), where users are nodes and groups are topics, and the names of both."""
    lines, good, _ = _read(spark, files, folder, MEMBERSHIPS, max_bad)
    users = _ids(spark, good, ("user",), folder / "names.parquet")
    groups = _ids(spark, good, ("group",), folder / "topic_names.parquet")
    rows = _with_id(_with_id(good, users, "user"), groups, "group")
    rows = rows.withColumnsRenamed({"user": "node", "group": "topic"})
    counts = _finish(rows, ("node", "topic"), (), folder / "interests.parquet", lines, "false")
    return Ingested(counts, {"nodes": users.count(), "topics": groups.count()})


def ingest_machine_events(spark: "SparkSession", files: list[Path], folder: Path, max_bad: float = MAX_BAD) -> Ingested:
    """Write machine_events(at_us, node, event) and names; `event` is 0 ADD, 1 REMOVE or 2 UPDATE."""
    lines, good, _ = _read(spark, files, folder, MACHINE_EVENTS, max_bad)
    machines = _ids(spark, good, ("machine",), folder / "names.parquet")
    rows = _with_id(good, machines, "machine").withColumnsRenamed({"machine": "node", "time": "at_us"})
    path = folder / "machine_events.parquet"
    counts = _finish(rows, tuple(SCHEMAS["machine_events"].required.names), (), path, lines, "false")
    check_table_types("machine_events", path)
    return Ingested(counts, {"nodes": machines.count()})


@dataclass(frozen=True)
class _Lines:
    lines: int
    comments: int
    quarantined: int


def _read(
    spark: "SparkSession",
    files: list[Path],
    folder: Path,
    kind: LineKind,
    max_bad: float,
) -> tuple[_Lines, "DataFrame", tuple[str, ...]]:
    """Check the lines, write bad lines to quarantine and good lines to a temporary table.

    Returns the counts, the good lines, and the optional columns that have values.
    """
    from pyspark.sql import Observation
    from pyspark.sql import functions as f

    seen = Observation()
    numbered = [name for name in kind.optional if name in kind.numbers]
    used = [f.count(name).alias(name) for name in numbered]
    rows = judge_lines(read_lines(spark, files), kind)
    watched = rows.observe(
        seen,
        f.count(f.lit(1)).alias("lines"),
        f.coalesce(f.sum(f.col("is_comment").cast("bigint")), f.lit(0)).alias("comments"),
        f.coalesce(f.sum((f.col("reason") != "").cast("bigint")), f.lit(0)).alias("bad"),
        *used,
    )
    aside = folder / "lines.aside"
    good = watched.where("reason = '' and not is_comment").select(*kind.columns, *kind.optional)
    try:
        # The table is read once and deleted, so fast compression matters more than its size.
        good.write.mode("overwrite").option("compression", "lz4").parquet(spark_path(aside))
    except Exception as error:
        if "EOFException" in str(error) or "ZipException" in str(error) or "not in GZIP" in str(error):
            names = ", ".join(file.name for file in files if file.suffix == ".gz")
            raise InputError(f"one of {names} is cut off or not a gzip file; fetch the file again") from None
        raise
    found = seen.get
    counts = _Lines(int(found["lines"]), int(found["comments"]), int(found["bad"]))
    data_lines = counts.lines - counts.comments
    if data_lines == 0:
        raise InputError(f"{files[0]} has only comments")
    if counts.quarantined > max_bad * data_lines:
        first = rows.where("reason != ''").select("value", "reason").first()
        raise InputError(
            f"{counts.quarantined} of {data_lines} lines cannot be read as {'/'.join(kind.columns)} (for example "
            f"{first['value'][:60]!r}: {first['reason']}); is this the right kind? `max_bad` {max_bad:g} allows fewer"
        )
    _write_quarantine(spark, rows, files, folder, kind, counts.quarantined)
    kept = tuple(name for name in numbered if int(found[name]) > 0)
    return counts, spark.read.parquet(spark_path(aside)), kept


def _write_quarantine(
    spark: "SparkSession",
    rows: "DataFrame",
    files: list[Path],
    folder: Path,
    kind: LineKind,
    expected: int,
) -> None:
    path = spark_path(folder / "quarantine.parquet")
    bad_lines(spark, rows, files if expected else [], kind).write.parquet(path)
    written = spark.read.parquet(path).count()
    if written != expected:
        raise CheckFailed(f"{expected} lines are bad and {written} are in quarantine")


def _ids(spark: "SparkSession", rows: "DataFrame", columns: tuple[str, ...], path: Path) -> "DataFrame":
    """Write names(id, name) of all values in these columns, and read it back."""
    from pyspark.sql import functions as f

    names: DataFrame | None = None
    for column in columns:
        these = rows.select(f.col(column).alias("name"))
        names = these if names is None else names.union(these)
    assert names is not None
    partitions = int(spark.conf.get("spark.sql.shuffle.partitions") or 8)
    dense_ids(names, partitions).write.parquet(spark_path(path))
    return spark.read.parquet(spark_path(path))


def _with_id(rows: "DataFrame", ids: "DataFrame", column: str) -> "DataFrame":
    """The rows with a name replaced by its id."""
    from pyspark.sql import functions as f

    numbered = ids.select(f.col("id").alias(f"{column}_id"), f.col("name").alias(column))
    return rows.join(numbered, column).drop(column).withColumnRenamed(f"{column}_id", column)


def _finish(
    rows: "DataFrame", key: tuple[str, ...], kept: tuple[str, ...], path: Path, lines: _Lines, loop: str
) -> LineCounts:
    """Drop self-loops, merge rows with equal keys (keeping the smallest weight and time), write, and count."""
    from pyspark.sql import Observation
    from pyspark.sql import functions as f

    before, after = Observation(), Observation()
    loops: Column = f.coalesce(f.sum(f.expr(f"cast({loop} as bigint)")), f.lit(0)).alias("loops")
    rows = rows.select(*key, *kept).observe(before, f.count(f.lit(1)).alias("rows"), loops).where(f"not ({loop})")
    if kept:
        rows = rows.groupBy(*key).agg(f.min(f.struct(*kept)).alias("kept")).select(*key, "kept.*")
    else:
        rows = rows.dropDuplicates(list(key))
    rows.observe(after, f.count(f.lit(1)).alias("rows")).write.parquet(spark_path(path))
    rmtree(path.parent / "lines.aside", ignore_errors=True)
    good, loops_found, out = int(before.get["rows"]), int(before.get["loops"]), int(after.get["rows"])
    counts = LineCounts(lines.lines, lines.comments, lines.quarantined, loops_found, good - loops_found - out, out)
    counts.check()
    return counts
