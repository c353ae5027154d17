"""`gossamer replay`: feed a record to fresh machines and compare every action."""

from pathlib import Path
from typing import Annotated

import typer

from gossamer.cli.console import print_json
from gossamer.cli.options import Json
from gossamer.model.values.errors import InputError


def replay(
    record: Annotated[Path, typer.Argument(metavar="RECORD", help="A file that a simulation or a node recorded.")],
    json: Json = False,
) -> None:
    """Replay a record of a simulation or of a live node; exit code 1 if any action differs.

    Example: gossamer replay out/sim/record.bin
    """
    from gossamer.protocols import record as records
    from gossamer.protocols.systems import find_system, make_machine, read_parameters

    if not record.is_file():
        raise InputError(f"there is no record at {record}")
    with record.open("rb") as source:
        header, steps = records.read_record(source)
        system = find_system(header.system)
        parameters = read_parameters(system, header.parameters)
        takes_view = system.takes_view(parameters)
        count, difference = records.replay(
            steps,
            lambda node, view: make_machine(
                system,
                parameters,
                header.seed,
                node,
                view if takes_view else None,
                header.dissemination,
                header.dissemination_parameters,
                header.recovery,
            ),
        )
    if json:
        print_json({"system": header.system, "seed": header.seed, "equal_steps": count, "difference": difference})
    elif difference is None:
        typer.echo(f"{count:,} steps of {header.system} replayed; every action is the same.")
    else:
        typer.echo(
            f"step {difference.step} differs: node {difference.node} at {difference.at_us} us was given "
            f"{difference.event}\n  recorded: {difference.recorded}\n  replayed: {difference.replayed}"
        )
    if difference is not None:
        raise typer.Exit(1)
