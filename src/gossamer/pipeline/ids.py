"""Dense ids for names: a name's id is its rank among all names, whatever the partitioning.

Names are ordered by length and then by their bytes, so that whole numbers without leading zeros keep their order, and 0,
1, ... n - 1 stay what they are. Ranks are found by a range sort and one count for each partition: no window over all rows.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Spark numbers rows by partition (the upper 31 bits) and by place in it (the lower 33).
PLACE_BITS = 33


def dense_ids(names: "DataFrame", partitions: int) -> "DataFrame":
    """(id, name) of each distinct value of column `name`; the answer should be written before it is used twice."""
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
        # Counted and joined below: without this the range sort would be done twice, with other samples.
        .localCheckpoint()
    )
    counts = {row["part"]: row["count"] for row in ordered.groupBy("part").count().toLocalIterator()}
    offsets, total = [], 0
    for part in sorted(counts):
        offsets.append((part, total))
        total += counts[part]
    table = names.sparkSession.createDataFrame(offsets or [(0, 0)], "part bigint, offset bigint")
    return ordered.join(f.broadcast(table), "part").select((f.col("offset") + f.col("place")).alias("id"), "name")
