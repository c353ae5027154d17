"""Waiting for a condition, never for a time; who waits too long has failed."""

import asyncio
from inspect import isawaitable


async def until(condition, seconds=20):
    """Let the loop turn until the condition holds, which may be a coroutine function; answers what it gave."""
    async with asyncio.timeout(seconds):
        while True:
            found = condition()
            if isawaitable(found):
                found = await found
            if found:
                return found
            await asyncio.sleep(0.005)


def until_now(condition, seconds=30):
    """The same where there is no loop: other processes go on meanwhile."""
    return asyncio.run(until(condition, seconds))
