"""How long work reports its progress: one function type for every room."""

from collections.abc import Callable

# Arguments: a description of the work, how many units are done, how many there are in all.
Progress = Callable[[str, int, int], None]


def silent(what: str, done: int, total: int) -> None:
    """Ignore progress reports: the default wherever a function takes a `progress` argument."""
