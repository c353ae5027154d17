"""`gossamer node`: a long-running node."""

import asyncio
import logging
import sys
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gossamer.cli.live_options import (
    Advertise,
    Carried,
    Dissemination,
    IdentityFile,
    Insecure,
    KeysFolder,
    Listen,
    Rules,
    Secrets,
    Seeds,
    Signatures,
    SystemName,
    settings_of,
)
from gossamer.cli.options import Settings

if TYPE_CHECKING:
    from gossamer.live.api.subscription import Subscription
    from gossamer.live.operations.settings import NodeSettings

log = logging.getLogger("gossamer.live")


class LogFormat(StrEnum):
    """What a line of the log looks like."""

    JSON = "json"
    TEXT = "text"


def node(
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Settings in TOML, as in deploy/node.toml; flags go over it.")
    ] = None,
    listen: Listen = None,
    seeds: Seeds = None,
    advertise: Advertise = None,
    follow: Annotated[list[str] | None, typer.Option(metavar="TOPIC", help="Follow a topic; repeatable.")] = None,
    publish: Annotated[
        list[str] | None, typer.Option(metavar="TOPIC", help="Be part of a topic without following it; repeatable.")
    ] = None,
    system: SystemName = None,
    settings: Settings = None,
    dissemination: Dissemination = None,
    carried: Carried = None,
    keys: KeysFolder = None,
    insecure: Insecure = False,
    signatures: Signatures = None,
    rules: Rules = None,
    secrets: Secrets = None,
    identity_file: IdentityFile = None,
    record: Annotated[
        str | None, typer.Option(metavar="FILE", help="Keep every event and action for `gossamer replay`.")
    ] = None,
    plan: Annotated[
        str | None, typer.Option(metavar="FILE", help="With --system planned: the peers.json of `gossamer plan`.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="This node's name in the plan.")] = None,
    metrics: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Serve /metrics, /status and /healthz there.")
    ] = None,
    prints: Annotated[
        bool, typer.Option("--print", help="Print what comes on followed topics, as JSON lines.")
    ] = False,
    shape: Annotated[LogFormat, typer.Option("--log", help="The log on standard error.")] = LogFormat.TEXT,
) -> None:
    """Run a node until SIGTERM or Ctrl-C; it then leaves in good order. A second signal ends it at once.

    Example: gossamer node --listen 127.0.0.1:7400 --follow prices/eur --metrics 127.0.0.1:9400
    """
    from gossamer.live.operations.logs import log_to

    found = settings_of(
        config,
        settings,
        carried,
        secrets,
        listen=listen,
        seeds=seeds,
        advertise=advertise,
        follow=follow,
        publish=publish,
        system=system,
        dissemination=dissemination,
        keys=keys,
        insecure=insecure,
        signatures=signatures,
        rules=rules,
        identity_file=identity_file,
        record=record,
        plan=plan,
        name=name,
        metrics=metrics,
    )
    handler = log_to(sys.stderr, shape.value)
    try:
        asyncio.run(_run(found, prints))
    finally:
        log.removeHandler(handler)


async def _run(settings: "NodeSettings", prints: bool) -> None:
    from gossamer.cli.messages import Printer, as_json
    from gossamer.live.operations.http import serve_status
    from gossamer.live.operations.logs import warn_while_alone
    from gossamer.live.operations.signals import asked_to_stop, first_of
    from gossamer.live.transport.addresses import split_address

    with asked_to_stop() as asked:
        node = settings.node()
        # Wrong names are refused before anybody can hear of this node.
        publishers = [node.publisher(topic) for topic in settings.publish]
        subscriptions = [node.subscribe(topic) for topic in settings.follow]
        if settings.metrics is not None:
            split_address(settings.metrics)
        async with AsyncExitStack() as open_things:
            await open_things.enter_async_context(node)
            if settings.metrics is not None:
                server = await serve_status(node, settings.metrics)
                open_things.push_async_callback(server.close)
                log.info("metrics on http://%s/metrics", server.address, extra={"facts": {"metrics": server.address}})
            for publisher in publishers:
                await open_things.enter_async_context(publisher)
            printer = Printer(as_json)
            works: list[Coroutine[Any, Any, object]] = [asked.wait(), warn_while_alone(node, settings.seeds)]
            for subscription in subscriptions:
                await open_things.enter_async_context(subscription)
                works.append(printer.pass_on(subscription) if prints else _discard(subscription))
            await first_of(works)
            log.info("leaving", extra={"facts": {"node": node.hex_id}})
        log.info("left", extra={"facts": {"node": node.hex_id}})


async def _discard(subscription: "Subscription") -> None:
    """Read and forget: the node follows the topic to relay it."""
    async for _ in subscription:
        pass
