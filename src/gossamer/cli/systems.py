"""`gossamer systems`: list the systems and their parameters."""

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
    """List the systems and their parameters.

    For each parameter: its default, and the paper's page or the reason for the default.

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
        print_table(f"{system.name}: {system.summary}", ["parameter", "default", "origin of the default"], rows)
        typer.echo(f"Source: {system.paper}\n")
    tables = {f"Dissemination {name} (--set {name}.NAME=VALUE)": row.parameters for name, row in DISSEMINATIONS.items()}
    for title, parameters in {**tables, "Recovery (--set recovery.NAME=VALUE)": RECOVERY.parameters}.items():
        rows = [
            [parameter["name"], str(parameter["default"]), parameter["origin"]] for parameter in _parameters(parameters)
        ]
        if rows:
            print_table(title, ["parameter", "default", "origin of the default"], rows)


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
