"""Live nodes with keys: TLS, signatures and access rules."""

import asyncio
import time
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec.structs import replace
from typer.testing import CliRunner

from gossamer import InputError, Node, NotAllowed, Security
from gossamer.cli.app import app
from gossamer.live.security.authority import issue, make_authority
from gossamer.live.security.signed_bursts import KeptProofs, pack, seal_burst
from gossamer.live.security.signing import Signer
from gossamer.protocols.contract.messages import proved
from gossamer.protocols.dissemination.tree import TreeBurst, TreeData
from tests.live.conftest import RawPeer, take
from tests.waiting import until


@pytest.fixture
def keys(tmp_path):
    """A function that makes a folder of keys for a name, by one authority unless another is named."""

    def make(name, authority="authority", **options):
        folder = tmp_path / authority
        if not folder.exists():
            make_authority(folder)
        out = tmp_path / f"{authority}-{name}"
        issue(folder, name, out, **options)
        return out

    return make


def node(keys, join=(), **options):
    return Node(join=join, security=Security(keys=keys, **options))


def test_nodes_of_one_authority_connect_over_tls_and_know_each_other_s_names(keys):
    async def scenario():
        async with node(keys("one")) as one, node(keys("other"), [one.address]) as other:
            async with other.subscribe("t") as messages:
                await one.publish("t", b"sealed")
                (message,) = await take(messages, 1)
                return message.payload, message.publisher == one.hex_id, [link.name for link in other.status().links]

    assert asyncio.run(scenario()) == (b"sealed", True, ["one"])


def refused(first=None, second=None):
    """The second node cannot join the first."""

    async def scenario():
        async with node(first) as one, node(second, [one.address]) as other, other.subscribe("t"):
            await until(lambda: "unreachable" in other.status().counts)
            assert not one.status().links
            assert not other.status().links

    asyncio.run(scenario())


def test_a_node_of_another_authority_is_refused(keys, caplog):
    caplog.set_level("INFO")
    refused(keys("one"), keys("mallory", authority="other"))
    assert "its certificate is of another authority" in caplog.text


def test_a_node_without_tls_is_refused_by_a_node_with_tls(keys):
    refused(first=keys("one"))


def test_a_node_with_tls_does_not_connect_without_it(keys, caplog):
    caplog.set_level("INFO")
    refused(second=keys("one"))
    assert "cannot reach" in caplog.text


def test_an_expired_certificate_is_reported_before_the_node_starts(keys, tmp_path):
    make_authority(tmp_path / "authority", now=datetime.now(UTC) - timedelta(days=400))
    folder = keys("one", days=30, now=datetime.now(UTC) - timedelta(days=100))
    with pytest.raises(InputError, match="the certificate expired on"):
        node(folder)


def test_a_node_with_keys_may_listen_on_all_addresses(keys):
    async def scenario():
        async with Node("0.0.0.0:0", advertise="127.0.0.1:9", security=Security(keys=keys("one"))) as node:
            return node.address

    assert asyncio.run(scenario()) == "127.0.0.1:9"


def test_a_strict_node_reads_signed_messages_and_refuses_unsigned_ones(keys, tmp_path):
    async def scenario():
        options = {"security": Security(signatures="strict")}
        async with Node(identity_file=tmp_path / "a", **options) as one:
            async with Node(identity_file=tmp_path / "b", join=[one.address], **options) as other:
                async with other.subscribe("t") as messages:
                    await one.publish("t", b"signed")
                    (message,) = await take(messages, 1)
                    peer = await RawPeer.greet(other, stack=("spidercast", "tree", "signed-bursts"))
                    topic = other._topics.by_name["t"].id
                    peer.send(TreeData(topic, 7, 1, 0, 1, b"\0not signed"))
                    peer.send(TreeData(topic, one.id, message.sequence + 1, 0, 1, b"\0forged"))
                    await peer.writer.drain()
                    await until(lambda: other.status().counts.get("not allowed: it is not signed", 0) == 2)
                    await peer.close()
                    await one.publish("t", b"again")
                    (again,) = await take(messages, 1)
                    return message.payload, again.payload

    assert asyncio.run(scenario()) == (b"signed", b"again")


def test_a_relay_cannot_change_the_publication_time_or_add_a_message_to_a_burst(tmp_path):
    async def scenario():
        options = {"security": Security(signatures="strict")}
        async with Node(identity_file=tmp_path / "a", **options) as one:
            async with Node(identity_file=tmp_path / "b", join=[one.address], **options) as other:
                async with other.subscribe("t") as messages:
                    before = time.time()
                    for number in range(3):
                        await one.publish("t", b"%d" % number)
                    found = await take(messages, 3)
                    peer = await RawPeer.greet(other, stack=("spidercast", "tree", "signed-bursts"))
                    topic = other._topics.by_name["t"].id
                    signer, at_us, number = one._parts.security._signer, 1_000, found[-1].sequence + 1
                    envelopes = [signer.seal((topic,), number + place, b"x", at_us) for place in (0, 1)]
                    peer.send(TreeData(topic, one.id, number, 0, at_us + 1, envelopes[0]))
                    peer.send(TreeBurst(topic, one.id, number, 0, ((at_us, envelopes[0]), (at_us + 1, envelopes[1]))))
                    await peer.writer.drain()
                    await until(lambda: other.status().counts.get("not allowed: its signature is wrong", 0) == 2)
                    peer.send(TreeBurst(topic, one.id, number, 0, tuple((at_us, each) for each in envelopes)))
                    await peer.writer.drain()
                    found += await take(messages, 2)
                    await peer.close()
                    return before, found

    before, found = asyncio.run(scenario())
    assert [message.payload for message in found] == [b"0", b"1", b"2", b"x", b"x"]
    assert all(before <= message.published_at <= before + 60 for message in found[:3])
    assert [message.published_at for message in found[3:]] == [0.001, 0.001]


def test_a_message_on_several_topics_is_signed_for_all_of_them(tmp_path):
    async def scenario():
        options = {"security": Security(signatures="strict")}
        async with Node(identity_file=tmp_path / "a", **options) as one:
            async with Node(identity_file=tmp_path / "b", join=[one.address], **options) as other:
                async with other.subscribe("a") as first, other.subscribe("b") as second:
                    await one.publish(["a", "b"], b"both")
                    return (await take(first, 1))[0].payload, (await take(second, 1))[0].payload

    assert asyncio.run(scenario()) == (b"both", b"both")


FAST = """
[[allow]]
names = ["*"]
publish = ["prices/*"]
subscribe = ["prices/*"]
"""


async def publish_many(node, count, topic="prices/eur"):
    """Publish as fast as possible."""
    for number in range(count):
        await node.publish(topic, b"%d" % number)


def test_messages_travel_in_bursts_under_tls_rules_and_strict_signatures(keys, tmp_path):
    (tmp_path / "rules.toml").write_text(FAST)
    options = {"rules": tmp_path / "rules.toml", "signatures": "strict"}
    count = 3_000

    async def scenario():
        async with AsyncExitStack() as stack:
            feed = await stack.enter_async_context(node(keys("feed"), **options))
            await stack.enter_async_context(feed.publisher("prices/eur"))
            readers = []
            for number in range(3):
                reader = await stack.enter_async_context(node(keys(f"r{number}"), [feed.address], **options))
                readers.append((reader, await stack.enter_async_context(reader.subscribe("prices/eur"))))
            for reader, _ in readers:
                await reader.ready("prices/eur", 3)
            before = [sum(link.frames_in for link in reader.status().links) for reader, _ in readers]
            await publish_many(feed, count)
            found = [[int(message.payload) for message in await take(messages, count)] for _, messages in readers]
            after = [sum(link.frames_in for link in reader.status().links) for reader, _ in readers]
            refused = [name for reader, _ in readers for name in reader.status().counts if "not allowed" in name]
            return found, [last - first for first, last in zip(before, after, strict=True)], refused

    found, frames, refused = asyncio.run(scenario())
    assert found == [list(range(count))] * 3
    assert all(each < count / 4 for each in frames), "a frame carries many messages"
    assert not refused


def test_a_late_subscriber_checks_messages_of_bursts_that_it_fetches_one_by_one(keys, tmp_path):
    async def scenario():
        async with node(keys("feed"), signatures="strict") as feed, feed.publisher("t"):
            async with node(keys("early"), [feed.address], signatures="strict") as early, early.subscribe("t") as first:
                await feed.ready("t")
                await publish_many(feed, 400, "t")
                await take(first, 400)
                async with node(keys("late"), [early.address], signatures="strict") as late:
                    async with late.subscribe("t", last=90) as messages:
                        found = [int(message.payload) for message in await take(messages, 90)]
                        return found, [name for name in late.status().counts if "not allowed" in name]

    assert asyncio.run(scenario()) == (list(range(310, 400)), [])


def test_a_node_that_has_a_message_of_a_burst_takes_the_others_and_passes_them_on_alone(tmp_path):
    """The burst is split: each message travels in an envelope of its own, and the next node can check it."""

    async def scenario():
        options = {"security": Security(signatures="strict")}
        async with Node(identity_file=tmp_path / "a", **options) as relay:
            async with Node(identity_file=tmp_path / "b", join=[relay.address], **options) as end:
                async with relay.subscribe("t") as near, end.subscribe("t") as far:
                    await relay.ready("t")
                    await end.ready("t")
                    topic, signer = relay._topics.by_name["t"].id, Signer(Ed25519PrivateKey.generate())
                    items = tuple((1_000, b"%d" % number) for number in range(6))
                    proof = seal_burst(signer, topic, 100, items, KeptProofs())
                    peer = await RawPeer.greet(relay, stack=("spidercast", "tree", "signed-bursts"))
                    burst = TreeBurst(topic, signer.node, 100, 0, proved(proof.items, proof))
                    peer.send(pack(burst.messages[0]))
                    peer.send(pack(burst))
                    peer.send(replace(pack(burst), sequence=200))
                    peer.send(replace(pack(burst.messages[2]), sequence=300, previous=0))
                    await peer.writer.drain()
                    found = [[message.payload for message in await take(each, 6)] for each in (near, far)]
                    await until(lambda: relay.status().counts.get("not allowed: its signature is wrong", 0) == 2)
                    await peer.close()
                    return found, near.waiting, [name for name in end.status().counts if "not allowed" in name]

    found, waiting, refused = asyncio.run(scenario())
    assert found == [[b"%d" % number for number in range(6)]] * 2
    assert (waiting, refused) == (0, [])


def test_a_validated_topic_splits_signed_bursts_and_loses_nothing(keys):
    async def scenario():
        async with node(keys("feed"), signatures="strict") as feed, feed.publisher("t"):
            async with node(keys("reader"), [feed.address], signatures="strict") as reader:
                seen = []
                reader.validate("t", lambda message: seen.append(message.payload) or True)
                async with reader.subscribe("t") as messages:
                    await feed.ready("t")
                    await publish_many(feed, 300, "t")
                    return [message.payload for message in await take(messages, 300)], seen

    found, seen = asyncio.run(scenario())
    assert found == seen == [b"%d" % number for number in range(300)]


@pytest.mark.parametrize("stack", [{"dissemination": "push-pull"}, {"dissemination": "flood"}, {"system": "stan"}])
def test_signed_bursts_reach_everybody_whatever_spreads_them(keys, stack):
    async def scenario():
        async with AsyncExitStack() as entered:
            nodes, readers = [], []
            for name in ("a", "b", "c"):
                join = [nodes[0].address] if nodes else []
                made = Node(join=join, security=Security(keys=keys(name), signatures="strict"), **stack)
                nodes.append(await entered.enter_async_context(made))
                readers.append(await entered.enter_async_context(nodes[-1].subscribe("t")))
            for each in nodes:
                await each.ready("t")
            await publish_many(nodes[0], 300, "t")
            found = [[message.payload for message in await take(each, 300)] for each in readers[1:]]
            return found, [name for each in nodes for name in each.status().counts if "not allowed" in name]

    assert asyncio.run(scenario()) == ([[b"%d" % number for number in range(300)]] * 2, [])


def test_a_reader_of_its_own_messages_sees_their_content_at_full_speed(keys):
    async def scenario():
        async with node(keys("feed"), signatures="strict") as feed, feed.subscribe("t", own=True) as own:
            async with node(keys("reader"), [feed.address], signatures="strict") as reader:
                async with reader.subscribe("t") as messages:
                    await feed.ready("t")
                    await publish_many(feed, 200, "t")
                    return await take(own, 200), await take(messages, 200)

    own, others = asyncio.run(scenario())
    assert [replace(message, hops=1) for message in own] == others


def test_the_record_of_a_node_with_signed_bursts_can_be_replayed(keys, tmp_path):
    async def scenario():
        async with node(keys("feed"), signatures="strict") as feed, feed.publisher("t"):
            security = Security(keys=keys("reader"), signatures="strict")
            async with Node(join=[feed.address], security=security, record=tmp_path / "r.record") as reader:
                async with reader.subscribe("t") as messages:
                    await feed.ready("t")
                    await publish_many(feed, 300, "t")
                    await take(messages, 300)

    asyncio.run(scenario())
    result = CliRunner().invoke(app, ["replay", str(tmp_path / "r.record")])
    assert result.exit_code == 0, result.output


def test_rules_that_change_while_a_node_runs_take_effect_at_once(keys, tmp_path):
    rules = tmp_path / "rules.toml"
    rules.write_text(FAST)

    async def scenario():
        options = {"signatures": "strict"}
        async with node(keys("feed"), rules=rules, **options) as feed, feed.publisher("prices/eur"):
            async with node(keys("reader"), [feed.address], rules=rules, **options) as reader:
                async with reader.subscribe("prices/eur") as messages:
                    await feed.ready("prices/eur")
                    await publish_many(feed, 300)
                    await take(messages, 300)
                    # The reader may no longer subscribe: the feed sends it nothing, neither alone nor in a burst.
                    rules.write_text(FAST.replace('"*"', '"feed"'))
                    feed.reload_rules()
                    receipt = await feed.publish("prices/eur", b"secret")
                    assert receipt.refused == ((reader.hex_id, "may not subscribe"),)
                    # A wrong file changes nothing.
                    rules.write_text("[[deny]]")
                    with pytest.raises(InputError, match="unknown field `deny`"):
                        feed.reload_rules()
                    assert (await feed.publish("prices/eur", b"secret")).refused
                    # The feed may no longer publish: the reader refuses its bursts.
                    rules.write_text(FAST.replace('"*"', '"reader"'))
                    reader.reload_rules()
                    rules.write_text(FAST)
                    feed.reload_rules()
                    await publish_many(feed, 300)
                    await until(
                        lambda: reader.status().counts.get("not allowed: feed may not publish on prices/eur", 0) >= 2
                    )
                    assert not messages.waiting
                    rules.write_text(FAST.replace('"*"', '"reader"'))
                    feed.reload_rules()
                    with pytest.raises(NotAllowed, match="do not allow feed to publish"):
                        await feed.publish("prices/eur", b"x")
        with pytest.raises(InputError, match="has no file of access rules"):
            node(keys("plain")).reload_rules()

    asyncio.run(scenario())


RULES = """
[[allow]]
names = ["feed-*"]
publish = ["prices/*"]
subscribe = ["prices/*"]

[[allow]]
names = ["reader"]
subscribe = ["prices/*"]

[[allow]]
names = ["mallory"]
publish = ["other/*"]
subscribe = ["other/*"]
"""


def test_the_first_hop_refuses_a_publisher_that_the_rules_do_not_allow(keys, tmp_path, caplog):
    (tmp_path / "rules.toml").write_text(RULES)

    async def scenario():
        async with node(keys("feed-1"), rules=tmp_path / "rules.toml") as feed:
            # The reader applies no rules itself; the other node must.
            async with node(keys("reader"), [feed.address]) as reader, reader.subscribe("prices/eur") as own:
                async with feed.subscribe("prices/eur") as messages:
                    await feed.ready("prices/eur")
                    await reader.ready("prices/eur")
                    await feed.publish("prices/eur", b"allowed")
                    got = (await take(own, 1))[0].payload
                    await reader.publish("prices/eur", b"not allowed")
                    await until(lambda: any("may not publish" in name for name in feed.status().counts))
                    return got, messages.waiting

    assert asyncio.run(scenario()) == (b"allowed", 0)
    assert "message from reader refused: reader may not publish on prices/eur" in caplog.text


def test_a_node_that_may_not_subscribe_is_sent_nothing(keys, tmp_path):
    (tmp_path / "rules.toml").write_text(RULES)

    async def scenario():
        async with node(keys("feed-1"), rules=tmp_path / "rules.toml") as feed, feed.publisher("prices/eur"):
            async with node(keys("mallory"), [feed.address]) as mallory:
                async with mallory.subscribe("prices/eur") as messages:
                    await feed.ready("prices/eur")
                    receipt = await feed.publish("prices/eur", b"secret")
                    return receipt.refused, mallory.hex_id, messages.waiting

    refused, mallory, waiting = asyncio.run(scenario())
    assert refused == ((mallory, "may not subscribe"),)
    assert waiting == 0
