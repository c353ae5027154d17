"""`gossamer pub` and `gossamer sub`: topics from a shell."""

import asyncio
import base64
import logging
import os
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
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
    Timeout,
    settings_of,
)
from gossamer.cli.options import Json, Settings
from gossamer.model.values.errors import GossamerError, InputError

if TYPE_CHECKING:
    from gossamer.live.api.messages import Message
    from gossamer.live.api.subscription import Subscription
    from gossamer.live.operations.settings import NodeSettings

# Chosen: messages that are written in one go where many wait.
BATCH_MESSAGES = 1_000


def as_json(message: "Message") -> bytes:
    """A message as a line of JSON; a payload that is no text stands as base64."""
    fields: dict[str, Any] = {"topic": message.topic}
    try:
        fields["payload"] = message.payload.decode()
    except UnicodeDecodeError:
        fields["payload_base64"] = base64.b64encode(message.payload).decode()
    fields |= {
        "publisher": message.publisher,
        "sequence": message.sequence,
        "hops": message.hops,
        "published_at": message.published_at,
    }
    return msgspec.json.encode(fields) + b"\n"


class Printer:
    """Writes messages to standard output, a line each, without making the node wait for whoever reads them."""

    def __init__(self, line: Callable[["Message"], bytes], count: int | None = None) -> None:
        self._line = line
        self._left = count
        self._turn = asyncio.Lock()

    async def pass_on(self, subscription: "Subscription") -> None:
        """Until the subscription ends, enough have come, or nobody reads."""
        async for first in subscription:
            batch = [first]
            while subscription.waiting and len(batch) < BATCH_MESSAGES:
                batch.append(await anext(subscription))
            async with self._turn:
                if self._left is not None:
                    batch = batch[: self._left]
                    self._left -= len(batch)
                content = b"".join(map(self._line, batch))
                if not await asyncio.get_running_loop().run_in_executor(None, _write, content) or self._left == 0:
                    return


def _write(content: bytes) -> bool:
    """Whether somebody still reads."""
    try:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        # Python would complain once more when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return False
    return True


def pub(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="The topic to publish on.")],
    payload: Annotated[
        str | None, typer.Argument(metavar="[PAYLOAD]", help="What to publish; without it, each line of stdin.")
    ] = None,
    seeds: Seeds = None,
    rate: Annotated[float | None, typer.Option(metavar="R", help="At most this many messages a second.")] = None,
    count: Annotated[
        int | None, typer.Option(min=1, help="Publish PAYLOAD so often, or at most so many lines.")
    ] = None,
    timeout: Timeout = 10.0,
    json: Json = False,
    listen: Listen = None,
    advertise: Advertise = None,
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
) -> None:
    """Publish on a topic; exit code 1 if nobody was reached or a neighbour could not take a message.

    Example: gossamer pub prices/eur 1.07 --seed 127.0.0.1:7400
    """
    _need_seeds(seeds)
    if rate is not None and not 0 < rate <= 1_000_000:
        raise InputError(f"--rate must lie above 0 and be at most 1,000,000 messages a second, got {rate:g}")
    _check_timeout(timeout)
    found = settings_of(
        None,
        settings,
        carried,
        secrets,
        listen=listen,
        seeds=seeds,
        advertise=advertise,
        system=system,
        dissemination=dissemination,
        keys=keys,
        insecure=insecure,
        signatures=signatures,
        rules=rules,
        identity_file=identity_file,
    )
    _check_secrets(found, [topic])
    with _warnings():
        refused = asyncio.run(_publish(found, topic, payload, rate, count, timeout, json))
    if refused:
        raise typer.Exit(1)


def sub(
    topics: Annotated[list[str], typer.Argument(metavar="TOPIC...", help="The topics to follow.")],
    seeds: Seeds = None,
    last: Annotated[int, typer.Option(min=0, help="Begin with the last so many messages.")] = 0,
    last_seconds: Annotated[
        float, typer.Option("--last-seconds", min=0, help="Begin with what was published in the last so many seconds.")
    ] = 0.0,
    count: Annotated[int | None, typer.Option(min=1, help="End after so many messages.")] = None,
    json: Json = False,
    listen: Listen = None,
    advertise: Advertise = None,
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
) -> None:
    """Print what is published: payloads as lines (after topic and tab where there are several topics), or JSON.

    Example: gossamer sub prices/eur prices/usd --seed 127.0.0.1:7400 --json
    """
    _need_seeds(seeds)
    found = settings_of(
        None,
        settings,
        carried,
        secrets,
        listen=listen,
        seeds=seeds,
        advertise=advertise,
        system=system,
        dissemination=dissemination,
        keys=keys,
        insecure=insecure,
        signatures=signatures,
        rules=rules,
        identity_file=identity_file,
    )
    _check_secrets(found, topics)
    with _warnings():
        asyncio.run(_follow(found, list(dict.fromkeys(topics)), last, last_seconds, count, json))


@contextmanager
def _warnings() -> Iterator[None]:
    """What goes wrong on the network is said on standard error; what goes well is not."""
    from gossamer.live.operations.logs import log_to

    logger = logging.getLogger("gossamer.live")
    handler = log_to(sys.stderr, "text", logging.WARNING)
    try:
        yield
    finally:
        logger.removeHandler(handler)


def _need_seeds(seeds: Sequence[str] | None) -> None:
    if not seeds:
        raise InputError("give the address of a node to join through, such as --seed 127.0.0.1:7400")


def _check_secrets(settings: "NodeSettings", topics: Sequence[str]) -> None:
    """A mistyped topic must not leave the real one without its secret."""
    for topic in settings.secrets:
        if topic not in topics:
            raise InputError(f"--secret names {topic!r}, which this command does not use; it uses {', '.join(topics)}")


def _check_timeout(timeout: float) -> None:
    if not 0 < timeout <= 86_400:
        raise InputError(f"--timeout must lie above 0 and be at most a day of seconds, got {timeout:g}")


async def _publish(
    settings: "NodeSettings",
    topic: str,
    payload: str | None,
    rate: float | None,
    count: int | None,
    timeout: float,
    json: bool,
) -> int:
    """How many messages some neighbour did not get."""
    refused = 0
    async with settings.node() as node, node.publisher(topic) as publisher:
        try:
            await node.ready(topic, timeout=timeout)
        except TimeoutError:
            raise GossamerError(_nobody(node.status().links, topic, settings.seeds, timeout)) from None
        began = time.monotonic()
        number = 0
        async for content in _lines(payload, count):
            if rate is not None:
                await asyncio.sleep(max(0.0, began + number / rate - time.monotonic()))
            number += 1
            receipt = await publisher.publish(content, wait="sent", timeout=timeout)
            if receipt.refused or not receipt.queued:
                refused += 1
                why = "; ".join(sorted({reason for _, reason in receipt.refused})) or "no neighbour holds the topic"
                typer.echo(f"gossamer: message {number} was not taken by all neighbours: {why}", err=True)
            if json:
                typer.echo(msgspec.json.encode(receipt).decode())
    return refused


def _nobody(links: Sequence[object], topic: str, seeds: Sequence[str], timeout: float) -> str:
    if not links:
        return f"no seed of {', '.join(seeds)} answered within {timeout:g} s; nothing was published"
    return f"nobody was found who holds {topic!r} within {timeout:g} s; nothing was published"


async def _lines(payload: str | None, count: int | None) -> AsyncIterator[bytes]:
    if payload is not None:
        for _ in range(count or 1):
            yield payload.encode()
        return
    loop = asyncio.get_running_loop()
    left = count
    while left is None or left > 0:
        line = await loop.run_in_executor(None, sys.stdin.buffer.readline)
        if not line:
            return
        yield line.rstrip(b"\r\n")
        left = None if left is None else left - 1


async def _follow(
    settings: "NodeSettings", topics: Sequence[str], last: int, last_seconds: float, count: int | None, json: bool
) -> None:
    from gossamer.live.operations.logs import warn_while_alone
    from gossamer.live.operations.signals import asked_to_stop, first_of

    def line(message: "Message") -> bytes:
        payload: bytes = message.payload
        return payload + b"\n" if len(topics) == 1 else message.topic.encode() + b"\t" + payload + b"\n"

    printer = Printer(as_json if json else line, count)
    with asked_to_stop() as asked:
        async with settings.node() as node, AsyncExitStack() as open_things:
            works: list[Coroutine[Any, Any, object]] = [asked.wait(), warn_while_alone(node, settings.seeds)]
            for topic in topics:
                subscription = node.subscribe(topic, last=last, last_seconds=last_seconds)
                await open_things.enter_async_context(subscription)
                works.append(printer.pass_on(subscription))
            await first_of(works)
