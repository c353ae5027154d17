"""`gossamer replay`: feed records to new machines, compare every action, and audit where data was sent."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import typer

from gossamer.cli.console import Report, print_facts, print_json, progress_bar
from gossamer.cli.options import Json
from gossamer.model.values.errors import InputError

# Chosen: steps between two progress reports.
SAY_EVERY = 4_096


def replay(
    records: Annotated[
        list[Path], typer.Argument(metavar="RECORD...", help="Records of a simulation or of nodes (--record).")
    ],
    json: Json = False,
) -> None:
    """Replay records, compare every action, and audit deliveries.

    Exit code 1 if an action differs or the audit finds a breach. The audit checks that data is sent only to neighbours
    and only on topics that both ends have (gossip may relay other topics), and that no message is delivered twice, to a
    node that does not follow its topic, or out of its publisher's order.

    Example: gossamer replay out/sim/record.bin
    """
    from gossamer.live.operations.audit import Audit

    for path in records:
        if not path.is_file():
            raise InputError(f"there is no record at {path}")
    audit = Audit()
    results: list[dict[str, Any]] = []
    with progress_bar() as progress:
        total = sum(path.stat().st_size for path in records)
        done = 0
        for path in records:
            results.append(_replay_one(path, audit, partial(_say, progress, done, total)))
            done += path.stat().st_size
    differs = [result for result in results if result["difference"] is not None]
    if json:
        # One record is one JSON object; several are a list.
        shown = results[0] if len(results) == 1 else {"records": results}
        print_json({**shown, "audit": audit.findings})
    else:
        _show(results, audit.findings)
    if differs or audit.findings.breach_count:
        raise typer.Exit(1)


def _say(progress: Report, done_bytes: int, total_bytes: int, more_bytes: int) -> None:
    progress("MB replayed", (done_bytes + more_bytes) // 1_000_000, total_bytes // 1_000_000)


def _told(steps: Iterable[Any], source: BinaryIO, say: Callable[[int], None]) -> Iterator[Any]:
    """The steps; reports the position in the file every SAY_EVERY steps."""
    for number, step in enumerate(steps):
        if number % SAY_EVERY == 0:
            say(source.tell())
        yield step


def _replay_one(path: Path, audit: Any, say: Callable[[int], None]) -> dict[str, Any]:
    from gossamer.protocols.contract import record as records
    from gossamer.systems import decoder_of, machine_of

    with path.open("rb") as source:
        header, steps = records.read_record(source)
        whole = records.WholeSteps(steps)
        audited = audit.read(header, _told(whole, source, say))
        count, difference = 0, None
        if header.content:
            count, difference = records.replay(audited, partial(machine_of, header), decoder_of(header))
        # The replay stops at the first difference; the audit reads the rest of the record.
        deque(audited, maxlen=0)
    return {
        "record": str(path),
        "system": header.system,
        "seed": header.seed,
        "equal_steps": count,
        "difference": difference,
        "cut_off": whole.is_cut,
        "replayed": header.content,
    }


def _show(results: list[dict[str, Any]], findings: Any) -> None:
    for result in results:
        difference = result["difference"]
        if difference is not None:
            typer.echo(
                f"{result['record']}: step {difference.step} differs: node {difference.node} at {difference.at_us} us was "
                f"given {difference.event}\n  recorded: {difference.recorded}\n  replayed: {difference.replayed}"
            )
        if not result["replayed"]:
            typer.echo(f"{result['record']} was recorded without content: it is audited and not replayed.")
        if result["cut_off"]:
            typer.echo(f"{result['record']} ends in the middle of a step, which happens when a node is killed.")
    steps = sum(result["equal_steps"] for result in results)
    systems = ", ".join(sorted({result["system"] for result in results}))
    if steps and not any(result["difference"] for result in results):
        typer.echo(f"{steps:,} steps of {systems} replayed; every action is the same.")
    if findings.data_sent or findings.deliveries:
        facts = {name: getattr(findings, name) for name in ("nodes", "data_sent", "data_received", "deliveries")}
        print_facts("Audit", {**facts, "breaches": findings.breach_count})
    for breach in findings.breaches:
        typer.echo(breach)
