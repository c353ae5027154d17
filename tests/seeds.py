"""Seeds for tests: some for every run, more for `make test-slow`."""

import pytest


def some_slow(count, quick):
    """Seeds, of which all but the first few run only with `make test-slow`."""
    return [seed if seed < quick else pytest.param(seed, marks=pytest.mark.slow) for seed in range(count)]
