"""Live nodes with keys: TLS, signatures and access rules."""

import asyncio
import time
from datetime import UTC, datetime, timedelta

import pytest

from gossamer import InputError, Node, Security
from gossamer.live.security.authority import issue, make_authority
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
                    peer = await RawPeer.greet(other, stack=("spidercast", "tree", "signed"))
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
                    peer = await RawPeer.greet(other, stack=("spidercast", "tree", "signed"))
                    topic = other._topics.by_name["t"].id
                    signer, at_us, number = one._parts.security.signer, 1_000, found[-1].sequence + 1
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
