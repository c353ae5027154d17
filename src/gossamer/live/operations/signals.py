"""How long-running commands end: the first signal asks, the second insists; and whatever ends first ends the rest."""

import asyncio
import os
import signal
from collections.abc import Coroutine, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

SIGNALS = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def asked_to_stop() -> Iterator[asyncio.Event]:
    """An event that SIGTERM or SIGINT sets; a second one ends the process at once, with the shell's code for it."""
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


async def first_of(works: Iterable[Coroutine[Any, Any, object]]) -> None:
    """Run all of these until one ends, and cancel the others; an error of any is raised."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
    for result in results:
        if isinstance(result, Exception):
            raise result
