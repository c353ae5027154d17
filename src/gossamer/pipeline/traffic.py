"""Summarises the traffic of a simulation by topic and time window: deliveries, latencies and control messages."""

from typing import TYPE_CHECKING

from gossamer.pipeline.storage import Place, exists, read_parquet, write_parquet

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


def delivery_windows(publications: "DataFrame", deliveries: "DataFrame", window_us: int) -> "DataFrame":
    """One row for each topic and window of publishing time. Latencies are NaN where no message was delivered."""
    from pyspark.sql import functions as f

    window = (f.col("at_us") - f.col("at_us") % window_us).alias("window_us")
    published = publications.select("event", "topic", "expected", f.col("at_us").alias("published_us"), window)
    # Nodes that joined after a message was published are not among its expected receivers.
    arrived = deliveries.where("due").select("event", "at_us").join(published, "event")
    latency = f.col("at_us") - f.col("published_us")
    key = ("window_us", "topic")
    late = arrived.groupBy(*key).agg(
        f.count(f.lit(1)).alias("delivered"),
        *(f.percentile(latency, share).alias(f"latency_us_{name}") for name, share in QUANTILES.items()),
        f.max(latency).cast("double").alias("latency_us_most"),
    )
    sent = published.groupBy(*key).agg(f.count(f.lit(1)).alias("published"), f.sum("expected").alias("expected"))
    delivered = f.coalesce("delivered", f.lit(0)).cast("bigint")
    return sent.join(late, list(key), "left").select(
        f.col("window_us").alias("at_us"),
        "topic",
        "published",
        "expected",
        delivered.alias("delivered"),
        # A message without any other subscriber counts as delivered.
        f.when(f.col("expected") > 0, delivered / f.col("expected")).otherwise(1.0).alias("delivery_ratio"),
        *(f.coalesce(name, f.lit(float("nan"))).alias(name) for name in (*_latencies(), "latency_us_most")),
    )


def control_windows(control: "DataFrame", window_us: int) -> "DataFrame":
    """One row for each kind of message and window."""
    from pyspark.sql import functions as f

    window = (f.col("at_us") - f.col("at_us") % window_us).alias("at_us")
    totals = (f.sum(name).alias(name) for name in ("messages", "frames", "bytes"))
    return control.groupBy(window, "kind").agg(*totals)


def write_traffic(spark: "SparkSession", run: Place, folder: Place, window_us: int) -> dict[str, int]:
    """Write delivery_windows.parquet and control_windows.parquet of a simulation; returns their row counts."""
    tables = {name: read_parquet(spark, run / f"{name}.parquet") for name in ("publications", "deliveries", "control")}
    made = {
        "delivery_windows": delivery_windows(tables["publications"], tables["deliveries"], window_us),
        "control_windows": control_windows(tables["control"], window_us),
    }
    rows = {}
    for name, table in made.items():
        path = folder / f"{name}.parquet"
        write_parquet(table.coalesce(1), path)
        rows[name] = read_parquet(spark, path).count()
    return rows


def has_traffic(spark: "SparkSession", run: Place) -> bool:
    """Whether a folder has the traffic tables of a simulation."""
    return all(exists(spark, run / f"{name}.parquet") for name in ("publications", "deliveries", "control"))


def _latencies() -> tuple[str, ...]:
    return tuple(f"latency_us_{name}" for name in QUANTILES)
