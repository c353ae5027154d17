"""Edges and memberships of the same users in one id space: a name has one id in both tables."""

from typing import TYPE_CHECKING

from gossamer.model.values.errors import InputError
from gossamer.pipeline.ids import write_ids
from gossamer.pipeline.storage import Place, read_parquet, write_parquet

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def share_ids(spark: "SparkSession", edges: Place, memberships: Place, folder: Place) -> dict[str, int]:
    """Write edges, interests, names and topic_names of two ingested folders, with one id for each user's name.

    Edges are kept between users who have a group, because a sample is drawn along edges and its topics are groups.
    Returns how many users each input has, and how many are in both.
    """
    from pyspark.sql import functions as f

    old = {path: read_parquet(spark, path / "names.parquet") for path in (edges, memberships)}
    names = old[edges].select("name").union(old[memberships].select("name"))
    users = write_ids(names, ("name",), False, folder, "names.parquet")
    ids = users.table.hint(users.plan)
    new = {
        path: table.withColumnRenamed("id", "old").join(ids, "name").select("old", "id").hint(users.plan)
        for path, table in old.items()
    }
    interests = _renumbered(read_parquet(spark, memberships / "interests.parquet"), new[memberships], "node")
    write_parquet(interests.select("node", "topic"), folder / "interests.parquet")
    write_parquet(read_parquet(spark, memberships / "topic_names.parquet"), folder / "topic_names.parquet")
    has_group = read_parquet(spark, folder / "interests.parquet").select("node").distinct()
    linked = read_parquet(spark, edges / "edges.parquet").select("source", "target")
    for side in ("source", "target"):
        linked = _renumbered(linked, new[edges], side)
        linked = linked.join(has_group.withColumnRenamed("node", side).hint(users.plan), side, "left_semi")
    # New ids may turn the order of two users around.
    low, high = f.least("source", "target").alias("source"), f.greatest("source", "target").alias("target")
    write_parquet(linked.select(low, high), folder / "edges.parquet")
    kept = read_parquet(spark, folder / "edges.parquet")
    if kept.first() is None:
        raise InputError(
            "no edge is between two users that have a group: `edges` and `memberships` must name the same users"
        )
    counts = {"edge_users": old[edges].count(), "member_users": old[memberships].count(), "all_users": users.count}
    linked_users = kept.select(f.col("source").alias("node")).union(kept.select("target")).distinct().count()
    shared = counts["edge_users"] + counts["member_users"] - counts["all_users"]
    return {**counts, "shared_users": shared, "nodes": linked_users, "rows": interests.count(), "edges": kept.count()}


def _renumbered(rows: "DataFrame", ids: "DataFrame", column: str) -> "DataFrame":
    """The rows with the old ids of a column replaced by the new ones."""
    return rows.withColumnRenamed(column, "old").join(ids, "old").drop("old").withColumnRenamed("id", column)
