"""A test of a program that uses nodes: real nodes, no ports, no waiting, and a partition in the middle."""

import asyncio

import gossamer.testing


def test_prices_published_during_a_partition_arrive_after_it() -> None:
    """One seed decides latencies, identities and draws, so that a failure can be repeated."""

    async def scenario(network: gossamer.testing.VirtualNetwork) -> list[bytes]:
        async with network.node() as feed, network.node(join=[feed.address]) as reader:
            async with feed.publisher("prices") as prices, reader.subscribe("prices") as messages:
                await feed.ready("prices")
                await prices.publish(b"1.07")
                network.partition([feed], [reader])
                await prices.publish(b"1.08")
                await asyncio.sleep(2)
                network.heal()
                return [(await anext(messages)).payload for _ in range(2)]

    assert gossamer.testing.run(scenario, seed=1) == [b"1.07", b"1.08"]


test_prices_published_during_a_partition_arrive_after_it()
print("passed")
