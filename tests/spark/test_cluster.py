"""A standalone cluster of two workers, and a Connect server, on loopback: the same tables as in process.

And still when a worker dies midway.
"""

import logging
import subprocess
import threading
import venv

import msgspec
import pytest

pytest.importorskip("pyspark", reason="the pipeline is part of gossamer[spark]")

from gossamer.model.values.draw import Purpose, below, draw
from gossamer.pipeline.session import on_worker
from gossamer.workloads.raw import write_raw_edges
from tests.spark.cluster import Cluster, bytes_of, finish, gossamer

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


@pytest.fixture
def cluster(tmp_path):
    made = Cluster(tmp_path / "cluster")
    yield made
    made.stop()


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


# Tables of a study, and columns that are measured durations or contain them.
TABLES = {
    "graph/edges": (),
    "graph/names": (),
    "graph/quarantine": (),
    "workload/interests": (),
    "churn/churn": (),
    "profile/spreads": (),
    "results/failures": (),
    "results/results": ("run_seconds", "metrics"),
}


def assert_equal_studies(one, other):
    for name, leave_out in TABLES.items():
        here, there = (bytes_of(side / f"{name}.parquet", *leave_out) for side in (one, other))
        assert here == there, name


@pytest.mark.slow
@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("where", ["cluster", "connect"])
def test_a_study_on_a_cluster_gives_the_same_tables(cluster, tmp_path, where):
    (tmp_path / "study.toml").write_text(STUDY)
    gossamer("study", str(tmp_path / "study.toml"), "--out", str(tmp_path / "here"))
    remote = cluster.connect_server() if where == "connect" else None
    # The paths are relative: workers have other working folders than the driver.
    finish(cluster.gossamer("study", "study.toml", "--out", "out/there", remote=remote, folder=tmp_path))
    assert_equal_studies(tmp_path / "here", tmp_path / "out" / "there")


@pytest.mark.slow
@pytest.mark.timeout(1_200)
def test_a_cluster_whose_workers_lack_our_packages_is_refused_in_one_sentence(cluster, tmp_path):
    (tmp_path / "study.toml").write_text(STUDY)
    venv.create(tmp_path / "bare", with_pip=False)
    for python, sentence in (("bare/bin/python", "has no pyarrow: install gossamer[sim]"), ("none", "cannot run")):
        cluster.environment["PYSPARK_PYTHON"] = str(tmp_path / python)
        study = cluster.gossamer("study", "study.toml", "--out", "out", folder=tmp_path)
        said, _ = study.communicate(timeout=600)
        assert study.returncode == 2, said
        (told,) = [line for line in said.splitlines() if line.startswith("gossamer:")]
        assert sentence in told
        assert "Traceback" not in said
        assert not list((tmp_path / "out").rglob("*")), "nothing is half-written"


class Killer:
    """Follows what a study prints, and kills a worker once in each stage, at a drawn moment."""

    def __init__(self, cluster: Cluster, seconds: dict[str, float], seed: int) -> None:
        self.cluster, self.seconds, self.seed = cluster, seconds, seed
        self.said: list[str] = []
        self.killed: list[str] = []
        self.stop = threading.Event()

    def follow(self, process: subprocess.Popen[str]) -> None:
        waiting: list[threading.Thread] = []
        for line in process.stdout:
            self.said.append(line)
            stage = line.rpartition("]")[2].strip().removesuffix(" ...")
            if line.strip().endswith("...") and stage in self.seconds:
                waiting.append(threading.Thread(target=self._kill_in, args=(stage,)))
                waiting[-1].start()
        process.wait(timeout=600)
        self.stop.set()
        for thread in waiting:
            thread.join()

    def _kill_in(self, stage: str) -> None:
        share = below(draw(self.seed, len(stage), Purpose.SAMPLE, 1), 1_000) / 1_000
        if self.stop.wait(share * self.seconds[stage]):
            return
        alive = [
            name for name, process in self.cluster.processes.items() if "worker" in name and process.poll() is None
        ]
        chosen = alive[below(draw(self.seed, len(stage), Purpose.SAMPLE, 2), len(alive))]
        self.cluster.kill(chosen)
        self.killed.append(f"{chosen} in {stage}")
        self.cluster.add_worker()


@pytest.mark.slow
@pytest.mark.timeout(3_600)
def test_a_study_survives_the_loss_of_a_worker_in_every_stage(cluster, tmp_path):
    """Each stage loses a worker at a drawn moment, and another worker starts; ten seeds."""
    definition = tmp_path / "study.toml"
    definition.write_text(STUDY)
    finish(cluster.gossamer("study", str(definition), "--out", str(tmp_path / "calm")))
    manifests = {
        path.parent.name: msgspec.json.decode(path.read_bytes()) for path in (tmp_path / "calm").glob("*/manifest.json")
    }
    # The raw files are made without Spark, and the figures are no stage.
    seconds = {name: told["stage_seconds"] for name, told in manifests.items() if name not in ("raw", "figures")}
    hit: set[str] = set()
    for seed in range(1, 11):
        killer = Killer(cluster, seconds, seed)
        out = tmp_path / f"seed-{seed}"
        process = cluster.gossamer("study", str(definition), "--out", str(out))
        killer.follow(process)
        logging.info("seed %d killed %s", seed, ", ".join(killer.killed))
        assert process.returncode == 0, f"seed {seed}, killed {killer.killed}\n{''.join(killer.said)[-3000:]}"
        hit |= {each.rpartition(" in ")[2] for each in killer.killed}
        assert_equal_studies(tmp_path / "calm", out)
    assert hit == set(seconds), "every stage must lose a worker with some seed"
    lost = cluster.told("SparkListenerExecutorRemoved")
    assert len(lost) >= 20, "hardly any executor was lost while a study ran"
