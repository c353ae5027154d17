"""Waiting for a condition, never for a time; who waits too long has failed."""

import asyncio
import time


async def until(condition, seconds=20):
    """Let the loop turn until the condition holds; answers what it gave."""
    async with asyncio.timeout(seconds):
        while not (found := condition()):
            await asyncio.sleep(0.005)
    return found


def until_now(condition, seconds=30):
    """The same where there is no loop: other processes go on meanwhile."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return found
