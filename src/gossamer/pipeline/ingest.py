"""Turns raw data into tables and accounts for every line.

lines = comments + headers + quarantined + self-loops + merged + rows. The counts are taken while the rows are processed,
compared, and written to the manifest. Names become dense ids that do not depend on partitioning (`ids.py`).
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gossamer.model.tables.schemas import check_table_types
from gossamer.model.values.errors import CheckFailed, InputError, InputWarning
from gossamer.pipeline.ids import NameIds, comes_after, is_number, write_ids
from gossamer.pipeline.inputs import file_labels
from gossamer.pipeline.lines import (
    EDGES,
    MACHINE_EVENTS,
    MEMBERSHIPS,
    FilesByFormat,
    LineKind,
    bad_lines,
    group_files,
    marked_lines,
)
from gossamer.pipeline.storage import Place, discard, key_of, read_parquet, same_place, write_parquet
from gossamer.workloads.formats import Format, Reading
from gossamer.workloads.heads import damaged

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

# Chosen: a file of another kind has errors on nearly every line, a file that was cut off or edited by hand on a few.
MAX_BAD = 0.25
# Chosen: lines for each partition of a shuffle. A hash table of a million pairs takes about 100 MB.
PARTITION_LINES = 1_000_000
# Chosen: names are compared without regard to case only up to this number, which takes seconds.
ALIKE_NAMES_MAX = 1_000_000
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
    formats: Mapping[Place, Format]

    def format_facts(self) -> dict[str, Any]:
        """The formats as they stand in the manifest."""
        labels = file_labels(list(self.formats))
        return {labels[file]: format.facts() for file, format in self.formats.items()}


def ingest_edges(
    spark: "SparkSession",
    files: Sequence[Place],
    folder: Place,
    directed: bool,
    max_bad: float = MAX_BAD,
    reading: Reading = FOUND,
) -> Ingested:
    """Write edges(source, target[, weight, time]) and names(id, name). Undirected edges have source < target."""
    groups = group_files(spark, files, EDGES, reading)
    ends = ("source", "target")
    with _read(spark, groups, folder, EDGES, ends, max_bad) as (lines, good):
        ids = write_ids(good, ends, lines.are_numbers, folder, "names.parquet")
        pairs = good if directed else _low_first(good, lines.are_numbers)
        counts = _write_rows(pairs, {"source": ids, "target": ids}, folder / "edges.parquet", lines, EDGES)
    if counts.rows == 0:
        raise InputError(f"no edge is left of {lines.lines} lines: all others are self-loops; is this the right file?")
    return Ingested(counts, {"nodes": ids.count}, _formats(groups))


def _low_first(rows: "DataFrame", are_numbers: bool) -> "DataFrame":
    """The rows with source and target in the order of their ids, so that both directions of an edge are equal."""
    from pyspark.sql import functions as f

    source, target = f.col("source"), f.col("target")
    swap = comes_after(source, target, are_numbers)
    return rows.withColumns(
        {"source": f.when(swap, target).otherwise(source), "target": f.when(swap, source).otherwise(target)}
    )


def ingest_memberships(
    spark: "SparkSession", files: Sequence[Place], folder: Place, max_bad: float = MAX_BAD, reading: Reading = FOUND
) -> Ingested:
    """Write interests(node, topic[, role]), where users are nodes and groups are topics, and the names of both."""
    groups = group_files(spark, files, MEMBERSHIPS, reading)
    with _read(spark, groups, folder, MEMBERSHIPS, ("user", "group"), max_bad) as (lines, good):
        roles = [name for name in MEMBERSHIPS.roles if name in good.columns]
        rows = good.select(good["user"].alias("node"), good["group"].alias("topic"), *roles)
        users = write_ids(rows, ("node",), lines.are_numbers, folder, "names.parquet")
        topics = write_ids(rows, ("topic",), lines.are_numbers, folder, "topic_names.parquet")
        for what, names in (("users", users), ("groups", topics)):
            _warn_of_alike(names, what)
        counts = _write_rows(rows, {"node": users, "topic": topics}, folder / "interests.parquet", lines, MEMBERSHIPS)
    return Ingested(counts, {"nodes": users.count, "topics": topics.count}, _formats(groups))


def _warn_of_alike(names: NameIds, what: str) -> None:
    """Warn of names that differ only in upper and lower case; they stay apart."""
    from pyspark.sql import functions as f

    if names.are_numbers or names.count > ALIKE_NAMES_MAX:
        return
    groups = names.table.groupBy(f.lower("name")).agg(f.collect_list("name").alias("names")).where("size(names) > 1")
    found = groups.agg(f.count(f.lit(1)).alias("count"), f.min("names").alias("first")).first()
    if found is not None and found["count"]:
        more = f" and {found['count'] - 1:,} more" if found["count"] > 1 else ""
        warnings.warn(
            f"the {what} {' and '.join(map(repr, sorted(found['first'])))}{more} differ only in upper and lower case; they "
            f"are taken as different {what}",
            InputWarning,
            stacklevel=3,
        )


def ingest_machine_events(
    spark: "SparkSession", files: Sequence[Place], folder: Place, max_bad: float = MAX_BAD, reading: Reading = FOUND
) -> Ingested:
    """Write machine_events(at_us, node, event) and names; `event` is 0 ADD, 1 REMOVE or 2 UPDATE."""
    groups = group_files(spark, files, MACHINE_EVENTS, reading)
    with _read(spark, groups, folder, MACHINE_EVENTS, ("machine",), max_bad) as (lines, good):
        rows = good.select(good["time"].alias("at_us"), good["machine"].alias("node"), "event")
        machines = write_ids(rows, ("node",), lines.are_numbers, folder, "names.parquet")
        path = folder / "machine_events.parquet"
        counts = _write_rows(rows, {"node": machines}, path, lines, MACHINE_EVENTS)
    if isinstance(path, Path):
        check_table_types("machine_events", path)
    return Ingested(counts, {"nodes": machines.count}, _formats(groups))


@dataclass(frozen=True)
class _Lines:
    lines: int
    comments: int
    headers: int
    quarantined: int
    self_loops: int
    # The optional columns that have values.
    kept: tuple[str, ...]
    # Whether every name is a number without leading zeros.
    are_numbers: bool


def _formats(groups: FilesByFormat) -> dict[Place, Format]:
    return {file: format for format, files in groups.items() for file in files}


@contextmanager
def readable(files: Sequence[Place]) -> Iterator[None]:
    """Turn Spark's errors about a damaged compressed file into one sentence."""
    try:
        yield
    except Exception as error:
        if any(sign in str(error) for sign in DAMAGE_SIGNS):
            raise damaged(files) from None
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


@contextmanager
def _read(
    spark: "SparkSession",
    groups: FilesByFormat,
    folder: Place,
    kind: LineKind,
    names: tuple[str, ...],
    max_bad: float,
) -> "Iterator[tuple[_Lines, DataFrame]]":
    """Check the lines and write bad lines to quarantine; yields the counts and the good lines.

    `names` are the columns of names. If all names are numbers, they are numbers in the good lines.
    """
    files = list(_formats(groups))
    aside = folder / "lines.aside"
    with readable(files):
        counts = _write_lines(spark, groups, kind, names, aside)
    judged = read_parquet(spark, aside)
    _check_share(counts, judged, groups, kind, max_bad)
    _write_quarantine(judged, files, folder / "quarantine.parquet", counts.quarantined)
    good = judged.where("reason is null").select(*kind.columns, *counts.kept)
    if counts.are_numbers:
        # Spark may convert before it filters, so lines that are left out must not fail.
        good = good.withColumns({name: good[name].try_cast("bigint") for name in names})
    with _enough_partitions(spark, counts.lines):
        yield counts, good
    discard(spark, aside)


def _write_lines(
    spark: "SparkSession", groups: FilesByFormat, kind: LineKind, names: tuple[str, ...], aside: Place
) -> _Lines:
    """Write all lines with what is wrong with them, and count."""
    from pyspark.sql import Observation
    from pyspark.sql import functions as f

    seen = Observation()
    numbered = [name for name in kind.optional if name in (*kind.numbers, *kind.roles)]
    rows = marked_lines(spark, groups, kind)

    def count_of(what: "Column") -> "Column":
        return f.coalesce(f.sum(what.cast("bigint")), f.lit(0))

    others = reduce(lambda one, other: one | other, (~is_number(f.col(name)) for name in names))
    watched = rows.observe(
        seen,
        f.count(f.lit(1)).alias("lines"),
        count_of(f.col("is_comment")).alias("comments"),
        count_of(f.col("is_header")).alias("headers"),
        count_of(f.col("reason") != "").alias("bad"),
        count_of(f.col("reason").isNull() & f.expr(kind.loop)).alias("loops"),
        count_of(f.col("reason").isNull() & others).alias("words"),
        *(f.count(f.when(f.col("reason").isNull(), f.col(name))).alias(name) for name in numbered),
    )
    # The table is read a few times and deleted, so fast compression matters more than its size.
    write_parquet(watched.drop("is_comment", "is_header"), aside, compression="lz4")
    found = seen.get
    return _Lines(
        lines=int(found["lines"]),
        comments=int(found["comments"]),
        headers=int(found["headers"]),
        quarantined=int(found["bad"]),
        self_loops=int(found["loops"]),
        kept=tuple(name for name in numbered if int(found[name]) > 0),
        are_numbers=int(found["words"]) == 0,
    )


def _check_share(counts: _Lines, judged: "DataFrame", groups: FilesByFormat, kind: LineKind, max_bad: float) -> None:
    """Refuse an input with too many bad lines, or without any data."""
    file, format = next((files[0], format) for format, files in groups.items())
    data_lines = counts.lines - counts.comments - counts.headers
    if data_lines == 0:
        raise InputError(f"{file} has only comments{' and a header' if counts.headers else ''}")
    if counts.quarantined > max_bad * data_lines or counts.quarantined == data_lines:
        first = judged.where("reason != ''").select("text", "reason").first()
        assert first is not None
        raise InputError(
            f"{counts.quarantined} of {data_lines} lines cannot be read as {'/'.join(kind.columns)} (for example "
            f"{first['text'][:60]!r}: {first['reason']}); is this the right kind? {file.name} was read as "
            f"{format.sentence()}; `delimiter`, `header` and `columns` say otherwise. `max_bad` {max_bad:g} allows fewer"
        )


def _write_quarantine(judged: "DataFrame", files: Sequence[Place], path: Place, expected: int) -> None:
    labels = {key_of(file): label for file, label in file_labels(files).items()}
    # One row for each file; Spark names a file by a URI.
    uris = judged.where("reason != ''").select("file").distinct().toLocalIterator() if expected else ()
    found = {row["file"]: labels[same_place(row["file"])] for row in uris}
    write_parquet(bad_lines(judged, found), path)
    written = read_parquet(judged.sparkSession, path).count()
    if written != expected:
        raise CheckFailed(f"{expected} lines are bad and {written} are in quarantine")


@contextmanager
def _enough_partitions(spark: "SparkSession", lines: int) -> Iterator[None]:
    """Shuffle in partitions of bounded size: a hash table that does not fit memory is sorted on disk."""
    name = "spark.sql.shuffle.partitions"
    usual = str(spark.conf.get(name) or 8)
    spark.conf.set(name, str(max(int(usual), -(-lines // PARTITION_LINES))))
    try:
        yield
    finally:
        spark.conf.set(name, usual)


def _write_rows(
    rows: "DataFrame", ids: Mapping[str, NameIds], path: Place, lines: _Lines, kind: LineKind
) -> LineCounts:
    """Drop self-loops, merge rows with equal keys (keeping the smallest weight and time), put ids for names, and write.

    Rows are merged before the joins, in partitions by the last column of names: then a join that shuffles needs no
    further shuffle for that column, and no partition looks for equal rows before it has all of them.
    """
    from pyspark.sql import Observation
    from pyspark.sql import functions as f

    written = Observation()
    kept = [name for name in rows.columns if name in lines.kept]
    key = [name for name in rows.columns if name not in kept]
    rows = rows.where(f"not ({kind.loop})").repartition(list(ids)[-1])
    roles = [name for name in kept if name in kind.roles]
    others = [name for name in kept if name not in roles]
    smallest = [f.min(f.struct(*others)).alias("kept")] if others else []
    # Rows with different roles mean all of them; null is the usual role, 1.
    joined = [f.bit_or(f.coalesce(f.col(name), f.lit(1).cast("tinyint"))).alias(name) for name in roles]
    rows = rows.groupBy(*key).agg(f.count(f.lit(1)).alias("times"), *smallest, *joined)
    rows = rows.select(*key, "times", *(f"kept.{name}" for name in others), *roles)
    for column in reversed(list(ids)):
        rows = ids[column].put_for(rows, column)
    # Counted where the table is written: Spark counts the rows before a shuffle again when a worker is lost.
    rows = rows.observe(written, f.count(f.lit(1)).alias("rows"), f.sum("times").alias("lines"))
    write_parquet(rows.select(*key, *kept), path)
    wanted = lines.lines - lines.comments - lines.headers - lines.quarantined - lines.self_loops
    # Spark leaves out the rest of a query, and its counts, when it finds that no row is left.
    out, found = (int(written.get["rows"]), int(written.get["lines"])) if wanted else (0, 0)
    counts = LineCounts(
        lines.lines, lines.comments, lines.quarantined, lines.self_loops, found - out, out, lines.headers
    )
    counts.check()
    return counts
