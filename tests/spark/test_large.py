"""Ingest, sample and analyse with the driver held to 1 GiB, on an input of several GiB."""

import json
import subprocess
import sys

import pytest

pytest.importorskip("pyspark", reason="the pipeline is part of gossamer[spark]")

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3_600)]

NODES, EDGES = 1_000_000, 20_000_000
# Any string is a name: these make a line 130 bytes long.
NAME = "user-of-a-system-whose-names-are-far-longer-than-they-need-be-{:07d}"

# In a process of its own, because the Java that a test before this one has started keeps the memory it was given.
PIPELINE = """
import json, sys
from pathlib import Path
from pyspark.sql import functions as f
from gossamer.pipeline.analyse import SHUFFLE, write_analysis
from gossamer.pipeline.ingest import ingest_edges
from gossamer.pipeline.sample import write_sample
from gossamer.pipeline.session import spark_session
from gossamer.pipeline.storage import spark_path

folder = Path(sys.argv[1])
with spark_session(driver_memory="1g") as spark:
    heap = spark._jvm.java.lang.Runtime.getRuntime().maxMemory()
    for name in ("graph", "sample", "w", "o", "analysis"):
        (folder / name).mkdir()
    counts = ingest_edges(spark, [folder / "edges.txt"], folder / "graph", directed=False).counts
    sample = write_sample(spark, folder / "graph", folder / "sample", 100_000, 3, 1, "friends")
    # The graph itself as an overlay, over two topics a node.
    edges = spark.read.parquet(spark_path(folder / "graph" / "edges.parquet"))
    edges.select(f.col("source").alias("u"), f.col("target").alias("v")).write.parquet(spark_path(folder / "o" / "overlay.parquet"))
    names = spark.read.parquet(spark_path(folder / "graph" / "names.parquet")).select(f.col("id").alias("node"))
    both = names.select("node", (f.col("node") % 499).alias("topic")).union(
        names.select("node", 499 + f.col("node") % 503)
    )
    both.write.parquet(spark_path(folder / "w" / "interests.parquet"))
    found = write_analysis(spark, folder / "o", folder / "w", folder / "analysis", SHUFFLE, lengths=False)
print(json.dumps({"heap": heap, "counts": vars(counts), "sample": sample, "found": found}))
"""


def test_a_driver_with_one_gibibyte_is_enough_for_several_of_input(tmp_path):
    with (tmp_path / "edges.txt").open("w") as file:
        for first in range(0, EDGES, 100_000):
            # A ring, and chords whose length depends on where they begin: no edge stands twice.
            file.writelines(
                f"{NAME.format(edge % NODES)} {NAME.format((edge % NODES + 1 + (edge // NODES) * 17) % NODES)}\n"
                for edge in range(first, first + 100_000)
            )
    assert (tmp_path / "edges.txt").stat().st_size > 2 * 2**30
    done = subprocess.run(
        [sys.executable, "-c", PIPELINE, str(tmp_path)], capture_output=True, text=True, timeout=3_500, check=False
    )
    assert done.returncode == 0, done.stderr[-3_000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["heap"] <= 2**30
    assert found["counts"]["rows"] == EDGES
    assert found["sample"]["nodes"] == 100_000
    assert found["found"]["nodes"] == NODES
    assert found["found"]["links"] == EDGES
