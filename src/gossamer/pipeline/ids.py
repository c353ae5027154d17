"""Dense ids for names: the id of a name is its rank among all names, so it does not depend on partitioning.

Names are ordered by length and then by their bytes. Whole numbers without leading zeros therefore keep their order, and
the names 0, 1, ... n - 1 keep their numbers. Ranks need one range sort and one count for each partition, and no window
over all rows.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Spark's row numbers have the partition in the upper 31 bits and the place in the partition in the lower 33.
PLACE_BITS = 33


def dense_ids(names: "DataFrame", partitions: int) -> "DataFrame":
    """(id, name) of each distinct value of column `name`. Write the result before using it twice."""
    from pyspark.sql import functions as f

    row = f.monotonically_increasing_id()
    ordered = (
        names.select("name")
        .distinct()
        .withColumn("size", f.octet_length("name"))
        .repartitionByRange(partitions, "size", "name")
        .sortWithinPartitions("size", "name")
        .select("name", row.alias("row"))
        .select(
            "name", f.shiftright("row", PLACE_BITS).alias("part"), f.expr(f"row & {2**PLACE_BITS - 1}").alias("place")
        )
        # The rows are counted and joined below. Without a checkpoint Spark would sort twice, with different ranges.
        .localCheckpoint()
    )
    counts = {row["part"]: row["count"] for row in ordered.groupBy("part").count().toLocalIterator()}
    offsets, total = [], 0
    for part in sorted(counts):
        offsets.append((part, total))
        total += counts[part]
    table = names.sparkSession.createDataFrame(offsets or [(0, 0)], "part bigint, offset bigint")
    return ordered.join(f.broadcast(table), "part").select((f.col("offset") + f.col("place")).alias("id"), "name")
