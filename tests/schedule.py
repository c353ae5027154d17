"""Decides which pytest worker runs which test: `pytest -n 2` runs all tests of Spark in one process.

A Java process takes ten seconds of CPU time to start and compiles Spark's classes while it runs. Two of them on two
cores slow down every other test. The tests of Spark are therefore one unit of work. It is the largest unit, so it starts
first, beside all other tests.

The group is found by the name of the test, because `xdist_group` does nothing with pytest 9.2 and pytest-xdist 3.8: the
workers cannot add the group to the test's id any more, and no warning says so.
"""

from typing import Any

import pytest

SPARK = "spark"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Replace the scheduler that `-n` selects; a scheduler that was chosen with `--dist` stays."""
    if config.getvalue("dist") != "load":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class OneWorkerForSpark(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return unit_of(nodeid)

    return OneWorkerForSpark(config, log)


def unit_of(nodeid: str) -> str:
    """The unit of work that a test belongs to: each test is its own unit, except for tests of Spark.

    Tests of Spark are in the folder `spark`, or have `spark` as a word of their name.
    """
    path, _, name = nodeid.partition("[")[0].partition("::")
    return SPARK if SPARK in path.split("/") or SPARK in name.split("_") else nodeid
