"""`gossamer systems`: list the systems and their parameters."""

from typing import Any

import typer

from gossamer.cli.console import print_json, print_table
from gossamer.cli.options import Json
from gossamer.systems import (
    RECOVERY,
    Dissemination,
    System,
    all_disseminations,
    all_systems,
    describe_parameters,
    problems,
)


def systems(json: Json = False) -> None:
    """List the systems and their parameters.

    For each parameter: its default, and the paper's page or the reason for the default.

    Example: gossamer systems --json
    """
    if json:
        print_json([_describe(system) for system in all_systems().values()])
        _say_problems()
        return
    for system in all_systems().values():
        rows = [
            [parameter["name"], str(parameter["default"]), parameter["origin"]]
            for parameter in _describe(system)["parameters"]
        ]
        print_table(f"{system.name}: {system.summary}", ["parameter", "default", "origin of the default"], rows)
        typer.echo(f"Source: {system.paper}")
        described = _describe(system)
        for title, names in (
            ("Disseminations", described["disseminations"]),
            ("Live nodes run it as", described["live"]),
        ):
            if names:
                typer.echo(f"{title}: {', '.join(names)}")
        typer.echo()
    tables = {
        f"Dissemination {name} (--set {name}.NAME=VALUE)": row.parameters for name, row in all_disseminations().items()
    }
    for title, parameters in {**tables, "Recovery (--set recovery.NAME=VALUE)": RECOVERY.parameters}.items():
        rows = [
            [parameter["name"], str(parameter["default"]), parameter["origin"]]
            for parameter in describe_parameters(parameters)
        ]
        if rows:
            print_table(title, ["parameter", "default", "origin of the default"], rows)
    _say_problems()


def _say_problems() -> None:
    """One sentence for each package of other people's that cannot be used."""
    for problem in problems():
        typer.echo(f"gossamer: {problem}", err=True)


def _describe(system: System) -> dict[str, Any]:
    carried = [each for each in all_disseminations().values() if system.carries(each)]
    return {
        "name": system.name,
        "summary": system.summary,
        "paper": system.paper,
        "disseminations": [each.name for each in carried],
        "live": _live_names(system, carried),
        "dissemination_parameters": {each.name: describe_parameters(each.parameters) for each in carried},
        "recovery_parameters": describe_parameters(RECOVERY.parameters) if system.recovers else [],
        "parameters": describe_parameters(system.parameters),
    }


def _live_names(system: System, carried: list[Dissemination]) -> list[str]:
    """The names of `--system` that make a live node run this system."""
    starts = [*system.live, *(start for each in carried for start in each.live)]
    return [start.name for start in starts if start.system == system.name]
