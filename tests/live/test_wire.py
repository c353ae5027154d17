"""The wire: the vectors of docs/wire.md, and greetings that are turned away."""

import asyncio
import re
from pathlib import Path

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from gossamer.live.security.signed_bursts import KeptProofs, pack, seal_burst
from gossamer.live.security.signing import Signer
from gossamer.live.transport import wire
from gossamer.live.transport.queues import Parcel, SendQueue
from gossamer.model.values.errors import PeerError
from gossamer.protocols.contract.compact import Writer
from gossamer.protocols.contract.forms import TAGS
from gossamer.protocols.contract.messages import Data, proved
from gossamer.protocols.dissemination.flood import Flood
from gossamer.protocols.dissemination.tree import TreeBurst, TreeData
from gossamer.protocols.dissemination.tree_messages import Prune
from gossamer.systems.spidercast.messages import LeaveNotice
from tests.decoding import PART_CLASSES, decode_frame
from tests.live.conftest import RawPeer, take
from tests.waiting import until

MINE = wire.hello(1, b"127.0.0.1:7400", ("spidercast", "tree"))
DOCUMENT = Path(__file__).parents[2] / "docs" / "wire.md"

VECTORS = {
    "Hello": wire.Hello("gossamer", (2, 3), (), 0x1122334455667788, b"127.0.0.1:7400", ("spidercast", "tree")),
    "Bye": wire.Bye("this node is leaving"),
    "TreeData": TreeData(
        0x0102030405060708, 0x1122334455667788, 1_700_000_000_000_001, 0, 1_700_000_000_000_000, b"1.07"
    ),
    "TreeBurst": TreeBurst(
        0x0102030405060708,
        0x1122334455667788,
        1_700_000_000_000_002,
        0,
        ((1_700_000_000_000_010, b"1.08"), (1_700_000_000_000_020, b"1.09")),
        1_700_000_000_000_001,
    ),
    "LeaveNotice": LeaveNotice(0),
}
SIGNER = Signer(Ed25519PrivateKey.from_private_bytes(bytes(range(32))))
PLAIN = VECTORS["TreeBurst"]
WHOLE = seal_burst(SIGNER, PLAIN.topic, PLAIN.sequence, PLAIN.items, KeptProofs())
SIGNED = msgspec.structs.replace(PLAIN, publisher=SIGNER.node, items=proved(WHOLE.items, WHOLE))
VECTORS |= {"SignedBurst": pack(SIGNED), "Member": pack(SIGNED.messages[1])}


# The frames of one link in version 3, in order.
FRAMES = {
    "First": [VECTORS["TreeData"]],
    "Second": [VECTORS["TreeBurst"], Prune(0x0102030405060708)],
    "Third": [
        TreeData(
            0x0102030405060708,
            0x1122334455667788,
            1_700_000_000_000_004,
            1,
            1_700_000_001_000_000,
            b"1.10",
            1_700_000_000_000_003,
        )
    ],
    "Fourth": [VECTORS["LeaveNotice"], VECTORS["Bye"]],
}


def shown(name, expected):
    """The bytes that the document shows under this heading."""
    found = re.search(rf"^### {name}\n.*?```\n([0-9a-f\s]+)```", DOCUMENT.read_text(), re.MULTILINE | re.DOTALL)
    assert found, f"docs/wire.md has no vector for {name}; it should read {expected.hex(' ')}"
    return bytes.fromhex(found.group(1))


@pytest.mark.parametrize("name", VECTORS)
def test_the_vectors_of_the_document_are_the_bytes_that_nodes_send(name):
    assert shown(name, wire.frame(VECTORS[name])) == wire.frame(VECTORS[name])


def test_the_frames_of_version_3_in_the_document_are_the_bytes_that_nodes_send_and_read():
    queue, read = SendQueue(2**20, Writer()), wire.reader(3, PART_CLASSES)
    queue.version = 3
    for name, messages in FRAMES.items():
        queue.add(Parcel(messages))
        content = queue.take()
        assert shown(f"{name} frame of version 3", content) == content
        assert [message for message in read(content[4:]) if message is not None] == messages


def test_the_document_lists_the_tags_of_one_byte():
    listed = re.findall(r"(\d+) `([a-z_]+)`[,.]", DOCUMENT.read_text())
    assert {name: int(number) for number, name in listed} == TAGS


def test_a_decoded_message_equals_the_encoded_one():
    for message in (VECTORS["TreeData"], VECTORS["TreeBurst"], VECTORS["LeaveNotice"]):
        assert decode_frame(wire.encode(message)) == message


@pytest.mark.parametrize(
    ("greeting", "sentence"),
    [
        (b"GET / HTTP/1.1", "speaks another protocol"),
        (wire.encode(Data(1, 2, 3, 4, 5, b"")), "speaks another protocol"),
        (wire.encode(msgspec.structs.replace(MINE, magic="other", node=2)), "speaks another protocol: 'other'"),
        (wire.encode(msgspec.structs.replace(MINE, versions=(9,), node=2)), r"another version: \[9\]; .* \[2, 3\]"),
        (wire.encode(MINE), "is this node itself"),
        (
            wire.encode(msgspec.structs.replace(MINE, stack=("stan", "tree"), node=2)),
            "runs other protocols: stan / tree; .* spidercast / tree",
        ),
        (wire.encode(wire.Bye("full")), "turned us away: full"),
    ],
)
def test_an_unacceptable_greeting_is_refused_with_a_sentence(greeting, sentence):
    with pytest.raises(PeerError, match=sentence):
        wire.read_hello(greeting, MINE)


def test_a_greeting_that_also_lists_our_version_is_accepted():
    assert wire.read_hello(wire.encode(msgspec.structs.replace(MINE, versions=(1, 2), node=2)), MINE).node == 2


def test_nodes_of_two_versions_talk_in_the_older_one(network):
    async def scenario():
        async with network(1) as (older,):
            sockets = older._running.sockets
            sockets.hello = msgspec.structs.replace(sockets.hello, versions=(2,))
            async with network(2, join=[older.address]) as (newer, newest), older.subscribe("t") as at_older:
                async with newest.subscribe("t") as at_newest:
                    for node in (older, newest):
                        await node.ready("t")
                    await newest.publish("t", b"up")
                    await older.publish("t", b"down")
                    found = [(await take(messages, 1))[0].payload for messages in (at_older, at_newest)]
                    await until(lambda: newest._running.sockets.link(newer.id) is not None)
                    links = [newest._running.sockets.link(each.id) for each in (older, newer)]
                    counts = [node.status().counts for node in (older, newer, newest)]
                    return found, [link.queue.version for link in links], counts

    found, versions, counts = asyncio.run(scenario())
    assert found == [b"up", b"down"]
    assert versions == [2, 3]
    assert not any("read" in reason for each in counts for reason in each)


def test_flood_and_tree_have_different_message_classes():
    assert not set(Flood.MESSAGES) & {TreeData}


def test_a_peer_with_another_wire_version_gets_the_reason_and_is_disconnected(network):
    async def scenario():
        async with network(1) as (node,):
            peer = await RawPeer.greet(node, versions=(7,))
            reason = await peer.goodbye()
            await peer.close()
            await until(lambda: any("another version" in name for name in node.status().counts))
            return reason

    assert "speaks another version: [7]" in asyncio.run(scenario())


def test_a_peer_with_another_system_gets_the_reason_and_is_disconnected(network):
    async def scenario():
        async with network(1) as (node,):
            peer = await RawPeer.greet(node, stack=("stan", "flood"))
            reason = await peer.goodbye()
            await peer.close()
            return reason

    assert asyncio.run(scenario()) == "runs other protocols: stan / flood; this node runs spidercast / tree"
