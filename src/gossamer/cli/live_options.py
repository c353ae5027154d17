"""Flags that the commands of live nodes share, and how they become settings."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gossamer.cli.options import read_settings
from gossamer.model.values.errors import InputError

if TYPE_CHECKING:
    from gossamer.live.operations.settings import NodeSettings

Listen = Annotated[
    str | None, typer.Option(metavar="HOST:PORT", help="Where to listen; by default any free port of 127.0.0.1.")
]
Seeds = Annotated[
    list[str] | None, typer.Option("--seed", metavar="HOST:PORT", help="A node to join through; repeatable.")
]
Advertise = Annotated[
    str | None, typer.Option(metavar="HOST:PORT", help="The address that others are told, if it is another one.")
]
SystemName = Annotated[
    str | None, typer.Option("--system", help="spidercast, planned, stan or gossip; the same on every node.")
]
Dissemination = Annotated[str | None, typer.Option(help="How messages travel: tree, flood or gossip.")]
Carried = Annotated[
    list[str] | None,
    typer.Option("--with", metavar="NAME=VALUE", help="A parameter of the dissemination; repeatable."),
]
KeysFolder = Annotated[
    str | None, typer.Option("--keys", metavar="FOLDER", help="The node's certificate and key: TLS (`gossamer keys`).")
]
Insecure = Annotated[
    bool, typer.Option("--insecure", help="Listen on other than loopback without TLS: the network is trusted.")
]
Signatures = Annotated[
    str | None, typer.Option(help="off, accept or strict: whether messages are signed, and unsigned ones refused.")
]
Rules = Annotated[str | None, typer.Option(metavar="FILE", help="Who may publish or follow what (TOML).")]
IdentityFile = Annotated[
    str | None, typer.Option("--identity-file", metavar="FILE", help="Keeps the node's identity; made if absent.")
]
Secrets = Annotated[
    list[str] | None,
    typer.Option(
        "--secret", metavar="TOPIC=FILE", help="With --system stan: the secret of a topic, in a file; repeatable."
    ),
]
Timeout = Annotated[float, typer.Option("--timeout", metavar="SECONDS", help="How long to wait for a first neighbour.")]


def settings_of(
    config: Path | None,
    settings: list[str] | None,
    carried: list[str] | None,
    secrets: list[str] | None,
    **flags: Any,
) -> "NodeSettings":
    """The settings file, where there is one, and over it the flags that were given."""
    from gossamer.live.operations.settings import node_settings, read_settings_file

    content: dict[str, Any] = {} if config is None else read_settings_file(config)
    where = "the command" if config is None else str(config)
    content |= {name: value for name, value in flags.items() if value not in (None, False, [])}
    for name, texts, flag in (("settings", settings, "--set"), ("dissemination_settings", carried, "--with")):
        given = read_settings(texts, flag)
        kept = content.get(name, {})
        if given and isinstance(kept, Mapping):
            content[name] = {**kept, **given}
    kept = content.get("secrets", {})
    if secrets and isinstance(kept, Mapping):
        content["secrets"] = {**kept, **dict(map(_split_secret, secrets))}
    return node_settings(content, where)


def _split_secret(text: str) -> tuple[str, str]:
    # The first sign: paths have them more often than topics, and a settings file takes any topic.
    topic, separator, path = text.partition("=")
    if not separator or not topic or not path:
        raise InputError(f"--secret takes TOPIC=FILE, got {text!r}")
    return topic, path
