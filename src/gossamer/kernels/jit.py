"""How kernels are compiled, in one place."""

from collections.abc import Callable
from typing import Any, TypeVar

import numba

Function = TypeVar("Function", bound=Callable[..., Any])

# Every compiled function, so that `python -m gossamer.kernels` can compile them all and a test can see that it did.
COMPILED: list[Any] = []


def kernel(function: Function) -> Function:
    """Compile on first call and keep the result on disk; releases the GIL, checks no bounds."""
    compiled = numba.njit(cache=True, nogil=True, error_model="numpy")(function)
    COMPILED.append(compiled)
    return compiled  # type: ignore[no-any-return]
