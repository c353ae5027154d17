"""What a reader waits for when its queue is empty."""

import asyncio
from collections.abc import Callable, Generator
from contextvars import Context
from typing import Any


class Arrival:
    """An awaitable like a future, for one task, that resumes the task within the call of `wake`.

    The task of an `asyncio.Future` resumes in the next turn of the loop: with few messages, that turn and its system call
    were a tenth of the cost of a delivery. Tasks accept any object with these methods and `_asyncio_future_blocking`.
    """

    __slots__ = ("_asyncio_future_blocking", "_context", "_is_cancelled", "_loop", "_resume")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._asyncio_future_blocking = False
        self._is_cancelled = False
        # Set while a task waits.
        self._resume: Callable[[Any], object] | None = None
        self._context: Context | None = None

    def __await__(self) -> Generator[Any, None, None]:
        """Wait for `wake`."""
        self._asyncio_future_blocking = True
        yield self

    def wake(self) -> None:
        """Resume the task that waits: now, or in the next turn of the loop if another task runs now."""
        if asyncio.current_task(self._loop) is not None:
            self._loop.call_soon(self._wake_now)
        else:
            self._wake_now()

    def _wake_now(self) -> None:
        resume, self._resume = self._resume, None
        if resume is not None and self._context is not None:
            self._context.run(resume, self)

    # Called by the task.

    def get_loop(self) -> asyncio.AbstractEventLoop:
        """See `asyncio.Future`."""
        return self._loop

    def add_done_callback(self, resume: Callable[[Any], object], *, context: Context) -> None:
        """See `asyncio.Future`."""
        self._resume, self._context = resume, context

    def cancel(self, msg: object = None) -> bool:
        """See `asyncio.Future`."""
        if self._resume is None:
            return False
        self._is_cancelled = True
        self._loop.call_soon(self._wake_now)
        return True

    def result(self) -> None:
        """See `asyncio.Future`."""
        if self._is_cancelled:
            raise asyncio.CancelledError
