"""Dense ids for names: a name's id is its rank among all names, whatever the partitioning.

Names are ordered by length and then by their bytes, so that whole numbers without leading zeros keep their order, and 0,
1, ... n - 1 stay what they are. Ranks are found by a range sort and one count for each partition: no window over all rows.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


def dense_ids(names: "DataFrame", partitions: int) -> "DataFrame":
    """(id, name) of each distinct value of column `name`; the answer should be written before it is used twice."""
    from pyspark.sql import functions as f

    ordered = (
        names.select("name")
        .distinct()
        .withColumn("size", f.octet_length("name"))
        .repartitionByRange(partitions, "size", "name")
        .sortWithinPartitions("size", "name")
        .withColumn("part", f.spark_partition_id())
        .select("name", "part")
        .mapInArrow(_number_rows, "name string, part int, place bigint")
        # Counted and joined below: without this the range sort would be done twice, with other samples.
        .localCheckpoint()
    )
    counts = {row["part"]: row["count"] for row in ordered.groupBy("part").count().toLocalIterator()}
    offsets, total = [], 0
    for part in sorted(counts):
        offsets.append((part, total))
        total += counts[part]
    spark = names.sparkSession
    table = spark.createDataFrame(offsets or [(0, 0)], "part int, offset bigint")
    return ordered.join(f.broadcast(table), "part").select((f.col("offset") + f.col("place")).alias("id"), "name")


def _number_rows(batches: Iterator["pa.RecordBatch"]) -> Iterator["pa.RecordBatch"]:
    """Rows of a partition, numbered as they come."""
    import numpy as np
    import pyarrow as pa

    place = 0
    for batch in batches:
        numbers = pa.array(np.arange(place, place + batch.num_rows))
        place += batch.num_rows
        yield pa.RecordBatch.from_arrays([*batch.columns, numbers], names=[*batch.schema.names, "place"])
