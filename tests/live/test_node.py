"""The public node, as its users use it."""

import asyncio
from pathlib import Path

import msgspec
import pytest

import gossamer
from gossamer import InputError, Limits, Node, NodeStateError, Outcome, Security
from tests.live.conftest import QUICK
from tests.waiting import until


async def take(messages, count, seconds=10):
    """The next messages of a subscription."""
    found = []
    async with asyncio.timeout(seconds):
        async for message in messages:
            found.append(message)
            if len(found) == count:
                return found
    return found


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
    assert abs(message.published_at - __import__("time").time()) < 60


def test_messages_of_a_publisher_come_in_order_and_once(network):
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


def test_what_is_published_at_once_travels_in_few_frames_and_its_receipts_and_times_are_its_own(
    network, tmp_path, gossamer
):
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


def test_the_first_message_after_a_pause_leaves_at_once_and_those_behind_it_together(network):
    async def scenario():
        async with network(2) as (one, other), other.subscribe("t") as messages, one.publisher("t") as publisher:
            await one.ready("t")
            await other.ready("t")
            link = one._running.sockets.link(other.id)
            link.flush()
            link._flushed_at = 0.0
            frames = [link.frames_out]
            for _ in range(4):
                await publisher.publish(b"x")
                frames.append(link.frames_out)
            await take(messages, 4)
            return [count - frames[0] for count in frames]

    assert asyncio.run(scenario()) == [0, 1, 1, 1, 1]


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


def test_publishing_on_a_topic_that_is_not_held_opens_it_and_waits(network):
    async def scenario():
        async with network(2) as (one, other), other.subscribe("t") as messages:
            receipt = await one.publish("t", b"x")
            assert one.status().topics[0].publishes
            return receipt.queued, (await take(messages, 1))[0].payload

    assert asyncio.run(scenario()) == (1, b"x")


def test_publishing_where_nobody_listens_says_so_in_time():
    async def scenario():
        async with Node() as one:
            with pytest.raises(TimeoutError, match="0 of 1 wanted neighbours hold 't'"):
                await one.publish("t", b"x", timeout=0.1)

    asyncio.run(scenario())


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


def test_a_payload_that_the_codec_cannot_read_is_counted_and_passed_over(network):
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


@pytest.mark.parametrize("is_async", [False, True], ids=["function", "coroutine"])
def test_a_validator_decides_what_is_delivered_and_passed_on(network, is_async):
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
def test_a_validator_that_is_slower_than_the_publisher_loses_nothing(network, is_async):
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


def test_small_frames_are_limits_that_bursts_keep(network):
    async def scenario():
        limits = Limits(frame_bytes=20_000, payload_bytes=16_000)
        async with network(2, limits=limits) as (one, other), other.subscribe("t") as messages:
            for number in range(200):
                await one.publish("t", b"%d" % number + bytes(1_000))
            return await take(messages, 200), other.status().counts

    found, counts = asyncio.run(scenario())
    assert len(found) == 200
    assert not any("too long" in reason for reason in counts)


def test_a_codec_that_gives_no_bytes_is_said_so_and_harms_nobody(network):
    class Broken:
        def encode(self, value):
            return object()

        def decode(self, payload):
            return payload

    async def scenario():
        async with network(2) as (one, other), other.subscribe("t") as messages:
            await one.publish("t", b"before")
            with pytest.raises(InputError, match="a codec must encode to bytes; this one gave object"):
                await one.publish("t", 1, codec=Broken())
            await one.publish("t", b"after")
            return [message.payload for message in await take(messages, 2)]

    assert asyncio.run(scenario()) == [b"before", b"after"]


def test_ones_own_messages_have_the_times_that_others_see(network):
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


def test_what_was_gathered_goes_before_the_goodbye(network):
    async def scenario():
        async with network(2) as (one, other), other.subscribe("t") as messages:
            await one.publish("t", b"0")
            await take(messages, 1)
            for number in (1, 2, 3):
                await one.publish("t", b"%d" % number)
            one._running.sockets.link(other.id).close("for this test")
            return [message.payload for message in await take(messages, 3)]

    assert asyncio.run(scenario()) == [b"1", b"2", b"3"]


def test_a_validator_that_fails_is_a_message_ignored_not_a_node_lost(network):
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


def test_a_late_subscriber_gets_the_last_messages_if_it_asks(network):
    async def scenario():
        async with network(3) as (one, other, late), other.subscribe("t") as messages:
            for number in range(20):
                await one.publish("t", b"%d" % number)
            await take(messages, 20)
            async with late.subscribe("t", last=5) as caught_up:
                return [message.payload for message in await take(caught_up, 5)]

    assert asyncio.run(scenario()) == [b"15", b"16", b"17", b"18", b"19"]


def test_a_slow_reader_that_drops_loses_the_oldest_and_knows_how_many(network):
    async def scenario():
        async with network(2) as (one, other), other.subscribe("t", slow="drop", queue=10) as messages:
            for number in range(100):
                await one.publish("t", b"%d" % number)
            await until(lambda: messages.dropped == 90)
            return [message.payload for message in await take(messages, 10)], other.status().counts["reader too slow"]

    assert asyncio.run(scenario()) == ([b"%d" % number for number in range(90, 100)], 90)


def test_a_slow_reader_that_blocks_makes_the_publisher_wait_and_loses_nothing(network):
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


def test_a_publisher_that_drops_leaves_slow_links_out_and_its_receipt_says_so(network):
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


def test_a_graceful_leave_is_noticed_at_once(network):
    async def scenario():
        async with network(3) as nodes:
            for node in nodes:
                await node.subscribe("t").__aenter__()
            for node in nodes:
                await node.ready("t", peers=2)
            await nodes[2].stop()
            await until(lambda: all(len(node.peers("t")) == 1 for node in nodes[:2]), 3)

    asyncio.run(scenario())


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


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Node("nowhere"), "`listen` must be HOST:PORT"),
        (lambda: Node("127.0.0.1:99999"), "HOST:PORT"),
        (lambda: Node(join=["x"]), "`join` must be HOST:PORT"),
        (lambda: Node(advertise="x"), "`advertise` must be HOST:PORT"),
        (lambda: Node("0.0.0.0:0"), "give `keys`"),
        (lambda: Node(system="feverfew"), "feverfew is not built yet"),
        (lambda: Node(system="spider"), "a live node runs one of"),
        (lambda: Node(dissemination="push-pull"), "push-pull is not built yet"),
        (lambda: Node(settings={"margin": "x"}), "margin is 'x'"),
        (lambda: Node(security=Security(signatures="maybe")), "signatures must be one of"),
        (lambda: Node(security=Security(signatures="strict")), "signatures need a key"),
        (lambda: Node(security=Security(rules="rules.toml")), "access rules name certificates"),
        (lambda: Node().subscribe(""), "must be a non-empty string"),
        (lambda: Node().subscribe("x" * 256), "at most 255 bytes, this one has 256"),
        (lambda: Node().subscribe("x", slow="wait"), "'block' or 'drop'"),
        (lambda: Node().subscribe("x", codec="xml"), "there is no codec 'xml'"),
        (lambda: Node().subscribe("x", last=-1), "must not be negative"),
    ],
)
def test_what_the_user_got_wrong_is_said_in_a_sentence(make, sentence):
    with pytest.raises(InputError, match=sentence):
        make()


async def enter(entered):
    async with entered:
        pass


USES = [
    lambda node: node.publish("t", b"x"),
    lambda node: enter(node.subscribe("t")),
    lambda node: enter(node.publisher("t")),
    lambda node: node.ready("t"),
]


def test_using_a_node_that_was_not_started_is_a_state_error():
    async def scenario():
        node = Node()
        for use in USES:
            with pytest.raises(NodeStateError, match="was not started"):
                await use(node)
        for use in (node.status, lambda: node.peers("t")):
            with pytest.raises(NodeStateError, match="was not started"):
                use()

    asyncio.run(scenario())


def test_using_a_node_that_was_stopped_is_a_state_error():
    async def scenario():
        async with Node() as node, node.publisher("t"):
            await node.stop()
            for use in USES:
                with pytest.raises(NodeStateError, match="was stopped"):
                    await use(node)
            for use in (node.status, lambda: node.peers("t")):
                with pytest.raises(NodeStateError, match="was stopped"):
                    use()

    asyncio.run(scenario())


def test_a_node_is_started_once():
    async def scenario():
        async with Node() as node:
            with pytest.raises(NodeStateError, match="was started before"):
                await node.start()

    asyncio.run(scenario())


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


def test_a_port_in_use_is_said_in_a_sentence():
    async def scenario():
        async with Node() as one:
            with pytest.raises(InputError, match=f"cannot listen on {one.address}: address already in use"):
                await Node(one.address).start()

    asyncio.run(scenario())


def test_a_payload_that_is_too_long_is_refused_before_it_is_sent(network):
    async def scenario():
        async with network(2, limits=Limits(payload_bytes=100)) as (one, other), other.subscribe("t"):
            with pytest.raises(InputError, match="101 bytes; 't' takes 100"):
                await one.publish("t", b"x" * 101)

    asyncio.run(scenario())


def test_a_topic_may_have_a_limit_of_its_own(network):
    async def scenario():
        async with network(2) as (one, other), other.subscribe("t") as messages:
            other.limit("t", 10)
            await one.publish("t", b"x" * 11)
            await one.publish("t", b"short")
            return (await take(messages, 1))[0].payload, other.status().counts["validator: reject"]

    assert asyncio.run(scenario()) == (b"short", 1)


def test_unreachable_seeds_are_tried_until_they_answer(tmp_path, caplog):
    async def scenario():
        async with Node() as scout:
            address = scout.address
        caplog.set_level("INFO")
        async with Node(join=[address], settings={"heartbeat_us": 100_000}) as one, one.subscribe("t"):
            await until(lambda: one.status().counts.get("unreachable", 0) >= 2)
            async with Node(address) as other, other.subscribe("t"):
                await one.ready("t")

    asyncio.run(scenario())
    assert any("cannot reach" in record.getMessage() for record in caplog.records)


def test_the_facade_loads_each_name_when_it_is_asked_for():
    for name in gossamer.__all__:
        assert getattr(gossamer, name) is not None
    with pytest.raises(AttributeError):
        gossamer.nothing  # noqa: B018


@pytest.mark.parametrize(
    ("system", "dissemination"),
    [("spidercast", "tree"), ("spidercast", "flood"), ("stan", "tree"), ("stan", "flood"), ("gossip", None)],
)
def test_every_system_carries_messages_over_sockets(network, system, dissemination):
    async def scenario():
        settings = {"probe_us": 50_000, "period_us": 100_000} if system == "stan" else QUICK
        options = {"system": system, "dissemination": dissemination, "settings": settings}
        async with network(5, audited=system != "gossip", **options) as nodes:
            readers = [await node.subscribe("t").__aenter__() for node in nodes]
            for node in nodes:
                await node.ready("t")
            # Links may still be on their way; who is not reached yet is reached by a later message.
            async with asyncio.timeout(20):
                waiting = [asyncio.create_task(take(reader, 1, 20)) for reader in readers[1:]]
                while not all(task.done() for task in waiting):
                    await nodes[0].publish("t", b"x")
                    await asyncio.sleep(0.05)
            return [task.result()[0].payload for task in waiting]

    assert asyncio.run(scenario()) == [b"x"] * 4


def test_a_secret_topic_is_another_topic_to_those_without_the_secret(network):
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
def test_a_full_disk_ends_the_record_and_not_the_node(caplog):
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
