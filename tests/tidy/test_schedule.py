"""The tests of Spark run in one worker of pytest, beside the other tests."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.schedule import SPARK, unit_of

ROOT = Path(__file__).resolve().parents[2]

SMALL_TEST = """
import os
from pathlib import Path
import pytest

@pytest.mark.parametrize("number", range(8))
def test_which_worker_runs_it(number):
    with Path(__file__).with_suffix(".workers").open("a") as found:
        found.write(os.environ["PYTEST_XDIST_WORKER"] + " ")
"""


def test_two_workers_share_the_tests_and_one_of_them_runs_all_tests_of_spark(tmp_path):
    for name in ("spark/test_one.py", "spark/test_two.py", "test_other.py", "test_another.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(SMALL_TEST)
    (tmp_path / "conftest.py").write_text("from tests.schedule import pytest_xdist_make_scheduler\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "2", "-q"],
        cwd=tmp_path,
        env={**environment, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    workers = {path.stem: path.read_text().split() for path in tmp_path.rglob("*.workers")}
    assert [len(found) for found in workers.values()] == [8] * 4
    assert len({*workers["test_one"], *workers["test_two"]}) == 1
    assert len({worker for found in workers.values() for worker in found}) == 2


@pytest.mark.parametrize(
    ("nodeid", "is_spark"),
    [
        ("tests/spark/test_ingest.py::test_memberships_become_interests", True),
        ("tests/plugins/test_star_per_topic.py::test_a_study_on_spark_runs_it_and_reports_it", True),
        ("tests/unit/model/test_ids.py::test_a_name_keeps_its_number[spark]", False),
        ("tests/unit/model/test_ids.py::test_sparkling_names_keep_their_numbers", False),
    ],
)
def test_the_folder_or_a_word_of_its_name_makes_a_test_one_of_spark(nodeid, is_spark):
    assert (unit_of(nodeid) == SPARK) == is_spark
    assert is_spark or unit_of(nodeid) == nodeid
