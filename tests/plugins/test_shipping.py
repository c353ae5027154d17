"""A Spark worker gets zips and no entry points: a run names the module that brings its system."""

import json
import os
import subprocess
import sys
import zipfile

from gossamer.kernels.jit import cache_base

PACK = """
import sys
from pathlib import Path
from gossamer.pipeline.session import pack
for module in ("gossamer", "star_per_topic"):
    pack(module, Path(sys.argv[1]))
"""

WORKER = """
import json
from gossamer.model.values.run import Run, WorkloadLaw
from gossamer.simulator.pool import run_metrics
from gossamer.systems import all_systems
import gossamer

law = WorkloadLaw(nodes=40, topics=5, subscriptions="2", popularity="rss")
run = Run(system="star-per-topic", module="star_per_topic", seed=1, workload=law)
print(json.dumps([gossamer.__file__, run_metrics(run)["partitioned_topics"], sorted(all_systems())]))
"""


def test_a_worker_runs_a_system_of_other_people_from_a_zip(python, star, tmp_path):
    done = python("-c", PACK, tmp_path, path=(star,))
    assert done.returncode == 0, done.stderr
    archives = [tmp_path / "gossamer.zip", tmp_path / "star_per_topic.zip"]
    names = zipfile.ZipFile(archives[1]).namelist()
    assert "star_per_topic/published.toml" in names
    assert not [name for name in names if "__pycache__" in name]
    # -S: without the site packages' .pth files, so that the checkout is not on the path.
    libraries = [path for path in sys.path if path.endswith("site-packages")]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, (*archives, *libraries))),
        # The name of a cache folder is the hash of all kernel sources: those in the zip are those of the checkout.
        "NUMBA_CACHE_DIR": str(cache_base()),
    }
    done = subprocess.run(
        [sys.executable, "-S", "-c", WORKER],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    where, disconnected, systems = json.loads(done.stdout)
    assert where.startswith(str(archives[0]))
    assert disconnected == 0
    assert {"star-per-topic", "spidercast", "gm"} <= set(systems)
