"""Churn from a trace of machine events: when a sample of machines is present, on a shorter time scale.

The sample is the machines with the smallest keyed hashes, so that it does not depend on partitioning. The times of the
trace are scaled to the requested length. A machine that the trace adds at time zero is present from the start.
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gossamer.model.arrays.churn import ABSENT, CRASH, JOIN, Churn
from gossamer.model.values.errors import InputError
from gossamer.pipeline.storage import Place, exists, read_parquet

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ADD, REMOVE = 0, 1
# Chosen: no machine joins or crashes in the last tenth of the time, so that the overlay has settled when it is
# measured.
QUIET_SHARE = 0.1


def churn_from_events(spark: "SparkSession", folder: Place, node_count: int, until_us: int, seed: int) -> Churn:
    """Joins and crashes of `node_count` machines, numbered from zero. A machine that the trace removes crashes."""
    from pyspark.sql import functions as f

    path = folder / "machine_events.parquet"
    if not exists(spark, path):
        raise InputError(f"{folder} has no machine_events.parquet; `gossamer ingest machine-events` makes one")
    events = read_parquet(spark, path).where(f"event in ({ADD}, {REMOVE})")
    machines = events.select("node").distinct().orderBy(f.xxhash64(f.lit(seed), "node"), "node").limit(node_count)
    # The driver gets the events of the sample only, which is as large as the simulated network.
    sampled = events.join(f.broadcast(machines), "node", "left_semi").orderBy("at_us", "node").toArrow()
    nodes, at_us, kinds = (sampled.column(name).to_numpy() for name in ("node", "at_us", "event"))
    known = np.unique(nodes)
    if len(known) < node_count:
        raise InputError(f"the trace has {len(known)} machines, fewer than the {node_count} nodes of the workload")
    last_us = max(int(at_us.max()), 1)
    scaled = at_us * ((1 - QUIET_SHARE) * until_us / (last_us + 1))
    return _churn(np.searchsorted(known, nodes), scaled, kinds, node_count)


def _churn(nodes: NDArray[np.int64], at_us: NDArray[np.float64], kinds: NDArray[np.int64], node_count: int) -> Churn:
    starts_present = np.zeros(node_count, np.bool_)
    starts_present[nodes[(kinds == ADD) & (at_us < 1)]] = True
    later = at_us >= 1
    absent = np.flatnonzero(~starts_present)
    times = np.concatenate((np.zeros(len(absent), np.int64), at_us[later].astype(np.int64)))
    who = np.concatenate((absent, nodes[later]))
    events = np.concatenate((np.full(len(absent), ABSENT), np.where(kinds[later] == ADD, JOIN, CRASH)))
    return Churn.from_rows(times, who, events)
