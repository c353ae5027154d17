"""Turns raw data into tables and accounts for every line.

lines = comments + headers + quarantined + self-loops + merged + rows. The counts are taken while the rows are processed,
compared, and written to the manifest. Names become dense ids that do not depend on partitioning (`ids.py`).
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Any

from gossamer.model.tables.schemas import SCHEMAS, check_table_types
from gossamer.model.values.errors import CheckFailed, InputError
from gossamer.pipeline.formats import Format, Reading
from gossamer.pipeline.heads import damaged
from gossamer.pipeline.ids import dense_ids
from gossamer.pipeline.inputs import file_labels
from gossamer.pipeline.lines import (
    EDGES,
    MACHINE_EVENTS,
    MEMBERSHIPS,
    FilesByFormat,
    LineKind,
    bad_lines,
    group_files,
    judge_files,
)
from gossamer.pipeline.session import read_parquet, write_parquet

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

# Chosen: a file of another kind has errors on nearly every line, a file that was cut off or edited by hand on a few.
MAX_BAD = 0.25
# The format of every file is found.
FOUND = Reading()


@dataclass(frozen=True)
class LineCounts:
    """How many lines were read, and what happened to them."""

    lines: int
    comments: int
    quarantined: int
    self_loops: int
    merged: int
    rows: int
    headers: int = 0

    def check(self) -> None:
        """Check that no line was lost."""
        accounted = self.comments + self.headers + self.quarantined + self.self_loops + self.merged + self.rows
        if accounted != self.lines:
            raise CheckFailed(f"{self.lines} lines were read and {accounted} are accounted for")


@dataclass(frozen=True)
class Ingested:
    """The line counts of an ingest, its numbers of distinct names, and the format of every file."""

    counts: LineCounts
    names: dict[str, int]
    formats: Mapping[Path, Format]

    def format_facts(self) -> dict[str, Any]:
        """The formats as they stand in the manifest."""
        labels = file_labels(list(self.formats))
        return {labels[file]: format.facts() for file, format in self.formats.items()}


def ingest_edges(
    spark: "SparkSession",
    files: list[Path],
    folder: Path,
    directed: bool,
    max_bad: float = MAX_BAD,
    reading: Reading = FOUND,
) -> Ingested:
    """Write edges(source, target[, weight, time]) and names(id, name). Undirected edges have source < target."""
    groups = group_files(files, EDGES, reading)
    lines, good, kept = _read(spark, groups, folder, EDGES, max_bad)
    if good.where("source != target").first() is None:
        raise InputError(f"no edge is left of {lines.lines} lines: all others are self-loops; is this the right file?")
    ids = _ids(spark, good, ("source", "target"), folder / "names.parquet")
    from pyspark.sql import functions as f

    edges = _with_id(_with_id(good, ids, "source"), ids, "target")
    low, high = f.least("source", "target"), f.greatest("source", "target")
    if not directed:
        edges = edges.select(low.alias("source"), high.alias("target"), *kept)
    counts = _finish(edges, ("source", "target"), kept, folder / "edges.parquet", lines, "source = target")
    return Ingested(counts, {"nodes": ids.count()}, _formats(groups))


def ingest_memberships(
    spark: "SparkSession", files: list[Path], folder: Path, max_bad: float = MAX_BAD, reading: Reading = FOUND
) -> Ingested:
    """Write interests(node, topic), where users are nodes and groups are topics, and the names of both."""
    groups = group_files(files, MEMBERSHIPS, reading)
    lines, good, _ = _read(spark, groups, folder, MEMBERSHIPS, max_bad)
    users = _ids(spark, good, ("user",), folder / "names.parquet")
    topics = _ids(spark, good, ("group",), folder / "topic_names.parquet")
    rows = _with_id(_with_id(good, users, "user"), topics, "group")
    rows = rows.withColumnsRenamed({"user": "node", "group": "topic"})
    counts = _finish(rows, ("node", "topic"), (), folder / "interests.parquet", lines, "false")
    return Ingested(counts, {"nodes": users.count(), "topics": topics.count()}, _formats(groups))


def ingest_machine_events(
    spark: "SparkSession", files: list[Path], folder: Path, max_bad: float = MAX_BAD, reading: Reading = FOUND
) -> Ingested:
    """Write machine_events(at_us, node, event) and names; `event` is 0 ADD, 1 REMOVE or 2 UPDATE."""
    groups = group_files(files, MACHINE_EVENTS, reading)
    lines, good, _ = _read(spark, groups, folder, MACHINE_EVENTS, max_bad)
    machines = _ids(spark, good, ("machine",), folder / "names.parquet")
    rows = _with_id(good, machines, "machine").withColumnsRenamed({"machine": "node", "time": "at_us"})
    path = folder / "machine_events.parquet"
    counts = _finish(rows, tuple(SCHEMAS["machine_events"].required.names), (), path, lines, "false")
    check_table_types("machine_events", path)
    return Ingested(counts, {"nodes": machines.count()}, _formats(groups))


@dataclass(frozen=True)
class _Lines:
    lines: int
    comments: int
    headers: int
    quarantined: int


def _formats(groups: FilesByFormat) -> dict[Path, Format]:
    return {file: format for format, files in groups.items() for file in files}


@contextmanager
def readable(files: Sequence[Path]) -> Iterator[None]:
    """Turn Spark's errors about a damaged compressed file into one sentence."""
    try:
        yield
    except Exception as error:
        if any(sign in str(error) for sign in DAMAGE_SIGNS):
            raise damaged(list(files)) from None
        raise


# Parts of the messages of Java for a gzip or bzip2 file that is cut off, has a wrong checksum, or is something else.
DAMAGE_SIGNS = (
    "EOFException",
    "ZipException",
    "not in GZIP",
    "not a gzip file",
    "CRC",
    "gzip stream",
    "incorrect data",
)


def _read(
    spark: "SparkSession",
    groups: FilesByFormat,
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
    rows = judge_files(spark, groups, kind)
    watched = rows.observe(
        seen,
        f.count(f.lit(1)).alias("lines"),
        f.coalesce(f.sum(f.col("is_comment").cast("bigint")), f.lit(0)).alias("comments"),
        f.coalesce(f.sum(f.col("is_header").cast("bigint")), f.lit(0)).alias("headers"),
        f.coalesce(f.sum((f.col("reason") != "").cast("bigint")), f.lit(0)).alias("bad"),
        *used,
    )
    aside = folder / "lines.aside"
    good = watched.where("reason = '' and not is_comment and not is_header").select(*kind.names)
    files = list(_formats(groups))
    with readable(files):
        # The table is read once and deleted, so fast compression matters more than its size.
        write_parquet(good, aside, compression="lz4")
    found = seen.get
    counts = _Lines(*(int(found[name]) for name in ("lines", "comments", "headers", "bad")))
    data_lines = counts.lines - counts.comments - counts.headers
    if data_lines == 0:
        raise InputError(f"{files[0]} has only comments{' and a header' if counts.headers else ''}")
    if counts.quarantined > max_bad * data_lines or counts.quarantined == data_lines:
        first = rows.where("reason != ''").select(f.make_valid_utf8("value").alias("value"), "reason").first()
        assert first is not None
        raise InputError(
            f"{counts.quarantined} of {data_lines} lines cannot be read as {'/'.join(kind.columns)} (for example "
            f"{first['value'][:60]!r}: {first['reason']}); is this the right kind? {files[0].name} was read as "
            f"{next(iter(groups)).sentence()}; `delimiter`, `header` and `columns` say otherwise. `max_bad` {max_bad:g} "
            "allows fewer"
        )
    _write_quarantine(spark, rows, groups, folder, kind, counts.quarantined)
    kept = tuple(name for name in numbered if int(found[name]) > 0)
    return counts, read_parquet(spark, aside), kept


def _write_quarantine(
    spark: "SparkSession", rows: "DataFrame", groups: FilesByFormat, folder: Path, kind: LineKind, expected: int
) -> None:
    path = folder / "quarantine.parquet"
    write_parquet(bad_lines(spark, rows, groups if expected else {}, kind), path)
    written = read_parquet(spark, path).count()
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
    write_parquet(dense_ids(names, partitions), path)
    return read_parquet(spark, path)


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
    write_parquet(rows.observe(after, f.count(f.lit(1)).alias("rows")), path)
    rmtree(path.parent / "lines.aside", ignore_errors=True)
    good, loops_found, out = int(before.get["rows"]), int(before.get["loops"]), int(after.get["rows"])
    merged = good - loops_found - out
    counts = LineCounts(lines.lines, lines.comments, lines.quarantined, loops_found, merged, out, lines.headers)
    counts.check()
    return counts
