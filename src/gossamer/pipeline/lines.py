"""Reads lines of text files and finds comments, errors and line numbers.

Lines are read as text and split by an expression, because Spark's CSV reader takes one separator and one comment
character, skips blank lines silently and gives no line numbers.
"""

from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING

from gossamer.model.values.errors import InputError
from gossamer.pipeline.session import spark_path

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

# Chosen: a line with a longer name is damaged.
NAME_BYTES_MAX = 256
# Characters of a bad line that the quarantine keeps.
TEXT_KEPT = 1_000


@dataclass(frozen=True)
class LineKind:
    """The format of a line."""

    # The separator as a regular expression, and the required columns.
    separator: str
    columns: tuple[str, ...]
    # Optional columns that may follow.
    optional: tuple[str, ...] = ()
    # Columns of numbers, columns of whole numbers from zero, and columns that may be empty.
    numbers: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()
    may_be_empty: tuple[str, ...] = ()
    # Upper bounds of columns.
    at_most: tuple[tuple[str, int], ...] = ()


BLANKS_OR_COMMAS = r"[\s,]+"
EDGES = LineKind(BLANKS_OR_COMMAS, ("source", "target"), ("weight", "time"), numbers=("weight", "time"))
MEMBERSHIPS = LineKind(BLANKS_OR_COMMAS, ("user", "group"), ("weight", "time"), numbers=("weight", "time"))
MACHINE_EVENTS = LineKind(
    ",",
    ("time", "machine", "event"),
    ("platform", "cpus", "memory"),
    numbers=("cpus", "memory"),
    whole=("time", "event"),
    may_be_empty=("platform", "cpus", "memory"),
    # 0 ADD, 1 REMOVE, 2 UPDATE
    at_most=(("event", 2),),
)


def input_files(pattern: str) -> list[Path]:
    """The files that a path, a folder or a glob names."""
    path = Path(pattern)
    if path.is_dir():
        found = sorted(file for file in path.iterdir() if file.is_file() and not file.name.startswith((".", "_")))
    elif path.is_file():
        found = [path]
    else:
        found = sorted(Path(name) for name in glob(pattern) if Path(name).is_file())
    if not found:
        raise InputError(f"there is no file at {pattern}; give a file, a folder, or a glob in quotes")
    for file in found:
        if file.stat().st_size == 0:
            raise InputError(f"{file} is empty")
    return found


def read_lines(spark: "SparkSession", files: list[Path]) -> "DataFrame":
    """(file, block, value) of every line, where `block` is the start of the file block that contains the line."""
    return spark.read.text([spark_path(file) for file in files]).selectExpr(
        "_metadata.file_path as file", "_metadata.file_block_start as block", "value"
    )


def judge_lines(lines: "DataFrame", kind: LineKind) -> "DataFrame":
    """The lines with `is_comment`, `reason` (empty for a good line) and the columns of the kind."""
    from pyspark.sql import functions as f

    # Split in a separate projection, because the expressions below use the columns many times.
    kept = lines.columns
    lines = lines.withColumn("text", f.trim(f.col("value")))
    lines = lines.withColumn("fields", f.split("text", kind.separator))
    text, fields = f.col("text"), f.col("fields")
    names = (*kind.columns, *kind.optional)
    column = {name: f.trim(f.get(fields, f.lit(place))) for place, name in enumerate(names)}
    is_comment = text.startswith("#") | text.startswith("%")
    reason = (
        f.when(is_comment, "")
        .when(text == "", "blank line")
        .when(f.instr(f.col("value"), "\ufffd") > 0, "not UTF-8")
        .when(f.size(fields) < len(kind.columns), f"fewer than {len(kind.columns)} columns")
        .when(f.size(fields) > len(names), f"more than {len(names)} columns")
    )
    for name in names:
        is_empty = column[name] == ""
        if name not in kind.may_be_empty:
            reason = reason.when(is_empty, f"{name} is empty")
        if name in kind.whole:
            reason = reason.when(~column[name].rlike(r"^\d{1,18}$|^\d{19}$"), f"{name} is not a whole number")
            reason = reason.when(column[name].try_cast("bigint").isNull(), f"{name} is too large")
        elif name in kind.numbers:
            number = column[name].try_cast("double")
            reason = reason.when(~is_empty & (number.isNull() | f.isnan(number)), f"{name} is not a number")
            reason = reason.when(f.abs(number) == float("inf"), f"{name} is too large")
        else:
            reason = reason.when(
                f.octet_length(column[name]) > NAME_BYTES_MAX, f"{name} is over {NAME_BYTES_MAX} bytes"
            )
    for name, most in kind.at_most:
        reason = reason.when(column[name].try_cast("bigint") > most, f"{name} is above {most}")
    return lines.select(
        *kept,
        is_comment.alias("is_comment"),
        reason.otherwise("").alias("reason"),
        *(_typed(column[name], name, kind).alias(name) for name in names),
    )


def _typed(column: "Column", name: str, kind: LineKind) -> "Column":
    if name in kind.whole:
        return column.try_cast("bigint")
    return column.try_cast("double") if name in kind.numbers else column


def bad_lines(spark: "SparkSession", judged: "DataFrame", files: list[Path], kind: LineKind) -> "DataFrame":
    """(source, line, text, reason) of every bad line: a second pass over the files that have one.

    One task reads a block from its first line to its last, so Spark's row numbers grow by one within a block. The line
    number adds the lengths of the blocks before it. A large file has few blocks; a compressed file has one.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    bad_files = judged.where("reason != ''").select("file")
    with_bad = {_name(row["file"]) for row in bad_files.distinct().toLocalIterator()} if len(files) > 1 else None
    chosen = [file for file in files if with_bad is None or _name(spark_path(file)) in with_bad]
    if not chosen:
        return spark.createDataFrame([], "source string, line bigint, text string, reason string")
    # Number the lines after checking them. Spark does not move a filter below the numbering; otherwise it would check
    # each line several times inside the filter, which is five times slower.
    numbered = judge_lines(read_lines(spark, chosen), kind).withColumn("row", f.monotonically_increasing_id())
    blocks = numbered.groupBy("file", "block").agg(f.min("row").alias("first"), f.count(f.lit(1)).alias("count"))
    before = Window.partitionBy("file").orderBy("block").rowsBetween(Window.unboundedPreceding, -1)
    offsets = blocks.select("file", "block", "first", f.coalesce(f.sum("count").over(before), f.lit(0)).alias("offset"))
    bad = numbered.where("reason != ''")
    return bad.join(f.broadcast(offsets), ["file", "block"]).select(
        f.element_at(f.split("file", "/"), -1).alias("source"),
        (f.col("row") - f.col("first") + f.col("offset") + 1).alias("line"),
        f.substring("value", 1, TEXT_KEPT).alias("text"),
        "reason",
    )


def _name(path: str) -> str:
    """The path of a file without Spark's prefix (file:/ or file:///)."""
    return path.partition(":")[2].lstrip("/")
