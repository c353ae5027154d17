"""Waits that count only the time in which this process ran.

A process without CPU fires its timers late and reads answers late. A wait is therefore made of short steps, each of which
begins when the step before it ends: a late step counts as one in time, and the loop reads all sockets before each step.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

# Chosen: the longest step. A process that is stopped loses at most this much of a wait.
STEP_SECONDS = 0.25


class RunningTimer:
    """Calls a function after some seconds of this process's running time, unless it is cancelled before."""

    def __init__(self, loop: asyncio.AbstractEventLoop, seconds: float, call: Callable[[], object]) -> None:
        self._loop = loop
        self._left = seconds
        self._call = call
        self._step: asyncio.TimerHandle | None = None
        self._next()

    def cancel(self) -> None:
        """Do not call the function."""
        if self._step is not None:
            self._step.cancel()

    def _next(self) -> None:
        if self._left <= 0:
            self._call()
            return
        step = min(self._left, STEP_SECONDS)
        self._left -= step
        self._step = self._loop.call_later(step, self._next)


@asynccontextmanager
async def running_timeout(seconds: float) -> AsyncIterator[None]:
    """As `asyncio.timeout`, in this process's running time."""
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(None) as timeout:
        timer = RunningTimer(loop, seconds, lambda: timeout.reschedule(loop.time()))
        try:
            yield
        finally:
            timer.cancel()
