"""Slow readers: publishers wait, or messages are dropped and counted."""

import asyncio

from gossamer import Limits
from tests.live.conftest import take
from tests.waiting import until


def test_a_slow_reader_that_drops_loses_the_oldest_messages_and_counts_them(network):
    async def scenario():
        async with network(2) as (one, other), other.subscribe("t", slow="drop", queue=10) as messages:
            for number in range(100):
                await one.publish("t", b"%d" % number)
            await until(lambda: messages.dropped == 90)
            return [message.payload for message in await take(messages, 10)], other.status().counts["reader too slow"]

    assert asyncio.run(scenario()) == ([b"%d" % number for number in range(90, 100)], 90)


def test_a_slow_blocking_reader_makes_the_publisher_wait_and_loses_no_message(network):
    async def scenario():
        limits = Limits(queue_bytes_slow=20_000, patience_seconds=60)
        async with network(2, limits=limits) as (one, other), other.subscribe("t", queue=10) as messages:
            total = 3000

            async def publish():
                for number in range(total):
                    await one.publish("t", b"%d" % number + b"." * 5_000)

            publishing = asyncio.create_task(publish())
            await until(lambda: any(link.slow for link in one.status().links))
            assert not publishing.done()
            got = [int(message.payload.rstrip(b".")) for message in await take(messages, total, 30)]
            await publishing
            return got == list(range(total)), one.status().counts, other.status().counts

    in_order, *counts = asyncio.run(scenario())
    assert in_order
    assert not [reason for each in counts for reason in each if "lost" in reason or "slow" in reason]


def test_a_publisher_that_drops_leaves_out_slow_links_and_its_receipt_lists_them(network):
    async def scenario():
        limits = Limits(queue_bytes_slow=20_000, patience_seconds=60)
        async with network(2, limits=limits, audited=False) as (one, other), other.subscribe("t", queue=1) as messages:
            refused = ()
            async with asyncio.timeout(20):
                while not refused:
                    refused = (await one.publish("t", b"." * 5_000, slow="drop")).refused
            await take(messages, 1)
            return refused, other.hex_id, one.status().counts

    refused, other, counts = asyncio.run(scenario())
    assert refused == ((other, "link is slow"),)
    assert counts["refused: link is slow"] >= 1
