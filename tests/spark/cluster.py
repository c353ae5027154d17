"""A standalone cluster of Spark on loopback, for tests."""

import json
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
import pyspark

from gossamer.pipeline.java import find_java_home


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
        self.worker_count = 0
        for _ in range(2):
            self.add_worker()

    def add_worker(self) -> str:
        """Start one more worker and wait until the master knows it; returns its name."""
        self.worker_count += 1
        name = f"worker-{self.worker_count}"
        where = ("--host", "127.0.0.1", "--cores", "1", "--memory", "2g", "--work-dir", str(self.folder / name))
        self._start(name, "worker.Worker", *where, self.url)
        self.wait(lambda: self.log("master").count("Registering worker") >= self.worker_count, "a worker")
        return name

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

    def gossamer(self, *arguments: str, remote: str | None = None, folder: Path | None = None) -> subprocess.Popen[str]:
        """A command on the cluster or over Connect, started in a folder."""
        where = ["--remote", remote] if remote else ["--master", self.url]
        command = [sys.executable, "-m", "gossamer", *arguments, *where]
        return subprocess.Popen(
            command, env=self.environment, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def told(self, kind: str) -> list[dict]:
        """What Spark's event logs say of one kind of event."""
        lines = (line for path in self.events.iterdir() for line in path.read_text().splitlines())
        return [event for event in map(json.loads, lines) if event["Event"] == kind]


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


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])
