"""Publishers that restart, with live nodes in virtual time: no message is lost without a report."""

import asyncio
from contextlib import AsyncExitStack

import pytest

import gossamer.testing
from gossamer.protocols.membership.interest_table import InterestTable

TOPIC = "prices"


async def read(subscription, payloads):
    async for message in subscription:
        payloads.append(message.payload)


async def publish(node, *payloads):
    for payload in payloads:
        await node.publish(TOPIC, payload)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("linked", [True, False], ids=["linked", "not linked"])
@pytest.mark.parametrize("crashes", [True, False], ids=["crash", "clean stop"])
def test_a_publisher_that_returns_does_not_hide_the_messages_that_a_subscriber_missed(tmp_path, seed, crashes, linked):
    async def scenario(network):
        relay = network.node()
        await relay.start()
        reader = network.node(join=[relay.address])
        publisher = network.node(join=[relay.address], identity_file=tmp_path / "identity")
        await reader.start()
        await publisher.start()
        payloads, relayed = [], []
        async with relay.subscribe(TOPIC) as other, reader.subscribe(TOPIC) as mine:
            reading = [asyncio.create_task(read(mine, payloads)), asyncio.create_task(read(other, relayed))]
            await publish(publisher, b"1")
            await asyncio.sleep(10)
            network.partition([relay, publisher], [reader])
            await publish(publisher, b"2", b"3")
            await asyncio.sleep(0.5)
            await (network.crash(publisher) if crashes else publisher.stop())
            network.break_connections()
            network.heal()
            if linked:
                # The reader has a neighbour again, which has not yet told it the last messages.
                await reader.ready(TOPIC, timeout=60)
            again = network.node(join=[reader.address, relay.address], identity_file=tmp_path / "identity")
            await again.start()
            await publish(again, b"4")
            await asyncio.sleep(60)
            assert relayed == [b"1", b"2", b"3", b"4"]
            if linked:
                assert payloads == [b"1", b"2", b"3", b"4"]
                assert not mine.gaps
            else:
                # The publisher, which has forgotten its messages, is for a while the only neighbour of the reader.
                assert payloads == [b"1", b"2", b"3", b"4"] or len(mine.gaps) == 1
            for task in reading:
                task.cancel()

    gossamer.testing.run(scenario, seed=seed)


@pytest.mark.parametrize("seed", range(8))
def test_a_publisher_that_closes_and_opens_a_topic_does_not_hide_missed_messages(seed):
    async def scenario(network):
        relay = network.node()
        await relay.start()
        reader = network.node(join=[relay.address])
        sender = network.node(join=[relay.address])
        await reader.start()
        await sender.start()
        payloads = []
        async with relay.subscribe(TOPIC), reader.subscribe(TOPIC) as mine:
            reading = asyncio.create_task(read(mine, payloads))
            async with sender.publisher(TOPIC) as prices:
                await sender.ready(TOPIC)
                await prices.publish(b"1")
                await asyncio.sleep(10)
                network.partition([relay, sender], [reader])
                await prices.publish(b"2")
                await asyncio.sleep(0.5)
            network.break_connections()
            network.heal()
            async with sender.publisher(TOPIC) as prices:
                await sender.ready(TOPIC)
                await prices.publish(b"3")
                await asyncio.sleep(60)
            assert payloads == [b"1", b"2", b"3"]
            reading.cancel()

    gossamer.testing.run(scenario, seed=seed)


def test_a_publisher_whose_clock_went_back_before_its_restart_is_heard(tmp_path):
    async def scenario(network):
        reader = network.node()
        await reader.start()
        payloads = []
        async with reader.subscribe(TOPIC) as mine:
            reading = asyncio.create_task(read(mine, payloads))
            for offset_seconds, payload in ((0, b"1"), (-3600, b"2"), (-7200, b"3")):
                options = {"join": [reader.address], "identity_file": tmp_path / "identity"}
                async with network.node(clock_offset_seconds=offset_seconds, **options) as publisher:
                    await publisher.publish(TOPIC, payload, timeout=60)
                    await asyncio.sleep(20)
            assert payloads == [b"1", b"2", b"3"]
            reading.cancel()

    gossamer.testing.run(scenario, seed=1)


def test_new_interests_of_a_node_whose_clock_went_back_before_its_restart_are_believed(tmp_path):
    def known_interest(node, other):
        (table,) = (part for part in node._running.driver._machine._parts if isinstance(part, InterestTable))
        known = table._known.get(other)
        return None if known is None else set(known.sample)

    async def scenario(network):
        relay = network.node()
        await relay.start()
        options = {"join": [relay.address], "identity_file": tmp_path / "identity"}
        for offset_seconds, topics in ((0, ("a", "b")), (-3600, ("c",)), (-7200, ("d", "e", "f"))):
            async with network.node(clock_offset_seconds=offset_seconds, **options) as node, AsyncExitStack() as opened:
                # Each topic is a change of interest at a time of its own.
                for topic in topics:
                    await asyncio.sleep(10)
                    await opened.enter_async_context(node.subscribe(topic))
                await asyncio.sleep(60)
                assert known_interest(relay, node.id) == {topic.id for topic in node._topics.by_id.values()}

    gossamer.testing.run(scenario, seed=1)


def test_a_message_with_a_number_that_went_back_is_counted_and_logged(tmp_path, caplog):
    async def scenario(network):
        reader = network.node()
        await reader.start()
        async with reader.subscribe(TOPIC):
            for offset_seconds in (0, -3600):
                (tmp_path / "identity.sequence").unlink(missing_ok=True)
                options = {"join": [reader.address], "identity_file": tmp_path / "identity"}
                async with network.node(clock_offset_seconds=offset_seconds, **options) as publisher:
                    await publisher.publish(TOPIC, b"1", timeout=60)
                    await asyncio.sleep(20)
            assert reader.status().counts["messages dropped: later ones were delivered"] == 1
        assert "later ones were delivered before it" in caplog.text

    gossamer.testing.run(scenario, seed=1)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("crashes", [True, False], ids=["crash", "clean stop"])
def test_a_message_that_no_neighbour_has_is_reported_when_its_publisher_returns(tmp_path, seed, crashes):
    """The only other subscriber that got the message is gone, and the present neighbours subscribed later."""

    async def scenario(network):
        reader = network.node()
        await reader.start()
        relay = network.node(join=[reader.address])
        await relay.start()
        publisher = network.node(join=[relay.address], identity_file=tmp_path / "identity")
        await publisher.start()
        payloads, relayed, late = [], [], []
        newcomer = network.node(join=[reader.address])
        async with reader.subscribe(TOPIC) as mine, relay.subscribe(TOPIC) as other, newcomer:
            reading = [asyncio.create_task(read(mine, payloads)), asyncio.create_task(read(other, relayed))]
            await publish(publisher, b"1")
            await asyncio.sleep(10)
            network.partition([reader, newcomer], [relay, publisher])
            await publish(publisher, b"2")
            await asyncio.sleep(0.5)
            await (network.crash(publisher) if crashes else publisher.stop())
            await network.crash(relay)
            network.break_connections()
            network.heal()
            async with newcomer.subscribe(TOPIC) as theirs:
                reading.append(asyncio.create_task(read(theirs, late)))
                await reader.ready(TOPIC, timeout=60)
                again = network.node(join=[reader.address], identity_file=tmp_path / "identity")
                await again.start()
                await publish(again, b"3", b"4")
                await asyncio.sleep(60)
                assert relayed == [b"1", b"2"]
                assert payloads == [b"1", b"3", b"4"]
                assert len(mine.gaps) == 1
                # The lost message is older than the newcomer's subscription.
                assert late == [b"3", b"4"]
                assert not theirs.gaps
            for task in reading:
                task.cancel()

    gossamer.testing.run(scenario, seed=seed)


@pytest.mark.parametrize("seed", range(4))
def test_a_publisher_that_returns_after_its_messages_were_forgotten_delays_no_subscriber(tmp_path, seed):
    """Nobody has its last message, which is older than every subscription; this is no loss, also two links away."""

    async def scenario(network):
        first = network.node()
        await first.start()
        async with first.subscribe(TOPIC):
            async with network.node(join=[first.address], identity_file=tmp_path / "identity") as publisher:
                await publisher.publish(TOPIC, b"1", timeout=60)
                await asyncio.sleep(5)
        await asyncio.sleep(5)
        payloads = [[], [], []]
        readers = [first, network.node(join=[first.address]), network.node(join=[first.address])]
        reading = []
        for reader in readers[1:]:
            await reader.start()
        subscriptions = [reader.subscribe(TOPIC) for reader in readers]
        for subscription, found in zip(subscriptions, payloads, strict=True):
            await subscription.__aenter__()
            reading.append(asyncio.create_task(read(subscription, found)))
            await asyncio.sleep(3)
        async with network.node(join=[first.address], identity_file=tmp_path / "identity") as publisher:
            await publisher.publish(TOPIC, b"2", timeout=60)
            await asyncio.sleep(2)
            assert payloads == [[b"2"]] * 3
            assert not any(subscription.gaps for subscription in subscriptions)
            for task in reading:
                task.cancel()

    gossamer.testing.run(scenario, seed=seed)
