"""`gossamer systems`: what can be built and run."""

from typing import Any

import typer

from gossamer.cli.console import print_json, print_table
from gossamer.cli.options import Json
from gossamer.protocols.contract.system import System, describe_parameters
from gossamer.systems import RECOVERY, all_disseminations, all_systems, problems


def systems(json: Json = False) -> None:
    """List every system with its parameters, their defaults, and where each default comes from.

    Example: gossamer systems --json
    """
    if json:
        print_json([_describe(system) for system in all_systems().values()])
        for problem in problems():
            typer.echo(problem, err=True)
        return
    for system in all_systems().values():
        rows = [
            [parameter["name"], str(parameter["default"]), parameter["origin"]]
            for parameter in _describe(system)["parameters"]
        ]
        print_table(f"{system.name}: {system.summary}", ["parameter", "default", "where it comes from"], rows)
        typer.echo(f"Source: {system.paper}\n")
    tables = {f"dissemination {name} (--with)": row.parameters for name, row in all_disseminations().items()}
    for title, parameters in {**tables, "recovery (--recovery-with)": RECOVERY.parameters}.items():
        rows = [
            [parameter["name"], str(parameter["default"]), parameter["origin"]]
            for parameter in describe_parameters(parameters)
        ]
        if rows:
            print_table(title, ["parameter", "default", "where it comes from"], rows)
    for problem in problems():
        typer.echo(problem, err=True)


def _describe(system: System) -> dict[str, Any]:
    carried = [each for each in all_disseminations().values() if system.carries(each)]
    return {
        "name": system.name,
        "summary": system.summary,
        "paper": system.paper,
        "disseminations": [each.name for each in carried],
        "dissemination_parameters": {each.name: describe_parameters(each.parameters) for each in carried},
        "recovery_parameters": describe_parameters(RECOVERY.parameters) if system.recovers else [],
        "parameters": describe_parameters(system.parameters),
    }
