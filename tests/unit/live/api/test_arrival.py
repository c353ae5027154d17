"""What a reader waits for: it resumes in the same turn of the loop, and can be cancelled like a future."""

import asyncio
from contextvars import ContextVar

import pytest

from gossamer.live.api.arrival import Arrival


async def _wait(arrival, log):
    await arrival
    log.append("resumed")


def test_a_callback_of_the_loop_resumes_the_waiting_task_within_the_call():
    async def scenario():
        loop, log = asyncio.get_running_loop(), []
        arrival = Arrival(loop)
        task = asyncio.ensure_future(_wait(arrival, log))
        await asyncio.sleep(0)

        def wake():
            arrival.wake()
            log.append("woken")

        loop.call_soon(wake)
        await task
        return log

    assert asyncio.run(scenario()) == ["resumed", "woken"]


def test_a_task_wakes_another_task_in_the_next_turn():
    async def scenario():
        loop, log = asyncio.get_running_loop(), []
        arrival = Arrival(loop)
        task = asyncio.ensure_future(_wait(arrival, log))
        await asyncio.sleep(0)
        arrival.wake()
        log.append("woken")
        await task
        return log

    assert asyncio.run(scenario()) == ["woken", "resumed"]


def test_a_waiting_task_can_be_cancelled_and_a_late_wake_does_nothing():
    async def scenario():
        arrival = Arrival(asyncio.get_running_loop())
        task = asyncio.ensure_future(_wait(arrival, []))
        await asyncio.sleep(0)
        task.cancel()
        arrival.wake()
        with pytest.raises(asyncio.CancelledError):
            await task
        arrival.wake()
        await asyncio.sleep(0)
        return task.cancelled()

    assert asyncio.run(scenario())


def test_a_wait_can_have_a_timeout():
    async def scenario():
        arrival = Arrival(asyncio.get_running_loop())
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.001):
                await arrival
        return True

    assert asyncio.run(scenario())


def test_the_task_resumes_in_its_own_context():
    name = ContextVar("name", default="none")

    async def scenario():
        loop = asyncio.get_running_loop()
        arrival, seen = Arrival(loop), []

        async def reader():
            name.set("reader")
            await arrival
            seen.append(name.get())

        task = asyncio.ensure_future(reader())
        await asyncio.sleep(0)
        loop.call_soon(arrival.wake)
        await task
        return seen, name.get()

    assert asyncio.run(scenario()) == (["reader"], "none")
