"""The public node, as applications use it."""

import asyncio
from pathlib import Path
from time import time

import msgspec
import pytest

import gossamer
from gossamer import Node, Security
from tests.live.conftest import QUICK, take
from tests.waiting import until


def test_five_lines_are_enough_to_publish_and_receive():
    async def scenario():
        async with Node() as one, Node(join=[one.address]) as other:
            async with other.subscribe("prices/eur") as messages, one.publisher("prices/eur") as prices:
                await one.ready("prices/eur")
                receipt = await prices.publish(b"1.07")
                (message,) = await take(messages, 1)
                return one, receipt, message

    one, receipt, message = asyncio.run(scenario())
    assert (message.topic, message.payload, message.hops) == ("prices/eur", b"1.07", 1)
    assert (message.publisher, message.sequence) == (one.hex_id, receipt.sequence)
    assert (receipt.queued, receipt.refused) == (1, ())
    assert abs(message.published_at - time()) < 60


def test_messages_of_a_publisher_arrive_in_order_and_once(network):
    async def scenario():
        async with network(6) as nodes:
            readers = [await node.subscribe("t").__aenter__() for node in nodes[1:]]
            async with nodes[0].publisher("t") as publisher:
                await nodes[0].ready("t")
                for node in nodes[1:]:
                    await node.ready("t")
                for number in range(200):
                    await publisher.publish(b"%d" % number)
                return [await take(messages, 200) for messages in readers]

    for found in asyncio.run(scenario()):
        assert [message.payload for message in found] == [b"%d" % number for number in range(200)]


@pytest.mark.slow
def test_nodes_with_100_000_topics_link_and_exchange_messages(network):
    async def scenario():
        async with network(1, audited=False) as (one,):
            for number in range(100_000):
                await one.publisher(f"t{number}").__aenter__()
            # The second node has one topic when it links; the third has as many as the first.
            async with network(2, audited=False, join=[one.address]) as (few, many):
                for number in range(100_000):
                    await many.publisher(f"t{number}").__aenter__()
                async with few.subscribe("t99999") as at_few, many.subscribe("t99999") as at_many:
                    for node in (one, few, many):
                        await node.ready("t99999", 2, timeout=30)
                    await one.publish("t99999", b"x")
                    messages = await take(at_few, 1) + await take(at_many, 1)
                    counts = [node.status().counts for node in (one, few, many)]
                    return [(message.topic, message.payload) for message in messages], counts

    messages, counts = asyncio.run(scenario())
    assert messages == [("t99999", b"x")] * 2
    assert not any("frames that could not be read" in each for each in counts)


def test_a_node_does_not_get_its_own_messages_unless_it_asks(network):
    async def scenario():
        async with network(2) as (one, other):
            async with (
                one.subscribe("t") as without,
                one.subscribe("t", own=True) as own,
                other.subscribe("t") as there,
            ):
                await one.ready("t")
                await one.publish("t", b"mine")
                await take(there, 1)
                await other.publish("t", b"theirs")
                return [m.payload for m in await take(without, 1)], [(m.payload, m.hops) for m in await take(own, 2)]

    assert asyncio.run(scenario()) == ([b"theirs"], [(b"mine", 0), (b"theirs", 1)])


def test_publishing_on_a_new_topic_opens_it_and_waits_for_a_neighbour(network):
    async def scenario():
        async with network(2) as (one, other), other.subscribe("t") as messages:
            receipt = await one.publish("t", b"x")
            assert one.status().topics[0].publishes
            return receipt.queued, (await take(messages, 1))[0].payload

    assert asyncio.run(scenario()) == (1, b"x")


def test_a_message_on_several_topics_crosses_a_link_once(network):
    async def scenario():
        async with network(2) as (one, other), other.subscribe("a") as first, other.subscribe("b") as second:
            async with one.publisher("a"), one.publisher("b"):
                await one.ready("a")
                await one.ready("b")
                await other.ready("a")
                before = one.status().links[0].frames_out
                receipt = await one.publish(["a", "b"], b"both", wait="sent")
                got = (await take(first, 1))[0], (await take(second, 1))[0]
                frames = one.status().links[0].frames_out - before
                return receipt.queued, frames, [(message.topic, message.payload) for message in got]

    queued, frames, got = asyncio.run(scenario())
    assert queued == 1
    # A heartbeat may fall into the same moment.
    assert frames <= 2
    assert got == [("a", b"both"), ("b", b"both")]


@pytest.mark.parametrize(
    ("codec", "value"), [("json", {"price": 1.07}), ("msgpack", [1, "x", b"y"]), ("bytes", b"raw")], ids=str
)
def test_payloads_are_typed_by_a_codec(network, codec, value):
    async def scenario():
        async with network(2) as (one, other), other.subscribe("t", codec=codec) as messages:
            await one.publish("t", value, codec=codec)
            return (await take(messages, 1))[0].payload

    assert asyncio.run(scenario()) == value


def test_a_payload_that_the_codec_cannot_decode_is_counted_and_skipped(network):
    class Numbers:
        encode = staticmethod(msgspec.json.encode)
        decode = staticmethod(lambda payload: msgspec.json.decode(payload, type=int))

    async def scenario():
        async with network(2) as (one, other), other.subscribe("t", codec=Numbers()) as messages:
            await one.publish("t", b"not a number")
            await one.publish("t", 7, codec=Numbers())
            (message,) = await take(messages, 1)
            return message.payload, messages.unreadable, other.status().counts

    payload, unreadable, counts = asyncio.run(scenario())
    assert (payload, unreadable) == (7, 1)
    assert counts["payload not readable by the codec"] == 1


def test_a_late_subscriber_gets_the_last_messages_if_it_asks(network):
    async def scenario():
        async with network(3) as (one, other, late), other.subscribe("t") as messages:
            for number in range(20):
                await one.publish("t", b"%d" % number)
            await take(messages, 20)
            async with late.subscribe("t", last=5) as caught_up:
                return [message.payload for message in await take(caught_up, 5)]

    assert asyncio.run(scenario()) == [b"15", b"16", b"17", b"18", b"19"]


def test_a_graceful_leave_is_noticed_at_once(network):
    async def scenario():
        async with network(3) as nodes:
            for node in nodes:
                await node.subscribe("t").__aenter__()
            for node in nodes:
                await node.ready("t", peers=2)
            await nodes[2].stop()
            return await until(lambda: all(len(node.peers("t")) == 1 for node in nodes[:2]), 3)

    assert asyncio.run(scenario())


def test_unsubscribing_takes_the_topic_out_of_the_overlay(network):
    async def scenario():
        async with network(2) as (one, other), one.subscribe("t"):
            async with other.subscribe("t"):
                await one.ready("t")
            await until(lambda: not one.peers("t"))
            return other.status().topics

    assert asyncio.run(scenario()) == []


def test_iteration_ends_when_the_node_stops(network):
    async def scenario():
        async with network(1) as (node,), node.subscribe("t") as messages:
            reading = asyncio.create_task(take(messages, 1))
            await asyncio.sleep(0)
            await node.stop()
            return await reading

    assert asyncio.run(scenario()) == []


def test_unreachable_addresses_of_join_are_tried_until_they_answer(tmp_path, caplog):
    async def scenario():
        async with Node() as scout:
            address = scout.address
        caplog.set_level("INFO")
        async with Node(join=[address], settings={"heartbeat_us": 100_000}) as one, one.subscribe("t"):
            await until(lambda: one.status().counts.get("unreachable", 0) >= 2)
            async with Node(address) as other, other.subscribe("t"):
                await one.ready("t")
                return one.peers("t"), [other.hex_id]

    found, wanted = asyncio.run(scenario())
    assert found == wanted
    assert any("cannot reach" in record.getMessage() for record in caplog.records)


def test_the_facade_loads_each_name_when_it_is_asked_for():
    for name in gossamer.__all__:
        assert getattr(gossamer, name) is not None
    with pytest.raises(AttributeError):
        gossamer.nothing  # noqa: B018


@pytest.mark.parametrize(
    ("system", "dissemination"),
    [
        ("spidercast", "tree"),
        ("spidercast", "flood"),
        ("stan", "tree"),
        ("stan", "flood"),
        ("gossip", None),
        ("spidercast", "push-pull"),
        ("stan", "push-pull"),
        ("feverfew", "tree"),
        ("feverfew", "flood"),
        ("feverfew", "push-pull"),
        ("omen", "tree"),
        ("omen", "flood"),
        ("omen", "push-pull"),
    ],
)
def test_every_system_carries_messages_over_sockets(network, system, dissemination):
    async def scenario():
        own = {
            "stan": {"probe_us": 50_000, "period_us": 100_000},
            "feverfew": {"period_us": 100_000},
            "omen": {"period_us": 100_000},
        }
        settings = own.get(system, QUICK)
        options = {"system": system, "dissemination": dissemination, "settings": settings}
        async with network(5, audited=system != "gossip", **options) as nodes:
            readers = [await node.subscribe("t").__aenter__() for node in nodes]
            for node in nodes:
                await node.ready("t")
            # Links may still be missing; a later message reaches the nodes that the first one missed.
            async with asyncio.timeout(20):
                waiting = [asyncio.create_task(take(reader, 1, 20)) for reader in readers[1:]]
                while not all(task.done() for task in waiting):
                    await nodes[0].publish("t", b"x")
                    await asyncio.sleep(0.05)
            return [task.result()[0].payload for task in waiting]

    assert asyncio.run(scenario()) == [b"x"] * 4


def test_a_topic_with_a_secret_is_another_topic_for_nodes_without_it(network):
    async def scenario():
        options = {"system": "stan", "settings": {"probe_us": 50_000, "period_us": 100_000}}
        async with (
            network(2, security=Security(secrets={"t": b"s"}), **options) as (one, other),
            network(1, join=[one.address], **options) as (outsider,),
            other.subscribe("t") as inside,
            outsider.subscribe("t") as outside,
            one.publisher("t") as friend,
        ):
            await one.ready("t")
            await friend.publish(b"for friends")
            got = (await take(inside, 1))[0].payload
            return got, outside.waiting, outsider.peers("t")

    assert asyncio.run(scenario()) == (b"for friends", 0, [])


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here to stand for a full disk")
def test_a_full_disk_stops_the_recording_but_not_the_node(caplog):
    async def scenario():
        async with (
            Node(record="/dev/full") as one,
            Node(join=[one.address]) as other,
            other.subscribe("t") as messages,
        ):
            for _ in range(100):
                await one.publish("t", b"x" * 1000)
            await take(messages, 100)
            return one.status().counts["recording stopped"]

    assert asyncio.run(scenario()) == 1
    assert "recording stopped: No space left on device" in caplog.text
