"""Recovery with live nodes whose clocks differ, in virtual time."""

import asyncio

import pytest

import gossamer.testing

TOPIC = "prices"
HOUR = 3_600


@pytest.mark.parametrize("publisher_offset", [-HOUR, 0, HOUR])
@pytest.mark.parametrize("reader_offset", [-HOUR, 0, HOUR])
def test_messages_published_since_the_subscription_are_recovered_whatever_the_clocks_say(
    reader_offset, publisher_offset
):
    async def scenario(network):
        relay = network.node()
        await relay.start()
        publisher = network.node(join=[relay.address], clock_offset_seconds=publisher_offset)
        await publisher.start()
        async with relay.subscribe(TOPIC):
            await publisher.publish(TOPIC, b"before the subscription")
            await asyncio.sleep(10)
            reader = network.node(join=[relay.address], clock_offset_seconds=reader_offset)
            network.partition([relay, publisher], [reader])
            await reader.start()
            async with reader.subscribe(TOPIC) as messages:
                await asyncio.sleep(2)
                for number in range(5):
                    await publisher.publish(TOPIC, b"%d" % number)
                await asyncio.sleep(2)
                network.heal()
                await reader.ready(TOPIC, timeout=60)
                await publisher.publish(TOPIC, b"5")
                received = [(await anext(messages)).payload for _ in range(6)]
                assert received == [b"0", b"1", b"2", b"3", b"4", b"5"]
                assert not messages.gaps

    gossamer.testing.run(scenario, seed=1)


@pytest.mark.parametrize("publisher_offset", [-HOUR, 0, HOUR])
def test_a_late_subscriber_receives_the_messages_of_the_last_minute_whatever_the_clocks_say(publisher_offset):
    async def scenario(network):
        relay = network.node()
        await relay.start()
        publisher = network.node(join=[relay.address], clock_offset_seconds=publisher_offset)
        await publisher.start()
        async with relay.subscribe(TOPIC):
            await publisher.publish(TOPIC, b"old")
            await asyncio.sleep(100)
            await publisher.publish(TOPIC, b"1")
            await publisher.publish(TOPIC, b"2")
            await asyncio.sleep(10)
            reader = network.node(join=[relay.address])
            await reader.start()
            async with reader.subscribe(TOPIC, last_seconds=60) as messages:
                received = [(await anext(messages)).payload for _ in range(2)]
                assert received == [b"1", b"2"]

    gossamer.testing.run(scenario, seed=1)
