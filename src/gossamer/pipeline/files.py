"""The fast way to analyse an overlay: arrays in files that every worker reads, and one task for each range of topics.

The driver writes interests and links as arrays. A task maps them into memory and calls the measures on its topics. No
rows are shuffled. This way needs a folder that driver and workers share, and a driver with enough memory for the arrays;
`can_use_files` checks both.
"""

import os
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Any

from gossamer.model.values.errors import InputError
from gossamer.pipeline.session import on_worker

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from gossamer.model.arrays.interest import Interest

# Chosen: rows of interests and links together. Each takes at most a hundred bytes of the driver's memory.
FILES_ROWS_MAX = 100_000_000
ARRAYS = ("topic_starts", "topic_nodes", "starts", "neighbours")


def can_use_files(spark: "SparkSession", overlay: Path, interests: Path, folder: Path) -> bool:
    """Whether the tables fit the driver's memory, and workers can read a file that the driver writes."""
    import pyarrow.parquet as pq

    files = [file for path in (overlay, interests) for file in (path.rglob("*.parquet") if path.is_dir() else [path])]
    if sum(pq.read_metadata(file).num_rows for file in files) > FILES_ROWS_MAX:
        return False
    return is_shared(spark, folder)


def check_shared(spark: "SparkSession", folder: Path) -> None:
    """Refuse a folder that workers on other machines cannot read: their runs read workloads from it."""
    if not is_shared(spark, folder):
        raise InputError(f"the workers cannot read {folder}: choose an output folder that driver and workers share")


def is_shared(spark: "SparkSession", folder: Path) -> bool:
    """Whether workers can read a file that the driver writes to a folder."""
    probe = folder / "probe.aside"
    written = f"{os.getpid()} {folder}"
    probe.write_text(written)
    tasks = int(spark.conf.get("spark.sql.shuffle.partitions") or 8)
    rows = spark.range(0, tasks, 1, tasks).mapInArrow(
        on_worker(__name__, "probe_rows", str(probe), written), "sees int"
    )
    try:
        seen = rows.selectExpr("min(sees) as all_see").first()
    finally:
        probe.unlink()
    return seen is not None and seen["all_see"] == 1


def probe_rows(path: str, written: str, batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
    """In a worker: 1 if this worker can read the file of the driver, otherwise 0."""
    import pyarrow as pa

    for _ in batches:
        try:
            sees = Path(path).read_text() == written
        except OSError:
            sees = False
        yield pa.RecordBatch.from_pydict({"sees": pa.array([int(sees)], pa.int32())})


def measure_by_files(
    spark: "SparkSession", overlay: Path, workload: Path, folder: Path, exact_nodes: int, lengths: bool
) -> dict[str, Any]:
    """The tables and figures of `write_analysis`, by tasks that read files."""
    import numpy as np

    from gossamer.model.tables.measures import SPARK_TYPES, measure_modules, topic_measures
    from gossamer.model.tables.schemas import write_table
    from gossamer.model.tables.workload import read_overlay, read_present, read_workload
    from gossamer.simulator.columns import measured_tables
    from gossamer.simulator.measure import TopicMeasures, summarise

    found = read_workload(workload)
    links, present = read_overlay(overlay, found.node_ids), read_present(overlay, found.node_ids)
    interest = found.interest if present is None else found.interest.among(present)
    arrays = folder / "arrays.aside"
    arrays.mkdir()
    for name in ARRAYS:
        np.save(arrays / f"{name}.npy", getattr(interest if name.startswith("topic") else links, name))
    bounds = _bounds(interest, max(int(spark.conf.get("spark.sql.shuffle.partitions") or 8), 1))
    call = on_worker(__name__, "measure_ranges", str(arrays), bounds, exact_nodes, lengths, measure_modules())
    types = {name: kind for each in topic_measures(lengths) for name, kind in each.columns.items()}
    rows = ", ".join(["place bigint", *(f"{name} {SPARK_TYPES[kind]}" for name, kind in types.items())])
    # One row for each topic: the driver has every subscription in memory already.
    table = spark.range(0, len(bounds) - 1, 1, len(bounds) - 1).mapInArrow(call, rows).toArrow()
    rmtree(arrays)
    order = np.argsort(table.column("place").to_numpy())
    measured = TopicMeasures({name: table.column(name).to_numpy()[order] for name in types})
    for name, columns in measured_tables(links, found, measured, present).items():
        write_table(name, folder / f"{name}.parquet", columns)
    return summarise(links, interest, measured, present, lengths)


def _bounds(interest: "Interest", tasks: int) -> list[int]:
    """Where ranges of topics begin and end: about equally many subscriptions for each task, in whole topics."""
    import numpy as np

    cuts = np.searchsorted(interest.topic_starts, np.linspace(0, interest.subscription_count, tasks + 1)[1:-1])
    bounds: list[int] = np.unique(np.concatenate(([0], cuts, [interest.topic_count]))).tolist()
    return bounds


def measure_ranges(
    arrays: str,
    bounds: list[int],
    exact_nodes: int,
    lengths: bool,
    modules: Sequence[str],
    batches: "Iterator[pa.RecordBatch]",
) -> "Iterator[pa.RecordBatch]":
    """In a worker: measure the topics of each range."""
    import numpy as np
    import pyarrow as pa

    from gossamer.model.tables.measures import TopicRange, load_measures
    from gossamer.simulator.measure import measure_range

    load_measures(modules)
    # Copy on write, though nothing writes: kernels are compiled for writable arrays.
    topic_starts, topic_nodes, starts, neighbours = (
        np.load(Path(arrays) / f"{name}.npy", mmap_mode="c") for name in ARRAYS
    )
    ranges = list(pairwise(bounds))
    for batch in batches:
        for number in map(int, batch.column("id").to_numpy()):
            first, last = ranges[number]
            topics = TopicRange(topic_starts, topic_nodes, starts, neighbours, first, last, exact_nodes)
            columns = measure_range(topics, lengths)
            yield pa.RecordBatch.from_pydict({"place": np.arange(first, last), **columns})
