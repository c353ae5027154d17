"""A node refuses what its own rules, certificate and validators forbid, where the application asks for it."""

import asyncio
import time

import pytest

import gossamer
from gossamer import Node, NotAllowed, Outcome, Security, SyncNode
from gossamer.live.security.authority import issue, make_authority
from tests.live.conftest import QUICK, take

RULES = """
[[allow]]
names = ["feed"]
publish = ["prices/*"]
subscribe = ["prices/*"]

[[allow]]
names = ["reader"]
subscribe = ["prices/*"]

[[allow]]
names = ["writer"]
publish = ["prices/*"]
"""


@pytest.fixture
def security(tmp_path):
    """A function from the name of a node to its options: keys of one authority, and the rules."""
    make_authority(tmp_path / "authority")
    (tmp_path / "rules.toml").write_text(RULES)

    def make(name, **options):
        if not (tmp_path / name).exists():
            issue(tmp_path / "authority", name, tmp_path / name)
        return {"security": Security(keys=tmp_path / name, rules=tmp_path / "rules.toml", **options), "settings": QUICK}

    return make


NO_RIGHT = "the access rules do not allow reader to publish on 'prices/eur'"


def test_a_publication_that_the_node_s_own_rules_forbid_is_refused_with_the_reason(security):
    async def scenario():
        async with Node(**security("feed")) as feed, feed.subscribe("prices/eur") as messages:
            async with Node(join=[feed.address], **security("reader")) as reader, reader.subscribe("prices/eur"):
                await reader.ready("prices/eur")
                with pytest.raises(NotAllowed, match=NO_RIGHT):
                    await reader.publish("prices/eur", b"x")
                with pytest.raises(NotAllowed, match=NO_RIGHT):
                    async with reader.publisher("prices/eur"):
                        pass
                return reader.status().published, messages.waiting

    assert asyncio.run(scenario()) == (0, 0)


def test_a_forbidden_publication_is_refused_at_once_and_leaves_no_topic_open(security):
    async def scenario():
        async with Node(**security("feed")) as feed:
            for topics in ("news", ["prices/eur", "news"]):
                with pytest.raises(NotAllowed, match="do not allow feed to publish on 'news'"):
                    await feed.publish(topics, b"x", timeout=600)
            return feed.status().topics

    assert asyncio.run(scenario()) == []


def test_a_subscription_that_the_node_s_own_rules_forbid_is_refused_with_the_reason(security):
    async def scenario():
        async with Node(**security("writer")) as writer:
            with pytest.raises(NotAllowed, match="do not allow writer to subscribe to 'prices/eur'"):
                async with writer.subscribe("prices/eur"):
                    pass
            async with writer.publisher("prices/eur"):
                return [(topic.topic, topic.follows) for topic in writer.status().topics]

    assert asyncio.run(scenario()) == [("prices/eur", False)]


def test_a_node_without_asyncio_refuses_forbidden_publications_too(security):
    with SyncNode(**security("reader")) as reader, pytest.raises(NotAllowed, match=NO_RIGHT):
        reader.publish("prices/eur", b"x")


def test_a_node_whose_certificate_expires_while_it_runs_refuses_to_publish(security):
    async def scenario():
        async with Node(**security("feed", signatures="strict")) as feed, feed.publisher("prices/eur"):
            await feed.publish("prices/eur", b"x")
            policy = feed._parts.security._policy
            policy._now = lambda: time.time() + 400 * 86_400
            with pytest.raises(NotAllowed, match="cannot sign messages: the certificate expired on"):
                await feed.publish("prices/eur", b"x")

    asyncio.run(scenario())


@pytest.mark.parametrize("is_async", [False, True], ids=["function", "coroutine"])
def test_a_publication_that_the_node_s_own_validator_refuses_is_not_sent(network, is_async):
    verdicts = {b"good": True, b"bad": Outcome.REJECT, b"dull": Outcome.IGNORE, b"false": False, b"last": None}
    seen = []

    def judge(message):
        seen.append((message.topic, message.publisher, message.sequence))
        return verdicts[message.payload]

    async def judge_later(message):
        await asyncio.sleep(0)
        return judge(message)

    async def scenario():
        async with network(2) as (one, other), other.subscribe("t") as messages, one.publisher("t") as publisher:
            await one.ready("t")
            one.validate("t", judge_later if is_async else judge)
            refused = []
            for payload in verdicts:
                try:
                    await publisher.publish(payload)
                except NotAllowed as error:
                    refused.append(str(error))
            found = await take(messages, 2)
            assert set(seen) == {("t", one.hex_id, 0)}
            return [message.payload for message in found], refused, one.status().published

    payloads, refused, published = asyncio.run(scenario())
    assert (payloads, published) == ([b"good", b"last"], 2)
    assert refused == [
        "the validator of 't' rejects this message; it was not published",
        "the validator of 't' ignores this message; it was not published",
        "the validator of 't' rejects this message; it was not published",
    ]


def test_a_validator_that_fails_on_an_own_message_refuses_it_with_the_error(network):
    def judge(message):
        raise RuntimeError("a bug in the application")

    async def scenario():
        async with network(1) as (one,), one.publisher("t"):
            one.validate("t", judge)
            with pytest.raises(NotAllowed, match=r"failed \(RuntimeError: a bug in the application\)") as refused:
                await one.publish("t", b"x")
            return refused.value.__cause__

    assert isinstance(asyncio.run(scenario()), RuntimeError)


def test_refused_messages_of_a_burst_are_left_out_and_the_others_arrive_in_order(network):
    async def scenario():
        async with network(2) as (one, other), other.subscribe("t") as messages:
            one.validate("t", lambda message: int(message.payload) % 3 != 0)
            await one.publish("t", b"1")
            await take(messages, 1)
            receipts, refused = [], 0
            for number in range(300):
                try:
                    receipts.append(await one.publish("t", b"%d" % number))
                except NotAllowed:
                    refused += 1
            return await take(messages, 200), receipts, refused

    found, receipts, refused = asyncio.run(scenario())
    assert refused == 100
    assert [int(message.payload) for message in found] == [number for number in range(300) if number % 3]
    assert [message.sequence for message in found] == [receipt.sequence for receipt in receipts]


def test_a_publication_is_refused_if_the_node_stops_while_its_validator_waits(network):
    async def scenario():
        async with network(1) as (one,), one.subscribe("t"):
            begun, goes_on = asyncio.Event(), asyncio.Event()

            async def judge(message):
                begun.set()
                await goes_on.wait()

            one.validate("t", judge)
            publishing = asyncio.create_task(one.publish("t", b"x"))
            await begun.wait()
            await one.stop()
            goes_on.set()
            with pytest.raises(gossamer.NodeStateError, match="was stopped"):
                await publishing

    asyncio.run(scenario())


def test_a_validator_and_a_limit_see_the_content_of_a_signed_message_without_its_envelope(tmp_path):
    async def scenario():
        options = {"security": Security(signatures="strict"), "settings": QUICK}
        async with Node(identity_file=tmp_path / "a", **options) as one:
            async with Node(identity_file=tmp_path / "b", join=[one.address], **options) as other:
                seen = []
                for node in (one, other):
                    node.validate("t", lambda message: seen.append(message.payload))
                    node.limit("t", 10)
                async with other.subscribe("t") as messages:
                    await one.publish("t", b"ten bytes.")
                    (message,) = await take(messages, 1)
                    return message.payload, seen

    assert asyncio.run(scenario()) == (b"ten bytes.", [b"ten bytes.", b"ten bytes."])


def test_a_validator_that_fails_on_every_message_does_not_fill_the_log(network, caplog):
    def judge(message):
        raise RuntimeError("a bug in the application")

    async def scenario():
        async with network(2) as (one, other), other.subscribe("t"):
            other.validate("t", judge)
            for number in range(20):
                await one.publish("t", b"%d" % number)
            async with asyncio.timeout(10):
                while other.status().counts.get("validator: ignore", 0) < 20:
                    await asyncio.sleep(0.005)

    asyncio.run(scenario())
    (record,) = [record for record in caplog.records if "validator of t failed" in record.getMessage()]
    assert "a bug in the application" in str(record.exc_info[1])


SIDES = """
[[allow]]
names = ["desk"]
publish = ["convert"]
subscribe = ["convert/replies"]

[[allow]]
names = ["service"]
publish = ["convert/replies"]
subscribe = ["convert", "convert/replies"]
"""


def test_rules_tell_nodes_that_ask_from_nodes_that_reply(security, tmp_path):
    async def scenario():
        desk, service = security("desk"), security("service")
        (tmp_path / "rules.toml").write_text(SIDES)
        async with Node(**service) as replier, Node(join=replier.address, **desk) as asker:
            async with replier.replies("convert") as requests:
                asked = asyncio.create_task(asker.request("convert", b"1", timeout=10))
                await (await anext(requests)).reply(b"2")
                with pytest.raises(NotAllowed, match="do not allow service to publish on 'convert'"):
                    await replier.request("convert", b"1")
                with pytest.raises(NotAllowed, match="do not allow desk to publish on 'convert/replies'"):
                    await asker.replies("convert").__aenter__()
                return (await asked).payload

    assert asyncio.run(scenario()) == b"2"
