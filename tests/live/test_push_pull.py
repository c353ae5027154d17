"""Push and pull over real sockets; the records of all nodes are audited."""

import asyncio
from contextlib import AsyncExitStack

from tests.live.conftest import take
from tests.waiting import until

OPTIONS = {"dissemination": "push-pull", "dissemination_settings": {"period_us": 20_000}}
COUNT = 300


async def readers_of(stack, nodes, topic="t"):
    readers = [await stack.enter_async_context(node.subscribe(topic)) for node in nodes]
    for node in nodes:
        await node.ready(topic, peers=2)
    return readers


def test_every_reader_gets_all_messages_of_two_publishers_in_order(network):
    async def scenario():
        async with network(6, **OPTIONS) as nodes, AsyncExitStack() as stack:
            readers = await readers_of(stack, nodes)
            for number in range(COUNT):
                for publisher in nodes[:2]:
                    receipt = await publisher.publish("t", number.to_bytes(4))
                    assert receipt.queued == 1
                if number % 50 == 49:
                    await asyncio.sleep(0.02)
            return [node.hex_id for node in nodes[:2]], [await take(reader, 2 * COUNT, 30) for reader in readers[2:]]

    publishers, found = asyncio.run(scenario())
    for messages in found:
        for publisher in publishers:
            numbers = [int.from_bytes(each.payload) for each in messages if each.publisher == publisher]
            assert numbers == list(range(COUNT))


def test_nodes_stop_to_call_and_keep_no_message_when_it_is_old(network):
    async def scenario():
        async with network(3, **OPTIONS) as nodes, AsyncExitStack() as stack:
            readers = await readers_of(stack, nodes)
            await nodes[0].publish("t", b"x")
            for reader in readers[1:]:
                await take(reader, 1)
            parts = [node._running.driver._machine._parts for node in nodes]
            spreading = [next(part for part in each if hasattr(part, "_spreading")) for each in parts]
            await until(lambda: not any(part._is_due for part in spreading))
            return [len(part._spreading) for part in spreading]

    assert asyncio.run(scenario()) == [0, 0, 0]


def test_a_message_on_several_topics_reaches_readers_of_each_once(network):
    async def scenario():
        async with network(4, **OPTIONS) as nodes, AsyncExitStack() as stack:
            first = await readers_of(stack, nodes[:3], "one")
            second = await readers_of(stack, [nodes[0], nodes[2], nodes[3]], "two")
            await nodes[0].publish(["one", "two"], b"both")
            await nodes[0].publish("one", b"end")
            await nodes[0].publish("two", b"end")
            return [[each.payload for each in await take(reader, 2)] for reader in (*first[1:], *second[1:])]

    assert asyncio.run(scenario()) == [[b"both", b"end"]] * 4
