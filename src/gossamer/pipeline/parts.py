"""Plans the parts of a divided workload as Spark tasks: a worker gets the arrays of a part and returns its links.

The plan of a part depends on the part only, and links are returned in the order of the parts. The number of workers and
partitions therefore does not change the result.
"""

import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from gossamer.pipeline.session import on_worker
from gossamer.planners.divide import PlanPart, plan_part

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

_LinkArrays = tuple[Any, Any]


def parts_on_spark(
    spark: "SparkSession", partitions: int | None = None
) -> Callable[[Callable[[PlanPart], _LinkArrays], Sequence[PlanPart]], Iterator[_LinkArrays]]:
    """The function that `divide.plan_in_parts` takes as `run`. By default each part is one task."""

    def run(_: Callable[[PlanPart], _LinkArrays], parts: Sequence[PlanPart]) -> Iterator[_LinkArrays]:
        import numpy as np
        import pyarrow as pa

        # Only bytes that this function wrote are unpickled.
        packed = [pickle.dumps(part) for part in parts]
        table = spark.createDataFrame(
            pa.table({"part": list(range(len(parts))), "packed": pa.array(packed, pa.binary())})
        )
        spread = table.repartitionByRange(partitions or len(parts), "part")
        found = spread.mapInArrow(on_worker(__name__, "plan_rows"), "part bigint, u binary, v binary").toArrow()
        rows = {row["part"]: row for row in found.to_pylist()}
        for number in range(len(parts)):
            yield tuple(np.frombuffer(rows[number][side], np.int32) for side in ("u", "v"))  # type: ignore[misc]

    return run


def plan_rows(batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
    """In a worker: plan each part and return its links."""
    import numpy as np
    import pyarrow as pa

    for batch in batches:
        for row in batch.to_pylist():
            part: PlanPart = pickle.loads(row["packed"])
            u, v = (np.ascontiguousarray(side, np.int32).tobytes() for side in plan_part(part))
            yield pa.RecordBatch.from_pydict({"part": [row["part"]], "u": [u], "v": [v]})
