"""The fast way to analyse: arrays in files that every worker can read, and ranges of topics as tasks.

The driver lays interests and links out as arrays once; a task maps them into memory and calls the kernels on its topics.
No rows are shuffled. It needs a folder that driver and workers share, and a driver with room for the arrays: both are
looked at before this way is taken.
"""

import os
from collections.abc import Iterator
from itertools import groupby, pairwise
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Any

from gossamer.pipeline.session import on_worker

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray
    from pyspark.sql import SparkSession

# Chosen: rows of interests and links together; laid out, and on the way there, a hundred bytes each at most.
FILES_ROWS_MAX = 100_000_000
ARRAYS = ("topic_starts", "topic_nodes", "starts", "neighbours")
_COLUMNS = ("components", "links", "diameter", "diameter_most", "clustering")


def can_use_files(spark: "SparkSession", overlay: Path, interests: Path, folder: Path) -> bool:
    """Whether the tables fit the driver, and every worker that a probe reaches reads what the driver writes."""
    import pyarrow.parquet as pq

    files = [file for path in (overlay, interests) for file in (path.rglob("*.parquet") if path.is_dir() else [path])]
    if sum(pq.read_metadata(file).num_rows for file in files) > FILES_ROWS_MAX:
        return False
    probe = folder / "probe.aside"
    written = f"{os.getpid()} {folder}"
    probe.write_text(written)
    tasks = int(spark.conf.get("spark.sql.shuffle.partitions") or 8)
    rows = spark.range(0, tasks, 1, tasks).mapInArrow(
        on_worker(__name__, "probe_rows", str(probe), written), "sees int"
    )
    seen = rows.selectExpr("min(sees) as all_see").first()
    probe.unlink()
    return seen is not None and seen["all_see"] == 1


def probe_rows(path: str, written: str, batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
    """In a worker: 1 if it reads what the driver wrote."""
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
    """The tables and figures of `analyse.write_analysis`."""
    import numpy as np

    from gossamer.model.tables.schemas import write_table
    from gossamer.model.tables.workload import read_overlay, read_workload
    from gossamer.simulator.columns import degree_columns, topic_columns
    from gossamer.simulator.measure import TopicMeasures, summarise

    found = read_workload(workload)
    interest, links = found.interest, read_overlay(overlay, found.node_ids)
    arrays = folder / "arrays.aside"
    arrays.mkdir()
    for name in ARRAYS:
        np.save(arrays / f"{name}.npy", getattr(interest if name.startswith("topic") else links, name))
    tasks = max(int(spark.conf.get("spark.sql.shuffle.partitions") or 8), 1)
    # As many subscriptions for each task, in whole topics.
    cuts = np.searchsorted(interest.topic_starts, np.linspace(0, interest.subscription_count, tasks + 1)[1:-1])
    bounds = np.unique(np.concatenate(([0], cuts, [interest.topic_count]))).tolist()
    call = on_worker(__name__, "measure_ranges", str(arrays), bounds, exact_nodes, lengths)
    kinds = ", ".join(f"{name} {'double' if name == 'clustering' else 'bigint'}" for name in _COLUMNS)
    # As many rows as there are topics, and the driver holds every subscription of each already.
    table = spark.range(0, len(bounds) - 1, 1, len(bounds) - 1).mapInArrow(call, f"place bigint, {kinds}").toArrow()
    rmtree(arrays)
    order = np.argsort(table.column("place").to_numpy())
    measured = TopicMeasures(interest.popularity, *(table.column(name).to_numpy()[order] for name in _COLUMNS))
    columns = topic_columns(found, measured)
    figures = summarise(links, interest, measured, lengths=lengths)
    if not lengths:
        for name in ("diameter", "diameter_most", "clustering"):
            del columns[name]
    write_table("topics", folder / "topics.parquet", columns)
    write_table("degrees", folder / "degrees.parquet", degree_columns(links))
    return figures


def measure_ranges(
    arrays: str, bounds: list[int], exact_nodes: int, lengths: bool, batches: "Iterator[pa.RecordBatch]"
) -> "Iterator[pa.RecordBatch]":
    """In a worker: the topics of each range, measured where they lie."""
    import numpy as np
    import pyarrow as pa

    from gossamer.kernels.measures import topic_clustering, topic_components, topic_diameters

    # Mapped to be written on a copy, though nobody does: kernels are compiled for arrays that may be written.
    topic_starts, topic_nodes, starts, neighbours = (
        np.load(Path(arrays) / f"{name}.npy", mmap_mode="c") for name in ARRAYS
    )
    spread = (topic_starts, topic_nodes, starts, neighbours)
    ranges = list(pairwise(bounds))
    for batch in batches:
        for number in map(int, batch.column("id").to_numpy()):
            first, last = ranges[number]
            nothing = np.zeros(last - first, np.int64)
            columns: list[NDArray[Any]] = [*topic_components(*spread, first, last)]
            columns += _diameters(topic_diameters, spread, first, last, exact_nodes) if lengths else [nothing, nothing]
            columns += [topic_clustering(*spread, first, last) if lengths else nothing.astype(np.float64)]
            named = dict(zip(_COLUMNS, columns, strict=True))
            yield pa.RecordBatch.from_pydict({"place": np.arange(first, last), **named})


def _diameters(
    kernel: Any, spread: "tuple[NDArray[Any], ...]", first: int, last: int, exact_nodes: int
) -> "list[NDArray[np.int64]]":
    """Exact for small topics, bounded for large ones: run by run, because the kernel does one or the other."""
    import numpy as np

    sizes = np.diff(spread[0][first : last + 1])
    found = []
    for exact, run in groupby(range(first, last), key=lambda topic: bool(sizes[topic - first] <= exact_nodes)):
        topics = list(run)
        found.append(kernel(*spread, topics[0], topics[-1] + 1, exact))
    return [np.concatenate(column) for column in zip(*found, strict=True)]
