"""Twelve nodes in memory and virtual time: half of them crash, and messages still reach all others."""

import asyncio

import gossamer.testing

NODES = 12


async def scenario(network: gossamer.testing.VirtualNetwork) -> int:
    """Crash every second node, wait ten virtual seconds, publish, and count the subscribers that get the message."""
    first = network.node()
    await first.start()
    nodes = [first, *(network.node(join=[first.address]) for _ in range(NODES - 1))]
    for node in nodes[1:]:
        await node.start()
    subscriptions = [await node.subscribe("news").__aenter__() for node in nodes]
    await asyncio.sleep(10)
    for node in nodes[1::2]:
        await network.crash(node)
    await asyncio.sleep(10)
    await first.publish("news", b"still here")
    received = [await anext(subscription) for subscription in subscriptions[2::2]]
    return sum(message.payload == b"still here" for message in received)


reached = gossamer.testing.run(scenario, seed=7)
print(f"after {NODES // 2} of {NODES} nodes crashed, the message reached {reached} of the {NODES // 2 - 1} others")
