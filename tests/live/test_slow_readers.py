"""Slow readers: publishers wait, or messages are dropped and counted."""

import asyncio
import json
from contextlib import AsyncExitStack
from itertools import pairwise

from gossamer import Limits, Node, PlanEntry
from tests.live.conftest import free_ports, take
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
                await one.publisher("t").__aenter__()
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


async def start_chain(stack, folder, names, limits):
    """Nodes by name, each linked with the one before and the one after it."""
    links = list(pairwise(names))
    peers = {name: [other for link in links if name in link for other in link if other != name] for name in names}
    (path := folder / "peers.json").write_text(
        json.dumps({name: {"topics": ["t"], "peers": peers[name]} for name in names})
    )
    addresses = {name: f"127.0.0.1:{port}" for name, port in zip(names, free_ports(len(names)), strict=True)}
    nodes = {}
    for name in names:
        plan = PlanEntry(path, name, addresses)
        node = Node(addresses[name], [addresses[names[0]]], system="planned", plan=plan, limits=limits)
        nodes[name] = await stack.enter_async_context(node)
    return nodes, peers


def test_a_publisher_waits_for_a_stuck_reader_four_hops_away_once_and_not_once_for_each_hop(tmp_path):
    names = ("first", "second", "third", "fourth", "last")
    # The queue towards the stuck reader takes all messages, so that no frame is refused.
    limits = Limits(patience_seconds=0.5, stuck_seconds=60, queue_bytes=32 * 1024 * 1024)

    async def scenario():
        async with AsyncExitStack() as stack:
            nodes, peers = await start_chain(stack, tmp_path, names, limits)
            readers = [await stack.enter_async_context(nodes[name].subscribe("t")) for name in names[1:-1]]
            await stack.enter_async_context(nodes["last"].subscribe("t", slow="block", queue=1))
            await nodes["first"].publisher("t").__aenter__()
            for name in names:
                await nodes[name].ready("t", len(peers[name]), timeout=20)
            clock, standstills = asyncio.get_running_loop().time, []
            # 15 MB: several times what the queues of the chain hold before each hop waits for the next one.
            for _ in range(3_000):
                before = clock()
                await nodes["first"].publish("t", b"." * 5_000)
                standstills.append(clock() - before)
            # The publisher stands still after some 900 messages; then messages flow again, also behind every hop.
            await until(lambda: all(reader.waiting > 2_000 for reader in readers))
            return [seconds for seconds in standstills if seconds > 0.1]

    # The test reads a clock because the bound is a time: half a second, which a node checks every 0.2 s. Four hops that
    # wait one after the other take at least 2 s.
    standstills = asyncio.run(scenario())
    assert standstills, "nobody waited for the stuck reader"
    assert sum(standstills) < 1.5


def test_a_healthy_subscriber_pauses_for_less_than_a_second_while_another_reader_is_stuck(network):
    async def scenario(stuck_options):
        async with network(3, audited=False) as (one, stuck, healthy):
            async with stuck.subscribe("t", **stuck_options), healthy.subscribe("t") as messages:
                await one.publisher("t").__aenter__()
                for node in (one, stuck, healthy):
                    await node.ready("t", 2, timeout=20)

                async def publish():
                    for _ in range(2_000):
                        await one.publish("t", b"." * 5_000)

                clock = asyncio.get_running_loop().time
                publishing, times = asyncio.create_task(publish()), [clock()]
                async with asyncio.timeout(30):
                    async for _ in messages:
                        times.append(clock())
                        if len(times) == 2_001:
                            break
                await publishing
                return max(later - earlier for earlier, later in pairwise(times))

    # The test reads a clock because the bound is a time. A reader that drops stops nobody; one that blocks is waited for
    # until the patience of its neighbours ends.
    assert asyncio.run(scenario({"queue": 10})) < 1
    assert asyncio.run(scenario({"slow": "block", "queue": 10})) < 1
