"""A small workload to give to commands."""

import pytest

MAKE = ("workload", "make", "w", "--nodes", 60, "--topics", 12, "--subscriptions", 4, "--seed", 1)


@pytest.fixture
def workload(gossamer, tmp_path):
    assert gossamer(*MAKE)[0] == 0
    return tmp_path / "w"
