"""Validators and limits of topics."""

import asyncio

import pytest

from gossamer import Node, Outcome
from tests.live.conftest import QUICK, take


@pytest.mark.parametrize("is_async", [False, True], ids=["function", "coroutine"])
def test_a_validator_decides_which_messages_are_delivered_and_relayed(network, is_async):
    verdicts = {b"good": True, b"bad": Outcome.REJECT, b"dull": Outcome.IGNORE, b"last": None}

    def judge(message):
        return verdicts[message.payload]

    async def judge_later(message):
        await asyncio.sleep(0)
        return verdicts[message.payload]

    async def scenario():
        async with network(2) as (one, other), other.subscribe("t") as messages:
            other.validate("t", judge_later if is_async else judge)
            for payload in verdicts:
                await one.publish("t", payload)
            got = [message.payload for message in await take(messages, 2)]
            counts = other.status().counts
            return got, counts["validator: reject"], counts["validator: ignore"]

    assert asyncio.run(scenario()) == ([b"good", b"last"], 1, 1)


@pytest.mark.parametrize("is_async", [False, True])
def test_with_a_validator_slower_than_the_publisher_no_message_is_lost(network, is_async):
    async def later(message):
        await asyncio.sleep(0)
        return True

    async def scenario():
        async with network(3) as nodes:
            for node in nodes[1:]:
                node.validate("t", later if is_async else lambda message: True)
            readers = [await node.subscribe("t").__aenter__() for node in nodes[1:]]
            async with nodes[0].publisher("t") as publisher:
                for node in nodes:
                    await node.ready("t")

                async def publish():
                    for number in range(6_000):
                        await publisher.publish(b"%d" % number)

                _, *found = await asyncio.gather(publish(), *(take(messages, 6_000, 30) for messages in readers))
        return found

    for found in asyncio.run(scenario()):
        assert [message.payload for message in found] == [b"%d" % number for number in range(6_000)]


def test_a_validator_that_raises_ignores_the_message_and_the_node_keeps_working(network):
    def judge(message):
        if message.payload == b"1":
            raise RuntimeError("a bug in the application")

    async def scenario():
        async with network(2) as (one, other), other.subscribe("t") as messages:
            other.validate("t", judge)
            await one.publish("t", b"1")
            await one.publish("t", b"2")
            return (await take(messages, 1))[0].payload

    assert asyncio.run(scenario()) == b"2"


def test_a_validator_may_be_set_before_the_node_starts():
    async def scenario():
        one = Node(settings=QUICK)
        one.validate("t", lambda message: message.payload != b"bad")
        async with one, one.subscribe("t") as messages:
            async with Node(join=[one.address], settings=QUICK) as other:
                await other.publish("t", b"bad")
                await other.publish("t", b"good")
                return (await take(messages, 1))[0].payload

    assert asyncio.run(scenario()) == b"good"


def test_a_topic_may_have_its_own_limit(network):
    async def scenario():
        async with network(2) as (one, other), other.subscribe("t") as messages:
            other.limit("t", 10)
            await one.publish("t", b"x" * 11)
            await one.publish("t", b"short")
            return (await take(messages, 1))[0].payload, other.status().counts["validator: reject"]

    assert asyncio.run(scenario()) == (b"short", 1)
