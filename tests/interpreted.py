"""Run kernels as plain Python, so that a test can try a kernel with a wrong line without compiling it."""

import re
import sys
import types
from collections.abc import Callable
from pathlib import Path

import numpy as np

from gossamer.kernels import draw

PLAIN_DRAW = "tests_plain_draw"


def interpreted(modules: list[types.ModuleType], right: str = "", wrong: str = "") -> types.ModuleType:
    """The modules joined into one, in this order, with `right` replaced by `wrong` and without compilation."""
    if PLAIN_DRAW not in sys.modules:
        sys.modules[PLAIN_DRAW] = _run(PLAIN_DRAW, Path(str(draw.__file__)).read_text())
    source = "\n".join(Path(str(module.__file__)).read_text() for module in modules)
    assert right in source, f"the kernel no longer contains the line {right!r}"
    source = source.replace(right, wrong) if right else source
    for module in modules:
        source = re.sub(rf"(?m)^from {module.__name__} import (\([^)]*\)|.*)$", "", source)
    return _run("mutant", source.replace("from gossamer.kernels.draw import", f"from {PLAIN_DRAW} import"))


def seed_that_differs(first_difference: Callable[[int], object | None], seeds: int, first: int = 0) -> int | None:
    """The first seed for which a mutant differs from its machine, or None. The search begins at `first`, to save time."""
    with np.errstate(over="ignore"):
        for seed in (*range(first, seeds), *range(first)):
            try:
                if first_difference(seed) is not None:
                    return seed
            except (IndexError, OverflowError):
                return seed  # an index was out of bounds, which compiled code would not detect
    return None


def _run(name: str, source: str) -> types.ModuleType:
    module = types.ModuleType(name)
    source = source.replace("from gossamer.kernels.jit import kernel", "kernel = lambda function: function")
    exec(compile(source, name, "exec"), module.__dict__)
    return module
