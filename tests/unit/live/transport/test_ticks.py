"""How often a node checks its links: seldom, and often while one of them is slow."""

import asyncio

import gossamer.testing
from gossamer.live.api.limits import Limits


def test_links_are_checked_once_a_second_and_five_times_a_second_while_one_is_slow():
    async def scenario(network):
        async with network.node() as one, network.node(join=[one.address], limits=Limits(stuck_seconds=60)) as other:
            async with one.subscribe("prices"), other.subscribe("prices"):
                await other.ready("prices")
                sockets = other._running.sockets
                checks = []
                check = sockets._pressure.check
                sockets._pressure.check = lambda now, seconds: (checks.append(seconds), check(now, seconds))
                await asyncio.sleep(5)
                idle, checks[:] = list(checks), []
                (link,) = [link for link, kept in sockets.links() if kept]
                # A link that is slow again and again does not put the checks off.
                for _ in range(50):
                    link.pause_writing()
                    await asyncio.sleep(0.05)
                    link.resume_writing()
                    link.pause_writing()
                    await asyncio.sleep(0.05)
                slow = list(checks)
                link.resume_writing()
                await asyncio.sleep(1)
                checks.clear()
                await asyncio.sleep(5)
                return idle, slow, checks

    idle, slow, after = gossamer.testing.run(scenario)
    assert idle == [1.0] * 5
    assert slow == [0.2] * 25
    assert after == [1.0] * 5
