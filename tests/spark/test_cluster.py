"""A standalone cluster of two workers, and a Connect server, on loopback: the same tables as in process.

And still when a worker dies midway.
"""

import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark", reason="the pipeline is part of gossamer[spark]")

import pyspark

from gossamer.pipeline.java import find_java_home
from gossamer.pipeline.session import on_worker
from gossamer.workloads.raw import write_raw_edges

STUDY = """
users = 3000
mean_degree = 8.0
machines = 300
nodes = 150
seeds = [1, 2]
churn_nodes = 30
churn_minutes = 1.0
churn_events = 5
disseminations = ["tree"]
systems = [{system = "spidercast"}, {system = "gm"}]
"""


def test_a_worker_without_our_libraries_fails_with_one_sentence():
    with pytest.raises(
        RuntimeError, match=r"^worker .* has no gossamer\.nowhere: install gossamer\[sim\] for .* there"
    ):
        on_worker("gossamer.nowhere", "anything")([])


class Cluster:
    """A master and two workers of one core each, their logs in a folder; Spark's own settings come from `conf`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.events = folder / "events"
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        (folder / "conf").mkdir(parents=True)
        self.events.mkdir()
        settings = {
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": self.events.as_uri(),
            "spark.eventLog.rolling.enabled": "false",
            "spark.eventLog.compress": "false",
            "spark.driver.host": "127.0.0.1",
            "spark.executor.memory": "1g",
            "spark.sql.shuffle.partitions": "8",
        }
        text = "".join(f"{name} {value}\n" for name, value in settings.items())
        (folder / "conf" / "spark-defaults.conf").write_text(text)
        self.environment = {
            **os.environ,
            "JAVA_HOME": str(find_java_home()),
            "SPARK_CONF_DIR": str(folder / "conf"),
            "SPARK_LOCAL_IP": "127.0.0.1",
        }
        port = _free_port()
        self.url = f"spark://127.0.0.1:{port}"
        self._start("master", "master.Master", "--host", "127.0.0.1", "--port", str(port))
        for name in ("worker-1", "worker-2"):
            where = ("--host", "127.0.0.1", "--cores", "1", "--memory", "2g", "--work-dir", str(folder / name))
            self._start(name, "worker.Worker", *where, self.url)
        self.wait(lambda: self.log("master").count("Registering worker") == 2, "two workers")

    def _start(self, name: str, what: str, *arguments: str) -> None:
        command = [str(Path(pyspark.__file__).parent / "bin" / "spark-class"), f"org.apache.spark.deploy.{what}"]
        with (self.folder / f"{name}.log").open("wb") as log:
            self.processes[name] = subprocess.Popen(
                [*command, "--webui-port", "0", *arguments],
                env=self.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def wait(self, is_so, what: str, seconds: float = 120) -> None:
        """Wait for a condition, with a deadline."""
        deadline = time.monotonic() + seconds
        pause = threading.Event()
        while not is_so():
            assert time.monotonic() < deadline, f"waited {seconds} s for {what}\n{self.log('master')[-2000:]}"
            pause.wait(0.05)

    def kill(self, name: str) -> None:
        """The worker and its executors, at once and without goodbye: they are one session of processes."""
        os.killpg(self.processes[name].pid, signal.SIGKILL)
        self.processes[name].wait()

    def stop(self) -> None:
        for name, process in self.processes.items():
            if process.poll() is None:
                self.kill(name)

    def connect_server(self) -> str:
        """A Spark Connect server beside it; its address."""
        port = _free_port()
        command = [str(Path(pyspark.__file__).parent / "bin" / "spark-submit")]
        command += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "--master", "local[2,4]"]
        command += ["--conf", f"spark.connect.grpc.binding.port={port}", "--conf", "spark.ui.enabled=false"]
        with (self.folder / "connect.log").open("wb") as log:
            self.processes["connect"] = subprocess.Popen(
                [*command, "spark-internal"],
                env={**self.environment, "PYSPARK_PYTHON": sys.executable},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.wait(lambda: "Connect server started" in self.log("connect"), "the Connect server")
        return f"sc://127.0.0.1:{port}"

    def gossamer(self, *arguments: str, remote: str | None = None) -> subprocess.Popen[str]:
        where = ["--remote", remote] if remote else ["--master", self.url]
        command = [sys.executable, "-m", "gossamer", *arguments, *where]
        return subprocess.Popen(
            command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def told(self, kind: str) -> list[dict]:
        """What Spark's event logs say of one kind of event."""
        lines = (line for path in self.events.iterdir() for line in path.read_text().splitlines())
        return [event for event in map(json.loads, lines) if event["Event"] == kind]


@pytest.fixture
def cluster(tmp_path):
    made = Cluster(tmp_path / "cluster")
    yield made
    made.stop()


def gossamer(*arguments):
    subprocess.run([sys.executable, "-m", "gossamer", *arguments], check=True, capture_output=True)


def finish(process):
    said, _ = process.communicate(timeout=600)
    assert process.returncode == 0, said
    return said


def bytes_of(path: Path, *leave_out: str) -> bytes:
    """A table's rows in order, as bytes."""
    table = pq.read_table(path).drop_columns(list(leave_out))
    table = table.sort_by([(name, "ascending") for name in table.column_names]).combine_chunks()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema.remove_metadata()) as out:
        for batch in table.replace_schema_metadata(None).to_batches():
            out.write_batch(batch)
    return sink.getvalue().to_pybytes()


@pytest.mark.slow
@pytest.mark.timeout(1_200)
def test_a_killed_worker_does_not_change_the_result(cluster, tmp_path):
    raw = tmp_path / "edges.txt"
    write_raw_edges(raw, 300_000, 20.0, 1)
    gossamer("ingest", "edges", str(raw), str(tmp_path / "here"))
    ingesting = cluster.gossamer("ingest", "edges", str(raw), str(tmp_path / "there"))
    # Half of the lines are read and neither names nor edges are there yet.
    cluster.wait(
        lambda: len(list(tmp_path.glob(".there*/lines.aside/**/part-*"))) > 0 or ingesting.poll() is not None, "rows"
    )
    assert ingesting.poll() is None, ingesting.communicate()[0]
    cluster.kill("worker-1")
    finish(ingesting)
    for name in ("edges", "names", "quarantine"):
        here, there = (bytes_of(tmp_path / side / f"{name}.parquet") for side in ("here", "there"))
        assert here == there, name
    lost = cluster.told("SparkListenerExecutorRemoved")[0]
    attempts = [event["Task Info"]["Attempt"] for event in cluster.told("SparkListenerTaskEnd")]
    again = [event for event in cluster.told("SparkListenerTaskEnd") if event["Task End Reason"]["Reason"] != "Success"]
    logging.info("executor %s removed: %s", lost["Executor ID"], lost["Removed Reason"])
    logging.info("%d task attempts, %d lost, highest attempt %d", len(attempts), len(again), max(attempts))
    assert again, "the worker died before it did anything"


@pytest.mark.slow
@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("where", ["cluster", "connect"])
def test_a_study_on_a_cluster_gives_the_same_tables(cluster, tmp_path, where):
    definition = tmp_path / "study.toml"
    definition.write_text(STUDY)
    gossamer("study", str(definition), "--out", str(tmp_path / "here"))
    remote = cluster.connect_server() if where == "connect" else None
    finish(cluster.gossamer("study", str(definition), "--out", str(tmp_path / "there"), remote=remote))
    for name in ("graph/edges", "workload/interests", "churn/churn", "results/failures"):
        here, there = (bytes_of(tmp_path / side / f"{name}.parquet") for side in ("here", "there"))
        assert here == there, name
    here, there = (
        bytes_of(tmp_path / side / "results" / "results.parquet", "run_seconds", "metrics")
        for side in ("here", "there")
    )
    assert here == there


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])
