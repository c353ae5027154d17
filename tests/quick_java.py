"""Java's options for short Spark jobs."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

# Java's second compiler makes code for long runs. In tests of a few seconds it only competes with them for the cores.
QUICK_JAVA = {"JDK_JAVA_OPTIONS": f"{os.environ.get('JDK_JAVA_OPTIONS', '')} -XX:TieredStopAtLevel=1".strip()}


@contextmanager
def quick_java() -> Iterator[None]:
    """Start Java processes with these options inside the block."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in QUICK_JAVA.items():
            patch.setenv(name, value)
        yield
