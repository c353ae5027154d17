"""The output of commands: progress on standard error, tables or JSON on standard output.

Rich is imported only by the functions that draw: a running node draws nothing and does not load it.
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

# Chosen: without a terminal, progress is one line in this time.
PLAIN_SECONDS = 2.0

Report = Callable[[str, int, int], None]


@contextmanager
def progress_bar() -> Iterator[Report]:
    """A function to call with (label, done, total); it draws a bar on a terminal and prints lines elsewhere."""
    if sys.stderr.isatty():
        with _bars() as draw_bar:
            yield draw_bar
    else:
        last = time.monotonic()
        # The time of each label's first report and the work that was done by then. A resumed command starts above 0, and
        # that work must not count towards the speed.
        began: dict[str, tuple[float, int]] = {}

        def print_line(label: str, done: int, total: int) -> None:
            nonlocal last
            now = time.monotonic()
            began.setdefault(label, (now, done))
            if now - last >= PLAIN_SECONDS:
                last = now
                typer.echo(f"{label}: {done} of {total}{_pace(now, *began[label], done, total)}", err=True)

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
        """Units of work per second."""

        def render(self, task: Task) -> Text:
            """Called by Rich."""
            return Text("" if task.speed is None else f"{task.speed:,.3g}/s")

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Rate())
    with Progress(
        *columns, TimeElapsedColumn(), TimeRemainingColumn(), console=Console(stderr=True), transient=True
    ) as bars:
        tasks: dict[str, Any] = {}

        def draw_bar(label: str, done: int, total: int) -> None:
            if label not in tasks:
                tasks[label] = bars.add_task(label, total=total)
            bars.update(tasks[label], completed=done, total=total)

        yield draw_bar


def _pace(now: float, began: float, done_then: int, done: int, total: int) -> str:
    """The speed since the first report, and the time left at that speed."""
    if done == done_then or now == began:
        return ""
    rate = (done - done_then) / (now - began)
    return f", {rate:,.3g} a second, {(total - done) / rate:,.0f} s left"


@contextmanager
def working(label: str) -> Iterator[None]:
    """For work that cannot be counted: a spinner with the label on a terminal, one line elsewhere."""
    if sys.stderr.isatty():
        from rich.console import Console

        with Console(stderr=True).status(label):
            yield
    else:
        typer.echo(f"{label} ...", err=True)
        yield


def print_sentence(sentence: str) -> None:
    """An error or a warning on standard error."""
    typer.echo(f"gossamer: {sentence}", err=True)


def print_json(content: Any) -> None:
    """One JSON document for a script to read."""
    typer.echo(msgspec.json.format(msgspec.json.encode(content), indent=2).decode())


def print_facts(title: str, facts: Mapping[str, Any]) -> None:
    """A table of names and values."""
    from rich.table import Table
    from rich.text import Text

    table = Table(show_header=False)
    table.add_column(style="cyan")
    table.add_column(justify="right")
    for name, value in facts.items():
        table.add_row(Text(name.replace("_", " ")), Text(_text(value)))
    _print_titled(title, table)


def print_table(title: str, columns: list[str], rows: list[list[str]]) -> None:
    """A table with a header row."""
    from rich.table import Table
    from rich.text import Text

    table = Table(*columns)
    for row in rows:
        table.add_row(*map(Text, row))
    _print_titled(title, table)


def _print_titled(title: str, table: "Table") -> None:
    from rich.console import Console

    # A pipe has no width, and lines in it must not break inside a value. The title is printed apart because Rich would
    # wrap a table's own title to the table's width.
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
