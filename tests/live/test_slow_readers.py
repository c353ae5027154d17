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


def test_a_reader_that_never_reads_does_not_stop_the_other_readers(network):
    async def scenario():
        # Nobody gives up on a slow link here, so that only the stuck reader's own node could stop the others.
        limits = Limits(queue_bytes_slow=20_000, patience_seconds=60, reader_messages=10)
        async with network(3, limits=limits) as (one, stuck, healthy):
            async with stuck.subscribe("t") as unread, healthy.subscribe("t", queue=3_000) as messages:
                one.open_publisher("t")
                for node in (one, stuck, healthy):
                    await node.ready("t", 2, timeout=20)

                async def publish():
                    for number in range(2_000):
                        await one.publish("t", b"%d" % number + b"." * 5_000)

                publishing = asyncio.create_task(publish())
                got = [int(message.payload.rstrip(b".")) for message in await take(messages, 2_000, 30)]
                await publishing
                await until(lambda: unread.dropped + unread.waiting == 2_000)
                rest = [int(message.payload.rstrip(b".")) for message in await take(unread, 10)]
                return got, rest, unread.gaps, one.hex_id

    got, rest, gaps, publisher = asyncio.run(scenario())
    assert got == list(range(2_000))
    assert rest == list(range(1_990, 2_000))
    assert [gap.publisher for gap in gaps] == [publisher]


def test_the_gaps_of_a_slow_reader_name_the_dropped_messages(network):
    async def scenario():
        async with network(2) as (one, other), other.subscribe("t", queue=10) as messages:
            receipts = [await one.publish("t", b"%d" % number) for number in range(100)]
            await until(lambda: messages.dropped == 90)
            return receipts, list(messages.gaps), [message.sequence for message in await take(messages, 10)]

    receipts, gaps, read = asyncio.run(scenario())
    assert [(gap.after, gap.before) for gap in gaps] == [(receipts[0].sequence - 1, receipts[89].sequence + 1)]
    assert read == [receipt.sequence for receipt in receipts[90:]]


def test_payload_bytes_that_wait_for_a_reader_are_bounded(network):
    async def scenario():
        limits = Limits(reader_bytes=10_000)
        async with network(2, limits=limits) as (one, other), other.subscribe("t") as messages:
            for _ in range(100):
                await one.publish("t", b"." * 1_000)
            await until(lambda: messages.dropped + messages.waiting == 100)
            return messages.waiting

    assert asyncio.run(scenario()) == 10


def test_a_slow_blocking_reader_makes_the_publisher_wait_and_loses_no_message(network):
    async def scenario():
        limits = Limits(queue_bytes_slow=20_000, patience_seconds=60)
        async with network(2, limits=limits) as (one, other), other.subscribe("t", slow="block", queue=10) as messages:
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
        async with (
            network(2, limits=limits, audited=False) as (one, other),
            other.subscribe("t", slow="block", queue=1) as messages,
        ):
            refused = ()
            async with asyncio.timeout(20):
                while not refused:
                    refused = (await one.publish("t", b"." * 5_000, slow="drop")).refused
            await take(messages, 1)
            return refused, other.hex_id, one.status().counts

    refused, other, counts = asyncio.run(scenario())
    assert refused == ((other, "link is slow"),)
    assert counts["refused: link is slow"] >= 1
