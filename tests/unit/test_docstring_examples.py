"""The examples in the docstrings of the public study and planning functions."""

import doctest
from importlib import import_module

import pytest


@pytest.mark.parametrize(
    "module",
    [
        "gossamer.model.tables.workload",
        "gossamer.model.values.draw",
        "gossamer.planners.plan",
        "gossamer.simulator.measure",
        "gossamer.theory.coverage",
        "gossamer.workloads.make",
    ],
)
def test_the_examples_in_docstrings_are_right(module):
    found = doctest.testmod(import_module(module))
    assert found.attempted > 0
    assert found.failed == 0
