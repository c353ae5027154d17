"""How benchmarks measure and print."""

import resource
import time
from collections.abc import Callable

from rich.console import Console
from rich.table import Table


def seconds(work: Callable[[], object], repeats: int = 3) -> float:
    """The shortest time of a few repetitions, which other processes disturbed least."""
    best = float("inf")
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - began)
    return best


def resident_bytes() -> int:
    """The resident memory of this process."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def show(title: str, columns: list[str], rows: list[list[str]], note: str = "") -> None:
    """Print one table with a title and a note."""
    table = Table(*columns)
    for row in rows:
        table.add_row(*row)
    console = Console(width=130)
    console.print(title, style="bold")
    console.print(table)
    if note:
        console.print(note + "\n")
