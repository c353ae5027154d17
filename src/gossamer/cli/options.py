"""Flags that several commands share, how `--set` is read, and the manifest that every output folder has."""

import platform
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any

import typer

from gossamer import __version__
from gossamer.cli.renamed import DISSEMINATION
from gossamer.model.values.errors import InputError

RECOVERY = "recovery"

SEED_MAX = 2**64 - 1

Seed = Annotated[
    int,
    typer.Option("--seed", metavar="N", min=0, max=SEED_MAX, help="Seed of all randomness; same seed, same result."),
]
OptionalSeed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        metavar="N",
        min=0,
        max=SEED_MAX,
        help="Seed of all randomness; required unless the system draws nothing.",
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace OUT if Gossamer made it.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for a script to read.")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="NAME: a parameter of the system; gossip.NAME: of the dissemination gossip; recovery.NAME: of recovery. "
        "Repeatable.",
    ),
]
Bounds = Annotated[
    bool, typer.Option("--bounds", help="Bound topic diameters instead of computing them: faster on large topics.")
]
WorkloadFolder = Annotated[
    Path,
    typer.Argument(
        metavar="WORKLOAD", help="A file with columns such as service,topic, or a folder with interests.parquet."
    ),
]
Master = Annotated[
    str | None, typer.Option("--master", metavar="URL", help="A Spark cluster; by default Spark runs in this process.")
]
Remote = Annotated[str | None, typer.Option("--remote", metavar="sc://...", help="A Spark Connect server.")]
DriverMemory = Annotated[
    str | None,
    typer.Option(
        "--driver-memory", metavar="SIZE", help="Memory of Spark's driver, for example 4g; a quarter by default."
    ),
]
Conf = Annotated[
    list[str] | None,
    typer.Option(
        "--conf", metavar="NAME=VALUE", help="A setting of Spark, for example spark.local.dir=/big. Repeatable."
    ),
]
WorkloadPlace = Annotated[
    str,
    typer.Argument(
        metavar="WORKLOAD",
        help="A file with columns such as service,topic, or a folder with interests.parquet, or its URI.",
    ),
]
OutPlace = Annotated[str, typer.Argument(metavar="OUT", help="The folder to write, or a URI; it must not exist.")]
Out = Annotated[Path, typer.Argument(metavar="OUT", help="The folder to write; it must not exist.")]


def complete_system(incomplete: str) -> list[str]:
    """Names of systems for the shell's completion."""
    from gossamer.systems import all_systems

    return [name for name in sorted(all_systems()) if name.startswith(incomplete)]


SystemArgument = Annotated[
    str,
    typer.Argument(metavar="SYSTEM", help="`gossamer systems` lists them.", autocompletion=complete_system),
]


@dataclass(frozen=True)
class SetFlags:
    """The values of all `--set` flags, by the layer whose parameters they are."""

    system: dict[str, str] = field(default_factory=dict)
    dissemination: dict[str, str] = field(default_factory=dict)
    recovery: dict[str, str] = field(default_factory=dict)


def read_set_flags(texts: list[str] | None, dissemination: str | None = None) -> SetFlags:
    """`--set` flags of a command that runs this dissemination (None: no dissemination)."""
    from gossamer.systems import all_disseminations

    found = SetFlags()
    for text in texts or []:
        name, equals, value = (part.strip() for part in text.partition("="))
        prefix, dot, parameter = name.rpartition(".")
        if not equals or not parameter:
            raise InputError(f"--set must be NAME=VALUE, got {text!r}")
        if not dot:
            found.system[parameter] = value
        elif prefix == RECOVERY:
            found.recovery[parameter] = value
        elif prefix not in (DISSEMINATION, *all_disseminations()):
            raise InputError(
                f"--set {text} has the unknown prefix {prefix!r}; the prefixes are: "
                f"{', '.join(all_disseminations())}, {RECOVERY}; a parameter of the system has no prefix"
            )
        elif dissemination is None:
            raise InputError(f"--set {text} sets a parameter of a dissemination; give --dissemination too")
        elif prefix not in (DISSEMINATION, dissemination):
            raise InputError(f"--set {text} sets a parameter of {prefix}, but the dissemination is {dissemination}")
        else:
            found.dissemination[parameter] = value
    return found


def read_system_settings(texts: list[str] | None) -> dict[str, str]:
    """`--set` flags of a command that runs neither a dissemination nor recovery."""
    for text in texts or []:
        if "." in text.partition("=")[0]:
            raise InputError(f"--set {text} has a prefix, but this command takes parameters of the system only")
    return read_set_flags(texts).system


def manifest(
    command: str,
    seed: int | None,
    started: float,
    inputs: Mapping[str, Mapping[str, Any]],
    outputs: Mapping[str, int],
    **more: Any,
) -> dict[str, Any]:
    """The manifest of an output folder; `started` is time.monotonic() at the command's start."""
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
