"""Dense ids for names: the id of a name is its rank among all names, so it does not depend on partitioning.

Names are ordered by length and then by their bytes. Whole numbers without leading zeros therefore keep their order, and
the names 0, 1, ... n - 1 keep their numbers; such names are sorted and joined as numbers, which costs half as much. Ranks
need one range sort and one count for each partition, and no window over all rows.
"""

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

from gossamer.pipeline.storage import Place, discard, read_parquet, rewritten, write_parquet

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

# Spark's row numbers have the partition in the upper 31 bits and the place in the partition in the lower 33.
PLACE_BITS = 33
# Chosen: a table of names up to this size is sent to every worker, a larger one is joined by shuffling the rows
# (docs/scale.md has both plans on both sides). These are bytes in memory: Spark itself would decide by the compressed
# bytes of the file, which may be seventy times fewer.
BROADCAST_BYTES_MAX = 128 * 2**20
# Bytes of a row in the hash table of a broadcast, besides the text of its name.
ROW_BYTES = 48
# Chosen: digits of a number that fits 64 bits with any digits.
DIGITS_MAX = 18


def is_number(name: "Column") -> "Column":
    """Whether a text is a whole number without sign and leading zeros."""
    from pyspark.sql import functions as f

    number = name.try_cast("bigint")
    is_same = (f.octet_length(name) <= DIGITS_MAX) & (number >= 0) & (number.cast("string") == name)
    return f.coalesce(is_same, f.lit(False))


def comes_after(one: "Column", other: "Column", are_numbers: bool) -> "Column":
    """Whether one name has a larger id than another."""
    from pyspark.sql import functions as f

    if are_numbers:
        return one > other
    lengths = f.octet_length(one), f.octet_length(other)
    return (lengths[0] > lengths[1]) | ((lengths[0] == lengths[1]) & (one > other))


@dataclass(frozen=True)
class NameIds:
    """The table names(id, name) with its sizes."""

    table: "DataFrame"
    are_numbers: bool
    count: int
    name_bytes: int

    @property
    def plan(self) -> str:
        """The plan of a join with this table, or with a part of it; without this hint, Spark goes by compressed size."""
        is_small = self.name_bytes + ROW_BYTES * self.count <= BROADCAST_BYTES_MAX
        return "broadcast" if is_small else "shuffle_merge"

    def put_for(self, rows: "DataFrame", column: str) -> "DataFrame":
        """The rows with the name in a column replaced by its id."""
        from pyspark.sql import functions as f

        name = f.col("name").cast("bigint") if self.are_numbers else f.col("name")
        numbered = self.table.select(f.col("id").alias(f"{column}_id"), name.alias(column)).hint(self.plan)
        return rows.join(numbered, column).drop(column).withColumnRenamed(f"{column}_id", column)


def write_ids(rows: "DataFrame", columns: tuple[str, ...], are_numbers: bool, folder: Place, table: str) -> NameIds:
    """Write names(id, name) of all values in these columns. Numbers are given as numbers and written as text."""
    from pyspark.sql import functions as f

    names = reduce(lambda one, other: one.union(other), (rows.select(f.col(name).alias("name")) for name in columns))
    names = names.distinct()
    key = ("name",) if are_numbers else ("size", "name")
    sized = names if are_numbers else names.withColumn("size", f.octet_length("name"))
    row = f.monotonically_increasing_id().alias("row")
    # Without a number of partitions, the adaptive planner would merge them and change the row numbers.
    partitions = int(rows.sparkSession.conf.get("spark.sql.shuffle.partitions") or 8)
    ordered = sized.repartitionByRange(partitions, *key).sortWithinPartitions(*key).select("name", row)
    part, place = f.shiftright("row", PLACE_BITS).alias("part"), f.expr(f"row & {2**PLACE_BITS - 1}").alias("place")
    # The rows are counted and then read again. Computed twice, they would be sorted twice, with different ranges.
    aside = folder / f"ordered-{table}.aside"
    placed = rewritten(ordered.select(f.col("name").cast("string").alias("name"), part, place), aside)
    sizes = placed.groupBy("part").agg(f.count(f.lit(1)).alias("count"), f.sum(f.octet_length("name")).alias("bytes"))
    # One row for each partition.
    found = sorted((row["part"], row["count"], row["bytes"]) for row in sizes.toLocalIterator())
    offsets, total = [], 0
    for number, count, _ in found:
        offsets.append((number, total))
        total += count
    first = rows.sparkSession.createDataFrame(offsets or [(0, 0)], "part bigint, offset bigint")
    numbered = placed.join(f.broadcast(first), "part").select((f.col("offset") + f.col("place")).alias("id"), "name")
    # In order, so that other programs find a name at the place of its id.
    write_parquet(numbered.orderBy("id"), folder / table)
    discard(rows.sparkSession, aside)
    read_back = read_parquet(rows.sparkSession, folder / table)
    return NameIds(read_back, are_numbers, total, sum(size for _, _, size in found))
