"""How long-running commands end: the first signal asks, the second insists."""

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

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
