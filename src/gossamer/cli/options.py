"""Flags that several commands share, and the manifest they all write."""

import platform
import time
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any

import typer

from gossamer import __version__
from gossamer.model.values.errors import InputError

Seed = Annotated[int, typer.Option("--seed", min=0, max=2**64 - 1, help="One seed decides the whole run.")]
Force = Annotated[bool, typer.Option("--force", help="Replace OUT if Gossamer made it.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for a script to read.")]
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the system; repeatable.")
]
Bounds = Annotated[
    bool, typer.Option("--bounds", help="Bound topic diameters instead of computing them: faster on large topics.")
]
WorkloadFolder = Annotated[Path, typer.Argument(metavar="WORKLOAD", help="A folder that holds interests.parquet.")]
Master = Annotated[
    str | None, typer.Option("--master", metavar="URL", help="A Spark cluster; by default Spark runs in this process.")
]
Remote = Annotated[str | None, typer.Option("--remote", metavar="sc://...", help="A Spark Connect server.")]
Out = Annotated[Path, typer.Argument(metavar="OUT", help="The folder to write; it must not exist.")]


def read_settings(texts: list[str] | None, flag: str = "--set") -> dict[str, str]:
    """`--set name=value` flags as a dictionary."""
    settings: dict[str, str] = {}
    for text in texts or []:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise InputError(f"{flag} must be NAME=VALUE, got {text!r}")
        settings[name.strip()] = value.strip()
    return settings


def manifest(
    command: str,
    seed: int | None,
    started: float,
    inputs: Mapping[str, Mapping[str, Any]],
    outputs: Mapping[str, int],
    **more: Any,
) -> dict[str, Any]:
    """What a folder was made from, by what, and what came out; `started` is time.monotonic() then."""
    return {
        "gossamer": __version__,
        "command": command,
        "seed": seed,
        **more,
        "inputs": inputs,
        "rows": outputs,
        "versions": {"python": platform.python_version(), **_versions("numpy", "numba", "pyarrow", "msgspec")},
        "elapsed_seconds": round(time.monotonic() - started, 3),
    }


def _versions(*names: str) -> dict[str, str]:
    found = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
