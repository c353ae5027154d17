"""Flags that the commands of live nodes share, and how they become settings."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gossamer.cli.console import print_sentence
from gossamer.cli.options import read_set_flags
from gossamer.cli.renamed import replace_old_settings
from gossamer.model.values.errors import InputError

if TYPE_CHECKING:
    from gossamer.live.operations.settings import NodeSettings

Listen = Annotated[
    str | None, typer.Option(metavar="HOST:PORT", help="The address to listen on; by default a free port of 127.0.0.1.")
]
Join = Annotated[
    list[str] | None,
    typer.Option("--join", metavar="HOST:PORT", help="The address of a node through which to join; repeatable."),
]
JoinFile = Annotated[
    str | None,
    typer.Option(
        "--join-file", metavar="FILE", help="A file with one HOST:PORT in each line; read again when it changes."
    ),
]
Advertise = Annotated[
    str | None,
    typer.Option(metavar="HOST:PORT", help="The address that other nodes connect to, if it differs from --listen."),
]
SystemName = Annotated[
    str | None,
    typer.Option(
        "--system",
        metavar="NAME",
        help="A system that live nodes run; the same on every node. `gossamer systems` lists them.",
    ),
]
LiveSettings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="NAME: a parameter of the system; DISSEMINATION.NAME: of the dissemination. Repeatable.",
    ),
]
DisseminationName = Annotated[
    str | None,
    typer.Option(
        "--dissemination",
        metavar="NAME",
        help="How messages travel; the same on every node. `gossamer systems` lists them.",
    ),
]
KeysFolder = Annotated[
    str | None,
    typer.Option("--keys", metavar="FOLDER", help="The node's certificate and key for TLS; see `gossamer keys`."),
]
Insecure = Annotated[
    bool,
    typer.Option("--insecure", help="Listen beyond 127.0.0.1 without TLS. Only for networks that you trust."),
]
Signatures = Annotated[
    str | None,
    typer.Option(
        metavar="MODE",
        help="off; accept: sign, and take unsigned messages; strict: sign, and reject unsigned messages.",
    ),
]
RulesFile = Annotated[
    str | None, typer.Option("--rules", metavar="FILE", help="Which nodes may publish or follow which topics (TOML).")
]
IdentityFile = Annotated[
    str | None,
    typer.Option(
        "--identity-file", metavar="FILE", help="The file that stores the node's identity; created if absent."
    ),
]
Secrets = Annotated[
    list[str] | None,
    typer.Option(
        "--secret", metavar="TOPIC=FILE", help="With --system stan: the file with a topic's secret; repeatable."
    ),
]
Trace = Annotated[
    int | None,
    typer.Option(
        "--trace", metavar="N", help="With --telemetry: trace one message in N, a power of two. [default: 256]"
    ),
]
HistoryFolder = Annotated[
    str | None,
    typer.Option(
        "--history",
        metavar="FOLDER",
        help="Keep messages on disk: get what was missed while away, and keep it for others. Needs --keys or --identity-file.",
    ),
]
HistorySize = Annotated[
    str | None, typer.Option("--history-size", metavar="SIZE", help="The size of the history on disk. [default: 1GiB]")
]
HistoryAge = Annotated[
    str | None, typer.Option("--history-age", metavar="TIME", help="The age of messages on disk. [default: 7d]")
]
Patterns = Annotated[
    list[str] | None,
    typer.Option(
        "--pattern",
        metavar="PATTERN",
        help="Follow all topics that match: * is one level, ** any levels. Quote it. Repeatable.",
    ),
]
Timeout = Annotated[
    float, typer.Option("--timeout", metavar="SECONDS", help="How long to wait for the first neighbour.")
]


def settings_of(
    config: Path | None,
    set_flags: list[str] | None,
    secrets: list[str] | None,
    **flags: Any,
) -> "NodeSettings":
    """The settings of the file, if there is one, overridden by the flags that were given."""
    from msgspec.structs import replace

    from gossamer.live.operations.settings import node_settings, read_settings_file

    content: dict[str, Any] = {}
    if config is not None:
        content, warnings = replace_old_settings(read_settings_file(config), str(config))
        for warning in warnings:
            print_sentence(warning)
    content |= {name: value for name, value in flags.items() if value not in (None, False, [])}
    in_file = content.get("secrets", {})
    if secrets and isinstance(in_file, Mapping):
        given = list(map(_split_secret, secrets))
        for topic, _ in given:
            if sum(topic == other for other, _ in given) > 1:
                raise InputError(f"--secret gives {topic!r} two secrets; give it one")
        content["secrets"] = {**in_file, **dict(given)}
    found = node_settings(content, "the command" if config is None else str(config))
    system, dissemination = live_parameters(set_flags, found.system, found.dissemination)
    return replace(
        found,
        settings={**found.settings, **system},
        dissemination_settings={**found.dissemination_settings, **dissemination},
    )


def live_parameters(
    set_flags: list[str] | None, system: str, dissemination: str | None
) -> tuple[dict[str, str], dict[str, str]]:
    """`--set` flags of a live node: parameters of its system, and of the dissemination that it runs."""
    if not set_flags:
        return {}, {}
    from gossamer.live.api.stacks import find_stack

    given = read_set_flags(set_flags, find_stack(system, dissemination=dissemination).dissemination)
    for name in given.recovery:
        raise InputError(f"live nodes run recovery with its default parameters; leave out --set recovery.{name}")
    return given.system, given.dissemination


def _split_secret(text: str) -> tuple[str, str]:
    # At the first equals sign: it is commoner in paths than in topics. A settings file takes any topic.
    topic, separator, path = text.partition("=")
    if not separator or not topic or not path:
        raise InputError(f"--secret must be TOPIC=FILE, got {text!r}")
    return topic, path
