"""Waits in running time: a process that was stopped does not take its own delay for its peers' silence."""

import asyncio

import pytest

import gossamer.testing
from gossamer import Limits
from gossamer.live.transport.running_time import RunningTimer, running_timeout
from gossamer.live.transport.virtual import VirtualLoop


def in_virtual_time(scenario):
    loop = VirtualLoop()
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        return runner.run(scenario(loop))


def stop_process(loop, seconds):
    """The process does not run for some time: nothing happens, and the clock goes on."""
    loop._virtual.now += seconds


def test_a_timer_fires_after_its_time():
    async def scenario(loop):
        fired = []
        RunningTimer(loop, 1.1, lambda: fired.append(loop.time()))
        await asyncio.sleep(10)
        return fired

    assert in_virtual_time(scenario) == [pytest.approx(1.1)]


def test_a_timer_does_not_count_the_time_in_which_the_process_was_stopped():
    async def scenario(loop):
        fired = []
        RunningTimer(loop, 2.0, lambda: fired.append(loop.time()))
        loop.call_later(0.1, stop_process, loop, 30)
        await asyncio.sleep(60)
        return fired

    (at,) = in_virtual_time(scenario)
    assert at == pytest.approx(30.1 + 1.75)


def test_a_cancelled_timer_does_not_fire():
    async def scenario(loop):
        fired = []
        timer = RunningTimer(loop, 2.0, lambda: fired.append(loop.time()))
        loop.call_later(1, timer.cancel)
        await asyncio.sleep(60)
        return fired

    assert in_virtual_time(scenario) == []


def test_a_timeout_ends_what_takes_too_long_and_nothing_else():
    async def scenario(loop):
        async with running_timeout(2):
            await asyncio.sleep(1.9)
        loop.call_later(0.1, stop_process, loop, 30)
        async with running_timeout(2):
            await asyncio.sleep(1.5)
        with pytest.raises(TimeoutError):
            async with running_timeout(2):
                await asyncio.sleep(60)
        await asyncio.sleep(10)

    in_virtual_time(scenario)


def test_a_process_that_was_stopped_while_it_dialled_still_gets_its_link():
    """The greeting waits in the socket; it is read before the dial is given up."""

    async def scenario(network):
        async with network.node() as one, network.node() as other:
            network.loop.call_later(0.1, stop_process, network.loop, 30)
            assert await other._running.sockets.find(one.address.encode()) == one.id
            return other.status().counts

    assert "unreachable" not in gossamer.testing.run(scenario, latency_us=(200_000, 200_000))


def test_a_peer_that_this_process_did_not_write_to_while_it_was_stopped_is_not_stuck():
    async def scenario(network):
        limits = Limits(patience_seconds=2, stuck_seconds=5)
        async with network.node() as one, network.node(join=[one.address], limits=limits) as other:
            async with one.subscribe("prices"), other.subscribe("prices"):
                await other.ready("prices")
                sockets = other._running.sockets
                (link,) = [link for link, kept in sockets.links() if kept]
                link.pause_writing()
                stop_process(network.loop, 30)
                await asyncio.sleep(1)
                assert not link.is_stuck
                assert not link.is_ending
                await asyncio.sleep(2)
                assert link.is_stuck

    gossamer.testing.run(scenario)
