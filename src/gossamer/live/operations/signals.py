"""Signals of long-running commands: the first to stop stops them in order, the second ends the process at once."""

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

SIGNALS = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def asked_to_stop() -> Iterator[asyncio.Event]:
    """An event that SIGTERM or SIGINT sets; a second signal ends the process at once, with the shell's exit code for it."""
    loop = asyncio.get_running_loop()
    asked = asyncio.Event()

    def on_signal(number: signal.Signals) -> None:
        if asked.is_set():
            os._exit(128 + number)
        asked.set()

    for number in SIGNALS:
        loop.add_signal_handler(number, on_signal, number)
    try:
        yield asked
    finally:
        for number in SIGNALS:
            loop.remove_signal_handler(number)


@contextmanager
def on_hangup(function: Callable[[], None]) -> Iterator[None]:
    """Call a function at each SIGHUP, which otherwise ends the process."""
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGHUP, function)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGHUP)


async def first_of(coroutines: Iterable[Coroutine[Any, Any, object]]) -> None:
    """Run all coroutines until one ends, and cancel the others; raises the error of any of them."""
    tasks = [asyncio.ensure_future(coroutine) for coroutine in coroutines]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
    for result in results:
        if isinstance(result, Exception):
            raise result
