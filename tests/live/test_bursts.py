"""Messages that are published faster than they leave travel together."""

import asyncio

import msgspec

from gossamer import Limits
from gossamer.live.transport.queues import Parcel
from gossamer.systems.spidercast.messages import Heartbeat
from tests.live.conftest import take
from tests.waiting import until


def test_a_burst_travels_in_few_frames_and_each_message_keeps_its_receipt_and_time(network, tmp_path, gossamer):
    async def scenario():
        async with network(3) as nodes:
            readers = [await node.subscribe("t").__aenter__() for node in nodes[1:]]
            async with nodes[0].publisher("t") as publisher:
                for node in nodes:
                    await node.ready("t")
                await publisher.publish(b"the tree is made")
                for messages in readers:
                    await take(messages, 1)
                before = [sum(link.frames_in for link in node.status().links) for node in nodes]
                receipts = [await publisher.publish(b"%d" % number) for number in range(500)]
                last = await publisher.publish(b"500", wait="sent")
                found = [await take(messages, 501) for messages in readers]
                after = [sum(link.frames_in for link in node.status().links) for node in nodes]
        return [*receipts, last], found, [late - early for early, late in zip(before, after, strict=True)]

    receipts, found, frames = asyncio.run(scenario())
    assert receipts[-1].sent == receipts[-1].queued
    assert {(receipt.queued, receipt.refused) for receipt in receipts} == {(receipts[-1].queued, ())}
    for messages in found:
        assert [message.payload for message in messages] == [b"%d" % number for number in range(501)]
        assert [message.sequence for message in messages] == [receipt.sequence for receipt in receipts]
        times = [message.published_at for message in messages]
        assert times == sorted(times)
        assert times[0] < times[100]
    assert max(frames) < 100
    code, out, _ = gossamer("replay", *tmp_path.glob("*.record"), "--json")
    assert code == 0
    audit = msgspec.json.decode(out)["audit"]
    assert (audit["breach_count"], audit["deliveries"]) == (0, 2 * 502)


def test_the_first_message_after_a_pause_leaves_at_once_and_the_next_messages_leave_together(network):
    async def scenario():
        async with network(2) as (one, other), other.subscribe("t") as messages, one.publisher("t") as publisher:
            await one.ready("t")
            await other.ready("t")
            link = one._running.sockets.link(other.id)
            link.flush()
            link._flushed_at = 0.0
            frames = [link.queue.frames_out]
            for _ in range(4):
                await publisher.publish(b"x")
                frames.append(link.queue.frames_out)
            await take(messages, 4)
            return [count - frames[0] for count in frames]

    assert asyncio.run(scenario()) == [0, 1, 1, 1, 1]


def test_all_messages_of_one_event_to_an_idle_link_leave_at_once_in_one_frame(network):
    async def scenario():
        async with network(2) as (one, other):
            await until(lambda: one._running.sockets.link(other.id) is not None)
            sockets = one._running.sockets
            link = sockets.link(other.id)
            link.flush()
            link._flushed_at = 0.0
            frames, written = link.queue.frames_out, link.sent_bytes
            for _ in range(3):
                link.write(Parcel([Heartbeat(0, 0, 0)]))
            assert link.sent_bytes == written
            sockets.end_event()
            assert link.sent_bytes > written
            return link.queue.frames_out - frames, link.queue.size, link.flush_is_due

    assert asyncio.run(scenario()) == (1, 0, False)


def test_a_burst_fits_the_limit_on_frames(network):
    async def scenario():
        limits = Limits(frame_bytes=20_000, payload_bytes=16_000)
        async with network(2, limits=limits) as (one, other), other.subscribe("t") as messages:
            for number in range(200):
                await one.publish("t", b"%d" % number + bytes(1_000))
            return await take(messages, 200), other.status().counts

    found, counts = asyncio.run(scenario())
    assert len(found) == 200
    assert not any("too long" in reason for reason in counts)


def test_own_messages_have_the_same_times_as_at_other_nodes(network):
    async def scenario():
        async with network(2) as (one, other):
            async with one.subscribe("t", own=True) as mine, other.subscribe("t") as theirs:
                await one.ready("t")
                await other.ready("t")
                for _ in range(5):
                    await one.publish("t", b"x")
                return await take(mine, 5), await take(theirs, 5)

    mine, theirs = asyncio.run(scenario())
    assert [message.published_at for message in mine] == [message.published_at for message in theirs]


def test_gathered_messages_leave_before_the_goodbye(network):
    async def scenario():
        async with network(2) as (one, other), other.subscribe("t") as messages:
            await one.publish("t", b"0")
            await take(messages, 1)
            for number in (1, 2, 3):
                await one.publish("t", b"%d" % number)
            one._running.sockets.link(other.id).close("for this test")
            return [message.payload for message in await take(messages, 3)]

    assert asyncio.run(scenario()) == [b"1", b"2", b"3"]
