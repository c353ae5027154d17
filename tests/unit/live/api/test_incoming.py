"""Readers run while messages are delivered; what they do must not touch the messages of other readers."""

import asyncio

import gossamer.testing


def test_a_reader_that_leaves_at_its_message_takes_none_from_the_other_readers():
    async def scenario(network):
        async with network.node() as one, network.node(join=[one.address]) as other:
            counts = {}

            async def read(name, topic):
                async with other.subscribe(topic) as messages:
                    async for message in messages:
                        counts.setdefault(name, []).append(message.payload)
                        return

            readers = [asyncio.ensure_future(read(name, "prices")) for name in range(4)]
            await asyncio.sleep(0)
            async with one.publisher("prices") as prices:
                await one.ready("prices")
                await prices.publish(b"1.07")
                await asyncio.sleep(1)
            for reader in readers:
                reader.cancel()
            return counts

    assert gossamer.testing.run(scenario) == {name: [b"1.07"] for name in range(4)}


def test_a_reader_that_stops_its_node_gets_no_error_and_others_keep_what_arrived():
    async def scenario(network):
        async with network.node() as one:
            other = network.node(join=[one.address])
            await other.__aenter__()
            found = []

            async def stop_at_once(messages):
                async for _ in messages:
                    await other.stop()

            async def collect(messages):
                async for message in messages:
                    found.append(message.payload)

            async with other.subscribe("prices") as first, other.subscribe("prices") as second, one.publisher("prices"):
                await one.ready("prices")
                readers = [asyncio.ensure_future(stop_at_once(first)), asyncio.ensure_future(collect(second))]
                await asyncio.sleep(0)
                await one.publish("prices", b"1.07")
                await asyncio.gather(*readers)
            return found

    assert gossamer.testing.run(scenario) == [b"1.07"]
