"""The lower bound on the links of every topic-connected overlay, computed on Spark; `planners/bounds.py` has the proof.

Each holder of a topic is sent to the topic with the list of its own topics, so a task sees which two holders share most.
Where that would be too much (a topic with very many holders, a node with very many topics) the number of a node's topics
stands for what it shares with others. The bound is then lower, and still a bound.
"""

from math import ceil
from typing import TYPE_CHECKING, Any

from gossamer.pipeline.division import HOLDERS_MAX, at_random, divide
from gossamer.pipeline.session import on_worker
from gossamer.planners.bounds import ROUNDING

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

# Chosen: nodes with more topics are sent without their lists, which grow with the square of that number.
LIST_MAX = 512
# Chosen: entries of lists in one task; they take about half a GiB there.
PART_ENTRIES = 2**23


def least_links(interests: "DataFrame", topics: "DataFrame") -> int:
    """No topic-connected overlay has fewer links. `topics` has the columns topic and holders."""
    from pyspark.sql import functions as f

    held = interests.groupBy("node").agg(f.collect_list("topic").alias("topics"), f.count(f.lit(1)).alias("size"))
    row = held.agg(f.sum(f.when(f.col("size") <= LIST_MAX, f.col("size") * f.col("size")).otherwise(0))).first()
    assert row is not None
    parts = max(1, ceil((row[0] or 0) / PART_ENTRIES))
    several = at_random(topics.where("holders > 1").withColumnRenamed("holders", "weight"), "needs")
    divided = divide(interests.sparkSession, several, "topic", parts, "needs").join(
        several.select("topic", (f.col("weight") <= HOLDERS_MAX).alias("lists")), "topic"
    )
    rows = held.select(f.explode("topics").alias("topic"), "size", "topics").join(divided, "topic")
    sent = f.when(f.col("lists") & (f.col("size") <= LIST_MAX), f.col("topics"))
    call = on_worker(__name__, "need_rows")
    needs = (
        rows.select("part", "topic", "size", sent.alias("topics"))
        .groupBy("part")
        .applyInArrow(call, "share bigint, count bigint")
    )
    # One row for each number of topics that two nodes share.
    summed = needs.groupBy("share").agg(f.sum("count").alias("count")).orderBy("share").toArrow().to_pylist()
    return ceil(sum(int(each["count"]) / int(each["share"]) for each in summed) - ROUNDING)


def need_rows(table: "pa.Table") -> "pa.Table":
    """In a worker: how many shares of each size the topics of one part need."""
    import numpy as np
    import pyarrow as pa

    from gossamer.planners.rounds import count_needs

    lists: Any = table.column("topics").combine_chunks()
    has_list = lists.is_valid().to_numpy(zero_copy_only=False)
    lengths = np.where(has_list, lists.value_lengths().fill_null(0).to_numpy(zero_copy_only=False), 0)
    starts = np.concatenate(([0], np.cumsum(lengths)))
    topics, sizes = (table.column(name).to_numpy() for name in ("topic", "size"))
    shares, counts = count_needs(topics, sizes, starts, lists.flatten().to_numpy(), has_list)
    return pa.table({"share": shares, "count": counts})
