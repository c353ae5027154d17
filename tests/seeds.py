"""Seeds for tests: some for every run, more for `make test-slow`."""

import pytest


def some_slow(count, quick, always=()):
    """Seeds, of which all but the first few and `always` run only with `make test-slow`."""
    return [
        seed if seed < quick or seed in always else pytest.param(seed, marks=pytest.mark.slow)
        for seed in sorted({*range(count), *always})
    ]
