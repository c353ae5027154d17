"""Waiting for a condition, never for a fixed time; a wait that takes too long fails the test."""

import asyncio
from inspect import isawaitable


async def until(condition, seconds=20):
    """Run the loop until the condition, which may be a coroutine function, is true; return its result."""
    async with asyncio.timeout(seconds):
        while True:
            found = condition()
            if isawaitable(found):
                found = await found
            if found:
                return found
            await asyncio.sleep(0.005)


def until_now(condition, seconds=30):
    """The same without an event loop, for conditions on other processes."""
    return asyncio.run(until(condition, seconds))
