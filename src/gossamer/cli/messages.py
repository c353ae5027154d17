"""`gossamer pub` and `gossamer sub`: publish and subscribe from a shell."""

import asyncio
import base64
import logging
import os
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from gossamer.cli.console import print_sentence
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
    Timeout,
    settings_of,
)
from gossamer.cli.options import Json
from gossamer.model.values.errors import GossamerError, InputError
from gossamer.model.values.pattern import Pattern
from gossamer.model.values.time import SECOND_US, duration_us

if TYPE_CHECKING:
    from gossamer.live.api.messages import Message
    from gossamer.live.api.subscription import Subscription
    from gossamer.live.operations.settings import NodeSettings
    from gossamer.live.operations.status import NodeStatus

# Chosen: the most messages that one write prints.
BATCH_MESSAGES = 1_000


def as_json(message: "Message") -> bytes:
    """A message as a line of JSON; a payload that is not UTF-8 is encoded as base64."""
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
    """Writes messages to standard output, one per line, in a thread: a slow reader does not block the node."""

    def __init__(self, line: Callable[["Message"], bytes], count: int | None = None) -> None:
        self._line = line
        self._left = count
        self._turn = asyncio.Lock()

    async def pass_on(self, subscription: "Subscription") -> None:
        """Print until the subscription ends, `count` messages were printed, or the reader closed the pipe."""
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
    """Whether the reader still has the pipe open."""
    try:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        # Otherwise Python reports the closed pipe again when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return False
    return True


def pub(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="The topic to publish on.")],
    payload: Annotated[
        str | None, typer.Argument(metavar="[PAYLOAD]", help="The message; without it, each line of standard input.")
    ] = None,
    join: Join = None,
    join_file: JoinFile = None,
    rate: Annotated[float | None, typer.Option(metavar="R", help="Publish at most R messages per second.")] = None,
    count: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Publish PAYLOAD N times, or at most N lines.")
    ] = None,
    timeout: Timeout = 10.0,
    json: Json = False,
    listen: Listen = None,
    advertise: Advertise = None,
    system: SystemName = None,
    settings: LiveSettings = None,
    dissemination: DisseminationName = None,
    keys: KeysFolder = None,
    insecure: Insecure = False,
    signatures: Signatures = None,
    rules: RulesFile = None,
    secrets: Secrets = None,
    identity_file: IdentityFile = None,
) -> None:
    """Publish messages on a topic.

    Exit code 1 if the first message reached nobody, or a neighbour could not take a message.

    Example: gossamer pub prices/eur 1.07 --join 127.0.0.1:7400
    """
    _check_join(join, join_file)
    if rate is not None and not 0 < rate <= 1_000_000:
        raise InputError(f"--rate must be above 0 and at most 1,000,000 messages per second, got {rate:g}")
    _check_timeout(timeout)
    found = settings_of(
        None,
        settings,
        secrets,
        listen=listen,
        join=join,
        join_file=join_file,
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
    topics: Annotated[
        list[str] | None, typer.Argument(metavar="[TOPIC...]", help="The topics to follow.", show_default=False)
    ] = None,
    join: Join = None,
    join_file: JoinFile = None,
    patterns: Patterns = None,
    last: Annotated[int, typer.Option(min=0, metavar="N", help="Start with the last N messages of each topic.")] = 0,
    last_seconds: Annotated[
        float,
        typer.Option("--last-seconds", min=0, metavar="S", help="Start with the messages of the last S seconds."),
    ] = 0.0,
    since: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="Start with all messages of this time that neighbours have, also on disk: 7d."
        ),
    ] = None,
    count: Annotated[int | None, typer.Option(min=1, metavar="N", help="Exit after N messages.")] = None,
    json: Json = False,
    listen: Listen = None,
    advertise: Advertise = None,
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
) -> None:
    """Subscribe to topics and print their messages.

    Each message is a line with its payload, after the topic and a tab if there are several topics or patterns; with
    --json a line of JSON.

    Example: gossamer sub prices/eur prices/usd --join 127.0.0.1:7400 --json
    """
    _check_join(join, join_file)
    older: dict[str, Any] = {"last": last, "last_seconds": last_seconds}
    older["since"] = 0.0 if since is None else duration_us(since, "--since") / SECOND_US
    found = settings_of(
        None,
        settings,
        secrets,
        listen=listen,
        join=join,
        join_file=join_file,
        advertise=advertise,
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
    )
    if not topics and not patterns:
        raise InputError("give a TOPIC to follow, or --pattern")
    _check_secrets(found, topics or [])
    followed: list[str | Pattern] = [*dict.fromkeys(topics or ()), *map(Pattern, dict.fromkeys(patterns or ()))]
    with _warnings():
        asyncio.run(_follow(found, followed, older, count, json))


@contextmanager
def _warnings() -> Iterator[None]:
    """Print the node's warnings and errors on standard error, not its other log lines."""
    from gossamer.live.operations.logs import log_to

    logger = logging.getLogger("gossamer.live")
    handler = log_to(sys.stderr, "text", logging.WARNING)
    try:
        yield
    finally:
        logger.removeHandler(handler)


def _check_join(addresses: Sequence[str] | None, file: str | None) -> None:
    if not addresses and not file:
        raise InputError("give the address of a node through which to join, such as --join 127.0.0.1:7400")


def _check_secrets(settings: "NodeSettings", topics: Sequence[str]) -> None:
    """Refuse a secret for another topic: with a mistyped name, the real topic would have no secret."""
    for topic in settings.secrets:
        if topic not in topics:
            raise InputError(f"--secret names {topic!r}, which this command does not use; it uses {', '.join(topics)}")


def _check_timeout(timeout: float) -> None:
    if not 0 < timeout <= 86_400:
        raise InputError(f"--timeout must be above 0 and at most 86,400 seconds (a day), got {timeout:g}")


async def _publish(
    settings: "NodeSettings",
    topic: str,
    payload: str | None,
    rate: float | None,
    count: int | None,
    timeout: float,
    json: bool,
) -> int:
    """The number of messages that at least one neighbour did not take."""
    refused = 0
    async with settings.node() as node, node.publisher(topic) as publisher:
        with suppress(TimeoutError):
            await node.ready(topic, timeout=timeout)
        began = time.monotonic()
        number = 0
        async for content in _lines(payload, count):
            if rate is not None:
                await asyncio.sleep(max(0.0, began + number / rate - time.monotonic()))
            number += 1
            receipt = await publisher.publish(content, wait="sent")
            if json:
                typer.echo(msgspec.json.encode(receipt).decode())
            if receipt.nobody and number == 1:
                raise GossamerError(_no_neighbour(node.status(), topic, settings.ways_in, timeout))
            if receipt.refused or not receipt.queued:
                refused += 1
                reasons = sorted({reason for _, reason in receipt.refused}) or ["no neighbour has the topic"]
                print_sentence(f"message {number} was not taken by all neighbours: {'; '.join(reasons)}")
    return refused


def _no_neighbour(status: "NodeStatus", topic: str, addresses: Sequence[str], timeout: float) -> str:
    if status.links:
        return f"no node with the topic {topic!r} was found within {timeout:g} s; the message reached nobody"
    reasons = [f"{address}: {status.unanswered.get(address, 'no answer')}" for address in addresses]
    reason = "; ".join(reasons)
    return f"the message reached nobody, because no node to join accepted a link within {timeout:g} s; {reason}"


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
    settings: "NodeSettings", topics: Sequence[str | Pattern], older: dict[str, Any], count: int | None, json: bool
) -> None:
    from gossamer.live.operations.logs import warn_while_alone
    from gossamer.live.operations.signals import asked_to_stop, first_of

    is_one = len(topics) == 1 and isinstance(topics[0], str)

    def line(message: "Message") -> bytes:
        payload: bytes = message.payload
        return payload + b"\n" if is_one else message.topic.encode() + b"\t" + payload + b"\n"

    printer = Printer(as_json if json else line, count)
    with asked_to_stop() as asked:
        node = settings.node()
        # Check topics and patterns before the node listens and joins.
        subscriptions = [node.subscribe(topic, **older) for topic in topics]
        async with node, AsyncExitStack() as open_things:
            for subscription in subscriptions:
                await open_things.enter_async_context(subscription)
            works: list[Coroutine[Any, Any, object]] = [asked.wait(), warn_while_alone(node, settings.ways_in)]
            await first_of([*works, *map(printer.pass_on, subscriptions)])
