"""What commands print: progress on standard error, tables or JSON on standard output.

Rich is loaded where something is drawn: a running node draws nothing.
"""

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec
import typer

if TYPE_CHECKING:
    from rich.table import Table

# Where there is no terminal, a line this often is enough.
PLAIN_SECONDS = 2.0

Report = Callable[[str, int, int], None]


@contextmanager
def progress_bar() -> Iterator[Report]:
    """A function to call with (what, done, total): a bar on a terminal, plain lines elsewhere."""
    if sys.stderr.isatty():
        with _bars() as draw_bar:
            yield draw_bar
    else:
        last = time.monotonic()
        # When each thing was first heard of, and how much of it was done then: what was kept from before is not speed.
        began: dict[str, tuple[float, int]] = {}

        def print_line(what: str, done: int, total: int) -> None:
            nonlocal last
            now = time.monotonic()
            began.setdefault(what, (now, done))
            if now - last >= PLAIN_SECONDS:
                last = now
                typer.echo(f"{what}: {done} of {total}{_pace(now, *began[what], done, total)}", err=True)

        yield print_line


@contextmanager
def _bars() -> Iterator[Report]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class Rate(ProgressColumn):
        """How many a second."""

        def render(self, task: Task) -> Text:
            """See rich."""
            return Text("" if task.speed is None else f"{task.speed:,.3g}/s")

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Rate())
    with Progress(
        *columns, TimeElapsedColumn(), TimeRemainingColumn(), console=Console(stderr=True), transient=True
    ) as bars:
        tasks: dict[str, Any] = {}

        def draw_bar(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total)
            bars.update(tasks[what], completed=done, total=total)

        yield draw_bar


def _pace(now: float, began: float, done_then: int, done: int, total: int) -> str:
    """How fast it goes, and how long it will take still."""
    if done == done_then or now == began:
        return ""
    rate = (done - done_then) / (now - began)
    return f", {rate:,.3g} a second, {(total - done) / rate:,.0f} s left"


@contextmanager
def working(what: str) -> Iterator[None]:
    """A line that shows that something goes on, where there is nothing to count; plain elsewhere."""
    if sys.stderr.isatty():
        from rich.console import Console

        with Console(stderr=True).status(what):
            yield
    else:
        typer.echo(f"{what} ...", err=True)
        yield


def print_json(content: Any) -> None:
    """One JSON document for a script to read."""
    typer.echo(msgspec.json.format(msgspec.json.encode(content), indent=2).decode())


def print_facts(title: str, facts: Mapping[str, Any]) -> None:
    """Names and values, one a line."""
    from rich.table import Table
    from rich.text import Text

    table = Table(show_header=False)
    table.add_column(style="cyan")
    table.add_column(justify="right")
    for name, value in facts.items():
        table.add_row(Text(name.replace("_", " ")), Text(_text(value)))
    _print_titled(title, table)


def print_table(title: str, columns: list[str], rows: list[list[str]]) -> None:
    """A plain table."""
    from rich.table import Table
    from rich.text import Text

    table = Table(*columns)
    for row in rows:
        table.add_row(*map(Text, row))
    _print_titled(title, table)


def _print_titled(title: str, table: "Table") -> None:
    from rich.console import Console

    # A pipe has no width; lines must not break in the middle of a value there. A table's own title would be
    # broken to the table's width.
    console = Console() if sys.stdout.isatty() else Console(width=160)
    console.print(title, style="bold", markup=False, highlight=False)
    console.print(table)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.1f}"
    return str(value)
