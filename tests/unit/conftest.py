"""A small workload to give to commands."""

import pytest

MAKE = ("workload", "make", "w", "--nodes", 60, "--topics", 12, "--subscriptions", 4, "--seed", 1)


def files(folder):
    """The names of a folder's files."""
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def workload(gossamer, tmp_path):
    """A workload of 60 nodes and 12 topics, in the folder `w`."""
    assert gossamer(*MAKE)[0] == 0
    return tmp_path / "w"
