"""`gossamer systems`: what can be built and run."""

from typing import Any

import msgspec
import typer

from gossamer.cli.console import print_json, print_table
from gossamer.cli.options import Json
from gossamer.systems import (
    DISSEMINATIONS,
    RECOVERY,
    SYSTEMS,
    System,
)


def systems(json: Json = False) -> None:
    """List every system with its parameters, their defaults, and where each default comes from.

    Example: gossamer systems --json
    """
    if json:
        print_json([_describe(system) for system in SYSTEMS.values()])
        return
    for system in SYSTEMS.values():
        rows = [
            [parameter["name"], str(parameter["default"]), parameter["origin"]]
            for parameter in _describe(system)["parameters"]
        ]
        print_table(f"{system.name}: {system.summary}", ["parameter", "default", "where it comes from"], rows)
        typer.echo(f"Source: {system.paper}\n")
    tables = {f"dissemination {name} (--with)": row.parameters for name, row in DISSEMINATIONS.items()}
    for title, parameters in {**tables, "recovery (--recovery-with)": RECOVERY.parameters}.items():
        rows = [
            [parameter["name"], str(parameter["default"]), parameter["origin"]] for parameter in _parameters(parameters)
        ]
        if rows:
            print_table(title, ["parameter", "default", "where it comes from"], rows)


def _parameters(parameters: type[msgspec.Struct]) -> list[dict[str, Any]]:
    return [
        {"name": field.name, "default": field.default, "origin": origin}
        for field, origin in zip(msgspec.structs.fields(parameters), _fields_info(parameters), strict=True)
    ]


def _describe(system: System) -> dict[str, Any]:
    return {
        "name": system.name,
        "summary": system.summary,
        "paper": system.paper,
        "disseminations": list(system.disseminations),
        "dissemination_parameters": {
            name: _parameters(DISSEMINATIONS[name].parameters) for name in system.disseminations
        },
        "recovery_parameters": _parameters(RECOVERY.parameters) if system.recovers else [],
        "parameters": _parameters(system.parameters),
    }


def _fields_info(parameters: type[msgspec.Struct]) -> list[str]:
    info = msgspec.inspect.type_info(parameters)
    assert isinstance(info, msgspec.inspect.StructType)
    origins = []
    for field in info.fields:
        metadata = field.type if isinstance(field.type, msgspec.inspect.Metadata) else None
        schema = (metadata.extra_json_schema if metadata else None) or {}
        origins.append(str(schema.get("description", "")))
    return origins
