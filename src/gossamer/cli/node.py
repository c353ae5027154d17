"""`gossamer node`: run one node."""

import asyncio
import logging
import sys
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from msgspec.structs import replace

from gossamer.cli.live_options import (
    Advertise,
    DisseminationName,
    HistoryAge,
    HistoryFolder,
    HistorySize,
    IdentityFile,
    Insecure,
    Join,
    JoinFile,
    KeysFolder,
    Listen,
    LiveSettings,
    Patterns,
    RulesFile,
    Secrets,
    Signatures,
    SystemName,
    Trace,
    settings_of,
)
from gossamer.model.values.errors import InputError
from gossamer.model.values.pattern import Pattern

if TYPE_CHECKING:
    from gossamer.live.api.node import Node
    from gossamer.live.api.subscription import Subscription
    from gossamer.live.operations.settings import NodeSettings

log = logging.getLogger("gossamer.live")


class LogFormat(StrEnum):
    """The format of log lines."""

    JSON = "json"
    TEXT = "text"


def node(
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Settings in TOML, as in deploy/node.toml; flags override them.")
    ] = None,
    listen: Listen = None,
    join: Join = None,
    join_file: JoinFile = None,
    advertise: Advertise = None,
    follow: Annotated[list[str] | None, typer.Option(metavar="TOPIC", help="Follow a topic; repeatable.")] = None,
    publish: Annotated[
        list[str] | None,
        typer.Option(metavar="TOPIC", help="Publish on a topic and relay it without following it; repeatable."),
    ] = None,
    patterns: Patterns = None,
    system: SystemName = None,
    settings: LiveSettings = None,
    dissemination: DisseminationName = None,
    keys: KeysFolder = None,
    insecure: Insecure = False,
    signatures: Signatures = None,
    rules: RulesFile = None,
    secrets: Secrets = None,
    identity_file: IdentityFile = None,
    history: HistoryFolder = None,
    history_size: HistorySize = None,
    history_age: HistoryAge = None,
    record: Annotated[
        str | None, typer.Option(metavar="FILE", help="Record every event and action for `gossamer replay`.")
    ] = None,
    record_content: Annotated[
        bool | None,
        typer.Option(
            "--record-content/--no-record-content",
            help="Whether the record has payloads and secrets; without them it can be audited, not replayed. [default: yes]",
            show_default=False,
        ),
    ] = None,
    telemetry: Annotated[
        str | None,
        typer.Option(metavar="FOLDER", help="Write telemetry records to files in this folder, at most 256 MiB."),
    ] = None,
    trace: Trace = None,
    plan: Annotated[
        str | None,
        typer.Option(
            metavar="PLAN",
            help="With --system planned: the folder of `gossamer plan`, or its peers.json; needs --name.",
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="This node's name in the plan; it follows its topics there, unless --follow is given."
        ),
    ] = None,
    metrics: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Serve /metrics, /status and /healthz at this address.")
    ] = None,
    prints: Annotated[
        bool, typer.Option("--print", help="Print the messages of followed topics as JSON lines.")
    ] = False,
    log_format: Annotated[
        LogFormat, typer.Option("--log", help="The format of the log on standard error.")
    ] = LogFormat.TEXT,
) -> None:
    """Run a node until SIGTERM or Ctrl-C.

    On the first signal the node tells its neighbours, sends its queued messages and exits. A second signal ends it at
    once. On SIGHUP a node with access rules reads them again.

    Example: gossamer node --listen 127.0.0.1:7400 --follow prices/eur --metrics 127.0.0.1:9400

    Example: gossamer node --join 127.0.0.1:7400 --follow prices/eur --print --identity-file id --history past
    """
    from gossamer.live.operations.logs import log_to

    found = settings_of(
        config,
        settings,
        secrets,
        listen=listen,
        join=join,
        join_file=join_file,
        advertise=advertise,
        follow=follow,
        publish=publish,
        patterns=patterns,
        system=system,
        dissemination=dissemination,
        keys=keys,
        insecure=insecure,
        signatures=signatures,
        rules=rules,
        identity_file=identity_file,
        history=history,
        history_size=history_size,
        history_age=history_age,
        record=record,
        telemetry=telemetry,
        trace=trace,
        plan=plan,
        name=name,
        metrics=metrics,
    )
    if record_content is not None:
        found = replace(found, record_content=record_content)
    handler = log_to(sys.stderr, log_format.value)
    try:
        asyncio.run(_run(found, prints))
    finally:
        log.removeHandler(handler)


async def _run(settings: "NodeSettings", prints: bool) -> None:
    from gossamer.cli.messages import Printer, as_json
    from gossamer.live.operations.logs import warn_while_alone
    from gossamer.live.operations.signals import asked_to_stop, first_of, on_hangup
    from gossamer.live.operations.status_server import serve_status
    from gossamer.live.transport.addresses import split_address

    with asked_to_stop() as asked:
        node = settings.node()
        # Check topic names and addresses before the node listens and joins.
        follow, publish = settings.topics()
        publishers = [node.publisher(topic) for topic in publish]
        followed: list[str | Pattern] = [*follow, *map(Pattern, settings.patterns)]
        subscriptions = [node.subscribe(topic) for topic in followed]
        if settings.metrics is not None:
            split_address(settings.metrics)
        async with AsyncExitStack() as open_things:
            await open_things.enter_async_context(node)
            if settings.rules is not None:
                open_things.enter_context(on_hangup(partial(_reload_rules, node)))
            if settings.metrics is not None:
                server = await serve_status(node, settings.metrics)
                open_things.push_async_callback(server.close)
                log.info("metrics on http://%s/metrics", server.address, extra={"facts": {"metrics": server.address}})
            for publisher in publishers:
                await open_things.enter_async_context(publisher)
            for subscription in subscriptions:
                await open_things.enter_async_context(subscription)
            read = Printer(as_json).pass_on if prints else _discard
            works: list[Coroutine[Any, Any, object]] = [asked.wait(), warn_while_alone(node, settings.ways_in)]
            await first_of([*works, *map(read, subscriptions)])
            log.info("leaving", extra={"facts": {"node": node.hex_id}})
        log.info("left", extra={"facts": {"node": node.hex_id}})


def _reload_rules(node: "Node") -> None:
    """Read the access rules again; a wrong file changes nothing."""
    try:
        node.reload_rules()
    except InputError as error:
        log.error("the access rules stay as they are: %s", error)
    else:
        log.info("the access rules were read again", extra={"facts": {"node": node.hex_id}})


async def _discard(subscription: "Subscription") -> None:
    """Read the messages and drop them: the node follows the topic only to relay it."""
    async for _ in subscription:
        pass
