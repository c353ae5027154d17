"""The workloads of a study: a sample of its input, or the whole input if it has no more nodes than were asked for."""

from typing import TYPE_CHECKING, Any

from gossamer.model.values.errors import InputError
from gossamer.pipeline.ids import write_ids
from gossamer.pipeline.sample import (
    FOLLOWERS,
    FRIENDS,
    along_edges,
    copy_names,
    sample_nodes,
    with_hint,
    write_sample,
)
from gossamer.pipeline.sample import MEMBERSHIPS as BY_GROUPS
from gossamer.pipeline.storage import Place, discard, exists, read_parquet, rewritten, write_parquet
from gossamer.pipeline.study_settings import BOTH, EDGES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def take_workload(spark: "SparkSession", workload: Place, folder: Place) -> dict[str, int]:
    """Write the interests of a workload with nodes numbered from zero, and names(id, name) with their own ids."""
    rows = read_parquet(spark, workload / "interests.parquet")
    rows = rows.select(*(name for name in ("node", "topic", "role") if name in rows.columns))
    count = rows.count()
    if not count:
        raise InputError(f"{workload / 'interests.parquet'} is empty: a workload needs at least one (node, topic) row")
    if again := count - rows.select("node", "topic").distinct().count():
        raise InputError(f"{workload / 'interests.parquet'} contains {again} duplicate rows; keep each pair once")
    rows = rows.withColumn("node", rows["node"].cast("bigint"))
    names = write_ids(rows, ("node",), True, folder, "names.parquet")
    numbered = names.put_for(rows, "node")
    columns = ["node", "cast(topic as bigint) as topic", *(["role"] if "role" in rows.columns else [])]
    write_parquet(numbered.selectExpr(*columns), folder / "interests.parquet")
    _take_names(spark, workload, folder)
    topics = rows.select("topic").distinct().count()
    return {"rows": count, "nodes": names.count, "topics": topics}


def _take_names(spark: "SparkSession", workload: Place, folder: Place) -> None:
    """Put the names of the workload, if it has names, in place of its own ids."""
    path, aside = folder / "names.parquet", folder / "ids.aside"
    if exists(spark, workload / path.name):
        given = read_parquet(spark, workload / path.name).selectExpr("id as own", "name")
        ids = rewritten(read_parquet(spark, path).selectExpr("id", "cast(name as bigint) as own"), aside)
        discard(spark, path)
        write_parquet(ids.join(given, "own").select("id", "name").orderBy("id"), path)
        discard(spark, aside)
    if exists(spark, workload / "topic_names.parquet"):
        write_parquet(read_parquet(spark, workload / "topic_names.parquet"), folder / "topic_names.parquet")


def write_study_sample(
    spark: "SparkSession",
    graph: Place,
    folder: Place,
    kind: str,
    directed: bool,
    users: int,
    wanted: int,
    starts: int,
    seed: int,
) -> dict[str, Any]:
    """Write the workload of `wanted` nodes, or of all `users` if there are no more; returns its counts."""
    if wanted >= users:
        counts = _write_whole(spark, graph, folder, kind, directed)
    elif kind == EDGES:
        counts = write_sample(spark, graph, folder, wanted, starts, seed, FOLLOWERS if directed else FRIENDS)
    elif kind == BOTH:
        counts = _sample_along_edges(spark, graph, folder, wanted, starts, seed)
    else:
        counts = write_sample(spark, graph, folder, wanted, starts, seed, BY_GROUPS)
        _add_roles(spark, graph, folder)
    if not exists(spark, folder / "names.parquet"):
        copy_names(spark, graph, folder)
    return {**counts, "of_nodes": users}


def _write_whole(spark: "SparkSession", graph: Place, folder: Place, kind: str, directed: bool) -> dict[str, int]:
    from pyspark.sql import functions as f

    counts = {}
    if kind == EDGES:
        edges = read_parquet(spark, graph / "edges.parquet").select("source", "target")
        write_parquet(edges.repartition(1), folder / "edges.parquet")
        # A follower (source) subscribes to the user that it follows (target). Friends subscribe to each other.
        rows = edges.select(f.col("source").alias("node"), f.col("target").alias("topic"))
        rows = rows if directed else rows.union(edges.select("target", "source")).distinct()
        counts["edges"] = edges.count()
    else:
        rows = read_parquet(spark, graph / "interests.parquet")
    return {**counts, **_write_interests(spark, rows, folder)}


def _sample_along_edges(
    spark: "SparkSession", graph: Place, folder: Place, wanted: int, starts: int, seed: int
) -> dict[str, int]:
    """Users that a search along the edges reaches, with all of their groups."""
    from pyspark.sql import functions as f

    edges = read_parquet(spark, graph / "edges.parquet").select("source", "target")
    linked = edges.select(f.col("source").alias("node")).union(edges.select("target")).distinct()
    # The search starts at numbers from zero, so the users with an edge are numbered for it.
    numbers, hops = "numbers.aside", folder / "hops.aside"
    users = write_ids(linked, ("node",), True, folder, numbers)
    numbered = users.put_for(users.put_for(edges, "source"), "target")
    everyone = users.table.select(f.col("id").alias("node"))
    found = sample_nodes(spark, along_edges(numbered), everyone, users.count, wanted, starts, seed, hops)
    ids = users.table.selectExpr("id", "cast(name as bigint) as node")
    nodes = ids.join(with_hint(found.withColumnRenamed("node", "id"), wanted), "id").select("node")
    rows = read_parquet(spark, graph / "interests.parquet").join(with_hint(nodes, wanted), "node", "left_semi")
    counts = _write_interests(spark, rows, folder)
    for aside in (folder / numbers, hops):
        discard(spark, aside)
    return counts


def _write_interests(spark: "SparkSession", rows: "DataFrame", folder: Place) -> dict[str, int]:
    path = folder / "interests.parquet"
    write_parquet(rows.repartition(1), path)
    written = read_parquet(spark, path)
    return {"nodes": written.select("node").distinct().count(), "interests": written.count()}


def _add_roles(spark: "SparkSession", graph: Place, folder: Place) -> None:
    """Give the sampled interests the roles that they have in the input, if it has roles."""
    given = read_parquet(spark, graph / "interests.parquet")
    if "role" not in given.columns:
        return
    path, aside = folder / "interests.parquet", folder / "nodes.aside"
    nodes = rewritten(read_parquet(spark, path).select("node").distinct(), aside)
    discard(spark, path)
    write_parquet(given.join(nodes, "node", "left_semi").repartition(1), path)
    discard(spark, aside)
