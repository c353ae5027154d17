"""Turns matrices of round-trip times into a table. A file is one matrix, and a line is one row, in milliseconds.

A bad line still counts as a row of the matrix, so that the numbers of all other rows stay right. Its values are missing
from the table.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gossamer.model.values.errors import InputError
from gossamer.pipeline.ingest import MAX_BAD, Ingested, LineCounts, readable
from gossamer.pipeline.inputs import head_of
from gossamer.pipeline.lines import BLANKS_OR_COMMAS, TEXT_KEPT, read_lines
from gossamer.pipeline.storage import Place, discard, rewritten, same_place, write_parquet
from gossamer.simulator.network import ROUND_TRIP_MS_MAX

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def ingest_latency(spark: "SparkSession", files: Sequence[Place], folder: Place, max_bad: float = MAX_BAD) -> Ingested:
    """Write latency(matrix, source, target, rtt_us). Matrices are numbered in the order of file names."""
    from pyspark.sql import functions as f

    # There is one line for each node, so the table is small and is kept for the queries below.
    for file in files:
        head_of(spark, file)
    with readable(files):
        lines = rewritten(_judge(read_lines(spark, files)), folder / "lines.aside")
    by_file = {row["file"]: row for row in _by_file(lines).toLocalIterator()}
    counts = LineCounts(
        lines=sum(row["lines"] for row in by_file.values()),
        comments=sum(row["comments"] for row in by_file.values()),
        quarantined=sum(row["bad"] for row in by_file.values()),
        self_loops=0,
        merged=0,
        rows=sum(row["lines"] - row["comments"] - row["bad"] for row in by_file.values()),
    )
    counts.check()
    names = {name: Path(same_place(name)).name for name in sorted(by_file)}
    data_lines = counts.lines - counts.comments
    if counts.quarantined > max_bad * data_lines:
        first = lines.where("reason != ''").orderBy("file", "line").first()
        assert first is not None
        raise InputError(
            f"{counts.quarantined} of {data_lines} lines cannot be read as a row of round trips (for example "
            f"{first['value'][:60]!r}: {first['reason']}); is this the right kind? `max_bad` {max_bad:g} allows fewer"
        )
    for name, row in by_file.items():
        if row["places"] != row["width"]:
            raise InputError(
                f"{names[name]} is not a square matrix: it has {row['places']} lines of {row['width']} round trips"
            )
    numbers = [(number, names[name], name) for number, name in enumerate(names)]
    matrices = spark.createDataFrame(numbers, "id bigint, name string, file string")
    bad = lines.where("reason != ''").join(f.broadcast(matrices), "file")
    text = f.substring(f.make_valid_utf8("value"), 1, TEXT_KEPT)
    bad = bad.select(f.col("name").alias("source"), "line", text.alias("text"), "reason")
    write_parquet(bad.coalesce(1), folder / "quarantine.parquet")
    write_parquet(matrices.select("id", "name").coalesce(1), folder / "names.parquet")
    good = lines.where("reason = '' and not is_comment").join(f.broadcast(matrices), "file")
    cells = good.select(f.col("id").alias("matrix"), f.col("place").alias("source"), f.posexplode("fields"))
    rtt_us = f.rint(f.col("col").cast("double") * 1000).cast("bigint")
    table = cells.select("matrix", "source", f.col("pos").cast("bigint").alias("target"), rtt_us.alias("rtt_us"))
    write_parquet(table.coalesce(1), folder / "latency.parquet")
    discard(spark, folder / "lines.aside")
    return Ingested(counts, {"matrices": len(by_file), "nodes": max(row["width"] for row in by_file.values())}, {})


def _judge(lines: "DataFrame") -> "DataFrame":
    """(file, line, place, value, fields, is_comment, reason), where `place` is the line's row in the matrix."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    text = f.trim("value")
    rows = lines.withColumn("row", f.monotonically_increasing_id())
    rows = rows.withColumn("is_comment", text.startswith("#") | text.startswith("%"))
    rows = rows.withColumn("is_blank", text == "").withColumn("fields", f.split(text, BLANKS_OR_COMMAS))
    is_row = ~f.col("is_comment") & ~f.col("is_blank")
    in_order = Window.partitionBy("file").orderBy("block", "row")
    whole = Window.partitionBy("file")
    rows = rows.withColumn("line", f.row_number().over(in_order).cast("bigint"))
    rows = rows.withColumn("place", f.sum(is_row.cast("bigint")).over(in_order) - 1)
    rows = rows.withColumn("width", f.mode(f.when(is_row, f.size("fields"))).over(whole))
    number = "try_cast(x as double)"
    wrong = (
        f.when(f.col("is_comment"), "")
        .when(f.col("is_blank"), "blank line")
        .when(
            f.size("fields") != f.col("width"),
            f.concat_ws(" ", f.size("fields"), f.lit("columns where most lines have"), "width"),
        )
        .when(f.expr(f"exists(fields, x -> {number} is null or isnan({number}))"), "a round trip is not a number")
        .when(
            f.expr(f"exists(fields, x -> {number} < 0 or {number} > {ROUND_TRIP_MS_MAX})"),
            f"a round trip is not between 0 and {ROUND_TRIP_MS_MAX:,} ms",
        )
        .otherwise("")
    )
    return rows.select(
        "file", "line", "place", "width", "value", "fields", "is_comment", "is_blank", wrong.alias("reason")
    )


def _by_file(lines: "DataFrame") -> "DataFrame":
    from pyspark.sql import functions as f

    is_row = ~f.col("is_comment") & ~f.col("is_blank")
    return lines.groupBy("file").agg(
        f.count(f.lit(1)).alias("lines"),
        f.sum(f.col("is_comment").cast("bigint")).alias("comments"),
        f.sum((f.col("reason") != "").cast("bigint")).alias("bad"),
        f.sum(is_row.cast("bigint")).alias("places"),
        f.max("width").alias("width"),
    )
