"""Divides nodes and topics into parts for a plan on Spark, with whole numbers only.

Sums of floats depend on the order in which Spark adds them; sums of whole numbers do not. The division is therefore the
same for any number of partitions and workers. The driver gets a sample of at most `SAMPLE_ROWS` subscriptions (a
constant) and counts by place, of which there are at most `PLACES`.
"""

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from gossamer.model.arrays.interest import Interest
from gossamer.planners.divide import place_on_line, topic_places

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

# Chosen: subscriptions in one part. A task then takes about half a GiB.
PART_ROWS = 2**22
# Chosen: a part costs as much as this many pairs of holders of the same topic, about half a minute.
PART_PAIRS = 2**31
# Chosen: topics with more holders are not part of the rounds that divide topics, whose cost grows with the square of
# the number of holders. Such a topic has enough holders in each part of the nodes to share links there.
HOLDERS_MAX = 2**12
# Chosen: subscriptions from which the line of nodes is computed, a few seconds of the driver's time.
SAMPLE_ROWS = 2**21
# Positions on the line, and steps within one position.
PLACES, STEPS = 2**16, 2**12
# The weight of a topic with one holder, when the places of a node's topics are averaged.
WEIGHT = 2**20


@dataclass(frozen=True)
class Size:
    """How much there is to plan: subscriptions, and the sum of squares of the number of holders over all topics."""

    rows: int
    squares: int

    def node_parts(self) -> int:
        """The number of parts of the nodes: with p parts, a part has 1/p of the rows and 1/p^2 of the pairs."""
        parts = max(1, ceil(self.rows / PART_ROWS))
        while self.rows / PART_ROWS / parts + self.squares / PART_PAIRS / parts**2 > 1 and parts < self.rows:
            parts += max(1, parts // 16)
        return parts

    def topic_parts(self) -> int:
        """The number of parts of the topics: a part has all holders of its topics."""
        return max(1, ceil(self.rows / PART_ROWS + self.squares / PART_PAIRS))


def count_holders(interests: "DataFrame") -> "DataFrame":
    """(topic, holders) of each topic."""
    from pyspark.sql import functions as f

    return interests.groupBy("topic").agg(f.count(f.lit(1)).alias("holders"))


def place_topics(spark: "SparkSession", interests: "DataFrame", rows: int) -> "DataFrame":
    """(topic, place) of the topics in a sample of nodes: topics with the same holders are close together."""
    from pyspark.sql import functions as f

    kept = min(1.0, SAMPLE_ROWS / max(rows, 1)) * PLACES
    table = interests.where(_number("node", "sample", PLACES) < f.lit(kept)).distinct().toArrow()
    # Spark returns rows in any order.
    table = table.sort_by([("node", "ascending"), ("topic", "ascending")])
    node_ids, nodes = np.unique(table.column("node").to_numpy(), return_inverse=True)
    topic_ids, topics = np.unique(table.column("topic").to_numpy(), return_inverse=True)
    interest = Interest.from_pairs(nodes, topics, len(node_ids), len(topic_ids))
    places = (topic_places(interest, place_on_line(interest)) * PLACES).astype(np.int64)
    return spark.createDataFrame(pa.table({"topic": topic_ids, "place": places}))


def place_nodes(interests: "DataFrame", topics: "DataFrame") -> "DataFrame":
    """(node, weight, place): the number of its topics, and the mean place of those, of which rare ones count most.

    `topics` has the columns topic, holders and place. A node without a placed topic gets a random place.
    """
    from pyspark.sql import functions as f

    weight = f.when(f.col("place").isNotNull(), f.greatest(f.lit(1), f.expr(f"{WEIGHT} div holders"))).otherwise(0)
    rows = interests.join(topics, "topic").withColumn("share", weight)
    summed = rows.groupBy("node").agg(
        f.count(f.lit(1)).alias("weight"),
        f.sum("share").alias("shares"),
        f.sum(f.col("share") * f.coalesce("place", f.lit(0))).alias("moment"),
    )
    place = f.when(f.col("shares") > 0, f.expr("moment div shares")).otherwise(_number("node", "place", PLACES))
    return summed.select("node", "weight", place.alias("place"))


def divide(spark: "SparkSession", table: "DataFrame", identity: str, parts: int, how: str) -> "DataFrame":
    """(id, part): cut the line of places into parts of equal weight. `table` has columns identity, weight and place.

    Rows at the same place that cross a cut are divided by a hash of their ids and of `how`.
    """
    from pyspark.sql import functions as f

    counts = table.groupBy("place").agg(f.sum("weight").alias("total")).orderBy("place").toArrow()
    totals = counts.column("total").to_numpy().astype(np.int64)
    starts = np.cumsum(totals) - totals
    at = spark.createDataFrame(pa.table({"place": counts.column("place"), "start": starts, "total": totals}))
    every = max(int(totals.sum()), 1) * STEPS
    step = f.col("start") * STEPS + f.col("total") * _number(identity, how, STEPS)
    # Below 2^63 for ten billion rows in a hundred thousand parts.
    numbered = table.join(f.broadcast(at), "place").withColumn("step", step * f.lit(parts).cast("bigint"))
    return numbered.select(identity, f.expr(f"cast(step div {every} as int)").alias("part"))


def at_random(topics: "DataFrame", how: str) -> "DataFrame":
    """The topics with a place that depends on a hash of the topic and of `how` only."""
    return topics.withColumn("place", _number("topic", how, PLACES))


def _number(column: str, how: str, below: int) -> "Column":
    """A number from 0 to below - 1: a hash of an id and of the purpose `how`."""
    from pyspark.sql import functions as f

    return f.pmod(f.xxhash64(f.lit(how), column), f.lit(below))
