"""Experiments: measurements of a system that are no runs, computed once and stored."""

import pytest

from gossamer.model.values.errors import InputError
from gossamer.model.values.progress import silent
from gossamer.model.values.run import Experiment
from gossamer.simulator.pool import execute_all, experiment_metrics, run_key

LOOKUP = Experiment(system="feverfew", name="lookup", arguments={"nodes": 64}, seed=1)


def test_an_experiment_calls_the_function_of_its_system_with_seed_and_arguments():
    found = experiment_metrics(LOOKUP)
    # A lookup among 64 nodes takes at most about twice log2(64) hops, and half of that on average.
    assert 1 < found["hops_mean"] < 6 <= found["hops_max"] <= 12


def test_files_of_data_are_further_arguments(tmp_path):
    (tmp_path / "groups.txt").write_text("".join(f"{user} {user % 3}\n" for user in range(30)))
    groups = Experiment(
        system="feverfew",
        name="cover_groups",
        arguments={"parameters": {}, "cycles": 5},
        data={"groups": str(tmp_path / "groups.txt")},
        seed=1,
    )
    assert experiment_metrics(groups)["covered_share"][-1] == 1.0


def test_an_unknown_experiment_is_one_sentence():
    with pytest.raises(InputError, match="feverfew has no experiment 'nothing'"):
        experiment_metrics(Experiment(system="feverfew", name="nothing", seed=1))
    with pytest.raises(InputError, match="cyclon has no experiment 'lookup'"):
        experiment_metrics(Experiment(system="cyclon", name="lookup", seed=1))


def test_equal_experiments_are_computed_once_and_read_back(tmp_path):
    first = execute_all([LOOKUP, LOOKUP], tmp_path, 1, silent)
    assert list(first) == [run_key(LOOKUP)]
    stored = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert execute_all([LOOKUP], tmp_path, 1, silent) == first
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == stored
