"""Reads rows of files as lines and finds comments, headers, errors and line numbers.

Every file is read as lines of text, because Spark's CSV source skips blank lines silently and gives no line numbers. The
CSV parser of Spark then reads each line that has a quote; other lines are split at their delimiter. Rows of Parquet
files become lines of JSON.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

from gossamer.pipeline.inputs import head_of
from gossamer.pipeline.storage import Place, pattern_path
from gossamer.workloads.formats import (
    JSON_LINES,
    PARQUET,
    WHITESPACE,
    Format,
    Reading,
    find_format,
    open_quote_pattern,
    quoted_pattern,
)
from gossamer.workloads.heads import UTF8_MARK
from gossamer.workloads.words import ROLE_WORDS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

# Chosen: a line with a longer name is damaged.
NAME_BYTES_MAX = 256
# Characters of a bad line that the quarantine keeps.
TEXT_KEPT = 1_000
BLANKS_OR_COMMAS = r"[\s,]+"


@dataclass(frozen=True)
class LineKind:
    """The columns of a row."""

    # The required columns, and optional columns that may follow.
    columns: tuple[str, ...]
    optional: tuple[str, ...] = ()
    # Columns of numbers, columns of whole numbers from zero, and columns that may be empty.
    numbers: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()
    may_be_empty: tuple[str, ...] = ()
    # Columns of roles (`workloads.words.ROLE_WORDS`).
    roles: tuple[str, ...] = ()
    # Upper bounds of columns.
    at_most: tuple[tuple[str, int], ...] = ()
    # The condition of rows that are left out, because they link a node to itself.
    loop: str = "false"

    @property
    def names(self) -> tuple[str, ...]:
        """All columns."""
        return (*self.columns, *self.optional)


EDGES = LineKind(("source", "target"), ("weight", "time"), numbers=("weight", "time"), loop="source = target")
MEMBERSHIPS = LineKind(
    ("user", "group"), ("weight", "time", "role"), numbers=("weight", "time"), roles=("role",), may_be_empty=("role",)
)
MACHINE_EVENTS = LineKind(
    ("time", "machine", "event"),
    ("platform", "cpus", "memory"),
    numbers=("cpus", "memory"),
    whole=("time", "event"),
    may_be_empty=("platform", "cpus", "memory"),
    # 0 ADD, 1 REMOVE, 2 UPDATE
    at_most=(("event", 2),),
)

# Files by format, in the order in which the formats were found.
FilesByFormat = dict[Format, list[Place]]


def group_files(
    spark: "SparkSession | None", files: Sequence[Place], kind: LineKind, reading: Reading
) -> FilesByFormat:
    """The files by format. Files of one format are read together."""
    groups: FilesByFormat = {}
    for file in files:
        groups.setdefault(find_format(file, kind.columns, kind.optional, reading, head_of(spark, file)), []).append(
            file
        )
    return groups


def read_lines(spark: "SparkSession", files: Sequence[Place]) -> "DataFrame":
    """(file, block, value) of every line, where `block` is the start of the file block that contains the line."""
    return spark.read.text([pattern_path(file) for file in files]).selectExpr(*_PLACE, "value")


_PLACE = ("_metadata.file_path as file", "_metadata.file_block_start as block")


def _read_parquet(spark: "SparkSession", files: Sequence[Place], format: Format) -> "DataFrame":
    """(file, block, value) of every row, where `value` is the row as JSON."""
    from pyspark.sql import functions as f

    rows = spark.read.parquet(*(pattern_path(file) for file in files))
    fields = [rows[f"`{name}`"].cast("string").alias(str(name)) for _, name in format.places]
    return rows.select(*map(f.expr, _PLACE), f.to_json(f.struct(*fields)).alias("value"))


def judge_files(spark: "SparkSession", groups: FilesByFormat, kind: LineKind) -> "DataFrame":
    """All lines of all files with `is_comment`, `is_header`, `reason` (empty for a good line) and the kind's columns."""
    return reduce(
        lambda one, other: one.union(other),
        (judge_lines(_lines_of(spark, files, format), kind, format) for format, files in groups.items()),
    )


def _lines_of(spark: "SparkSession", files: Sequence[Place], format: Format) -> "DataFrame":
    return _read_parquet(spark, files, format) if format.name == PARQUET else read_lines(spark, files)


def judge_lines(lines: "DataFrame", kind: LineKind, format: Format) -> "DataFrame":
    """The lines of one format; see `judge_files`."""
    from pyspark.sql import functions as f

    # Split in separate projections, because the expressions below use the columns many times.
    kept = lines.columns
    marked = f.col("value").startswith(UTF8_MARK)
    lines = lines.withColumn("text", f.trim(f.when(marked, f.expr("substring(value, 2)")).otherwise(f.col("value"))))
    text = f.col("text")
    is_comment = f.lit(False) if format.name == PARQUET else text.startswith("#") | text.startswith("%")
    is_header = (text == format.header_line.strip(" ")) if format.header_line else f.lit(False)
    reason = (
        f.when(is_comment | is_header, "")
        .when(text == "", "blank line")
        .when(~f.is_valid_utf8("value"), "not UTF-8")
        .when(f.instr(f.col("value"), "\0") > 0, "has a NUL character")
    )
    if format.name in (JSON_LINES, PARQUET):
        lines, column, reason = _json_columns(lines, format, reason)
    else:
        lines, column, reason = _text_columns(lines, kind, format, reason)
    for name in column:
        reason = _judge_column(reason, column[name], name, kind)
    nothing = f.lit(None).cast("string")
    return lines.select(
        *kept,
        is_comment.alias("is_comment"),
        is_header.alias("is_header"),
        reason.otherwise("").alias("reason"),
        *(_typed(column.get(name, nothing), name, kind).alias(name) for name in kind.names),
    )


_Columns = tuple["DataFrame", dict[str, "Column"], "Column"]


def _json_columns(lines: "DataFrame", format: Format, reason: "Column") -> _Columns:
    from pyspark.sql import functions as f
    from pyspark.sql.types import StringType, StructField, StructType

    bad = "_not_json"
    fields = [StructField(name, StringType()) for name in dict.fromkeys(str(key) for _, key in format.places)]
    schema = StructType([*fields, StructField(bad, StringType())])
    lines = lines.withColumn("object", f.from_json("text", schema, {"columnNameOfCorruptRecord": bad}))
    read = f.col("object")
    reason = reason.when(read.isNull() | read[bad].isNotNull(), "not a JSON object")
    # A key that is missing or null is like an empty field.
    return lines, {name: f.coalesce(f.trim(read[str(key)]), f.lit("")) for name, key in format.places}, reason


def _text_columns(lines: "DataFrame", kind: LineKind, format: Format, reason: "Column") -> _Columns:
    from pyspark.sql import functions as f

    lines = _split(lines, format)
    fields, width = f.col("fields"), f.col("width")
    if format.quote:
        reason = reason.when(f.col("is_open"), "a quoted field does not end before the next delimiter")
    if format.name == WHITESPACE:
        # Most lines have neither tabs nor commas. To search for a character takes less time than a pattern.
        text = f.col("text")
        tabs = (f.instr(text, "\t") > 0) & text.rlike(r"\t\s*\t")
        reason = reason.when(tabs, "the field between two tabs is empty")
        commas = (f.instr(text, ",") > 0) & text.rlike(r"(^|\s),|,(\s|$)")
        reason = reason.when(commas, "both blanks and commas are delimiters")
    needed = 1 + max(int(place) for name, place in format.places if name in kind.columns)
    most = 1 + max(int(place) for _, place in format.places)
    reason = reason.when(width < needed, f"fewer than {needed} columns")
    if format.header:
        header = len(format.header)
        reason = reason.when(width > header, f"more columns than the {header} of the header")
    elif not format.has_more:
        reason = reason.when(width > most, f"more than {most} columns")
    return lines, {name: f.trim(f.get(fields, f.lit(int(place)))) for name, place in format.places}, reason


def _split(lines: "DataFrame", format: Format) -> "DataFrame":
    """The lines with `fields`, their number `width` and, in files with quotes, `is_open`: a quote that does not end."""
    from pyspark.sql import functions as f

    if format.name == WHITESPACE:
        return lines.withColumn("fields", f.split("text", r"\s+")).withColumn("width", f.size("fields"))
    # Only blanks were trimmed: a tab at an end of a line separates an empty field.
    # Java splits at one escaped character without a compiled pattern, which it would make again for each line.
    delimiter = re.escape(format.delimiter)
    lines = lines.withColumn("fields", f.split("text", delimiter, -1))
    if not format.quote:
        return lines.withColumn("width", f.size("fields"))
    has_quote = f.instr(f.col("text"), format.quote) > 0
    # Without the content of quoted fields, every delimiter that is left separates two fields.
    bare = f.regexp_replace("text", quoted_pattern(format.delimiter), "$1q")
    lines = lines.withColumn("bare", f.when(has_quote, bare))
    bare_width = f.size(f.split("bare", delimiter, -1))
    lines = lines.withColumn("width", f.when(has_quote, bare_width).otherwise(f.size("fields")))
    lines = lines.withColumn("is_open", has_quote & f.col("bare").rlike(open_quote_pattern(format.delimiter)))
    width = len(format.header) or 1 + max(int(place) for _, place in format.places)
    schema = ", ".join(f"c{place} string" for place in range(width))
    options = {
        "sep": format.delimiter,
        "quote": format.quote,
        "escape": format.quote,
        "ignoreLeadingWhiteSpace": "true",
        "ignoreTrailingWhiteSpace": "true",
    }
    lines = lines.withColumn("parsed", f.when(has_quote, f.from_csv("text", schema, options)))
    parsed = f.array(*(f.coalesce(f.col("parsed")[f"c{place}"], f.lit("")) for place in range(width)))
    # The parser gives as many fields as it was asked for.
    parsed = f.slice(parsed, f.lit(1), f.least("width", f.lit(width)))
    return lines.withColumn("fields", f.when(has_quote, parsed).otherwise(f.col("fields")))


def _judge_column(reason: "Column", column: "Column", name: str, kind: LineKind) -> "Column":
    from pyspark.sql import functions as f

    is_empty = column == ""
    if name not in kind.may_be_empty:
        reason = reason.when(is_empty, f"{name} is empty")
    if name in kind.roles:
        known = f.lower(column).isin(*ROLE_WORDS)
        return reason.when(~is_empty & ~known, f"{name} is not follows, publishes or both")
    if name in kind.whole:
        reason = reason.when(~column.rlike(r"^\d{1,18}$|^\d{19}$"), f"{name} is not a whole number")
        reason = reason.when(column.try_cast("bigint").isNull(), f"{name} is too large")
    elif name in kind.numbers:
        number = column.try_cast("double")
        reason = reason.when(~is_empty & (number.isNull() | f.isnan(number)), f"{name} is not a number")
        reason = reason.when(f.abs(number) == float("inf"), f"{name} is too large")
    else:
        reason = reason.when(f.octet_length(column) > NAME_BYTES_MAX, f"{name} is over {NAME_BYTES_MAX} bytes")
    for bounded, most in kind.at_most:
        if bounded == name:
            reason = reason.when(column.try_cast("bigint") > most, f"{name} is above {most}")
    return reason


def _typed(column: "Column", name: str, kind: LineKind) -> "Column":
    if name in kind.whole:
        return column.try_cast("bigint")
    if name in kind.roles:
        return _role(column)
    return column.try_cast("double") if name in kind.numbers else column


def _role(column: "Column") -> "Column":
    """The number of a role; null for the usual role, so that a table in which all nodes follow has no column of roles."""
    from pyspark.sql import functions as f

    numbers = f.create_map(*(f.lit(each) for pair in ROLE_WORDS.items() for each in pair))
    number = f.element_at(numbers, f.lower(column)).cast("tinyint")
    return f.when(number > 1, number)


def bad_lines(judged: "DataFrame", labels: Mapping[str, str]) -> "DataFrame":
    """(source, line, text, reason) of every bad line. `judged` is the table that `marked_lines` made, after it was written.

    One task reads a block of a file from its first line to its last and writes one file, so the place of a row in that
    file grows by one within a block. The line number adds the lengths of the blocks before it. A large file has few
    blocks; a compressed file has one. `labels` are the names of the input files by the URIs that Spark gives them.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    numbered = judged.select("file", "block", "text", "reason", f.col("_metadata.row_index").alias("row"))
    blocks = numbered.groupBy("file", "block").agg(f.min("row").alias("first"), f.count(f.lit(1)).alias("count"))
    before = Window.partitionBy("file").orderBy("block").rowsBetween(Window.unboundedPreceding, -1)
    offsets = blocks.select("file", "block", "first", f.coalesce(f.sum("count").over(before), f.lit(0)).alias("offset"))
    sources = judged.sparkSession.createDataFrame(list(labels.items()), "file string, source string")
    bad = numbered.where("reason != ''").join(f.broadcast(sources), "file")
    line = (f.col("row") - f.col("first") + f.col("offset") + 1).alias("line")
    return bad.join(f.broadcast(offsets), ["file", "block"]).select("source", line, "text", "reason")


def marked_lines(spark: "SparkSession", groups: FilesByFormat, kind: LineKind) -> "DataFrame":
    """All lines in the order of their files: the kind's columns, file and block, and `reason` and `text`.

    `reason` is null for a good line, empty for a comment or header; only bad lines have their text.
    """
    from pyspark.sql import functions as f

    is_left_out = f.col("is_comment") | f.col("is_header")
    is_bad = f.col("reason") != ""
    # Parquet has only valid text.
    text = f.when(is_bad, f.substring(f.make_valid_utf8("value"), 1, TEXT_KEPT)).alias("text")
    reason = f.when(is_bad, f.col("reason")).when(is_left_out, "").alias("reason")
    judged = judge_files(spark, groups, kind)
    return judged.select("is_comment", "is_header", *kind.names, "file", "block", text, reason)
