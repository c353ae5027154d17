"""Attacks of peers, one for each bound: the node keeps serving other nodes."""

import asyncio
import os
import subprocess
import sys

import msgspec
import pytest

from gossamer import Limits, Node
from gossamer.live.transport import wire
from gossamer.live.transport.queues import Parcel
from gossamer.protocols.contract.compact import CACHED_MAX, NUMBERS, PublisherNumber, TopicNumber
from gossamer.protocols.contract.messages import BURST_MAX, Data, Peer
from gossamer.protocols.dissemination.tree import TreeBurst, TreeData
from gossamer.protocols.membership.cyclon_messages import Join, JoinWalk, ShuffleRequest
from gossamer.protocols.membership.cyclon_view import ViewEntry
from gossamer.systems.spidercast.messages import ConnectOk, ConnectRequest, Heartbeat
from tests.live.conftest import RawPeer, framed, take
from tests.waiting import until


async def still_serves(node):
    """Whether a new honest node can send a message to the attacked node."""
    async with Node(join=[node.address]) as other, other.subscribe("honest") as messages:
        await node.publish("honest", b"x")
        async with asyncio.timeout(10):
            async for message in messages:
                return message.payload == b"x"
    return False


def attack(network, limits, act):
    """Run an attack on a node, check that it still serves others, and return its counts."""

    async def scenario():
        async with network(1, limits=limits) as (node,):
            result = await act(node)
            assert await still_serves(node)
            return result, node.status().counts

    return asyncio.run(scenario())


def test_a_peer_that_sends_no_greeting_is_disconnected_after_a_timeout(network):
    async def act(node):
        peer = await RawPeer.dial(node.address)
        assert isinstance(await peer.read(), wire.Hello)
        return await peer.goodbye()

    reason, counts = attack(network, Limits(handshake_seconds=0.1), act)
    assert reason == "no greeting came in time"
    assert counts["link refused: no greeting came in time"] == 1


def test_a_peer_that_sends_http_is_disconnected_at_once(network):
    async def act(node):
        peer = await RawPeer.dial(node.address)
        peer.writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        return await peer.goodbye()

    reason, counts = attack(network, Limits(), act)
    assert reason == "speaks another protocol: its first bytes are no frame"
    assert counts["link refused: speaks another protocol"] == 1


def test_a_frame_that_is_too_long_ends_the_link_before_it_is_read(network):
    async def act(node):
        peer = await RawPeer.greet(node)
        peer.writer.write((100_001).to_bytes(4, "big"))
        return await peer.goodbye()

    reason, counts = attack(network, Limits(frame_bytes=100_000), act)
    assert reason == "frame too long"
    assert counts["link refused: frame too long"] == 1


@pytest.mark.parametrize("seed", range(3))
def test_random_frames_are_counted_and_then_the_link_ends(network, seed):
    async def act(node):
        peer = await RawPeer.greet(node)
        for _ in range(200):
            body = os.urandom(40)
            peer.writer.write(len(body).to_bytes(4, "big") + body)
        return await peer.goodbye()

    reason, counts = attack(network, Limits(offences=50), act)
    assert reason == "too many frames that cannot be read"
    assert counts["frames that could not be read"] == 50


def listed(*forms):
    """A frame with these values, as they are."""
    body = msgspec.msgpack.encode(forms)
    return len(body).to_bytes(4, "big") + body


def honest_data(node, publisher):
    """A frame that defines the numbers 3 and 5, and a message on the node's topic that uses them."""
    topic = node._topics.by_name["t"].id
    return listed(TopicNumber(3, topic), PublisherNumber(5, publisher, 100, 1_000), (3, 3, 5, 1, 0, 7, b"x"))


@pytest.mark.parametrize(
    "form",
    [(3, 4, 5, 1, 0, 7, b"x"), (3, 3, 6, 1, 0, 7, b"x"), (5, ((3, 1_023, 9),))],
    ids=["topic", "publisher", "name"],
)
def test_a_number_that_was_never_defined_costs_its_frame_and_then_the_link(network, form):
    async def act(node):
        async with node.subscribe("t") as messages:
            peer = await RawPeer.greet(node)
            peer.send(connect(node._topics.by_name["t"].id))
            await until(lambda: node.peers("t"))
            peer.writer.write(honest_data(node, 2**60))
            [message] = await take(messages, 1)
            # The second message of the frame would be fine; a frame is dropped as a whole.
            peer.writer.write(listed(form, (3, 3, 5, 2, 0, 7, b"y", 1)))
            await until(lambda: node.status().counts.get("frames with undefined numbers"))
            peer.writer.write(listed((3, 3, 5, 2, 0, 7, b"z", 1)))
            [later] = await take(messages, 1)
            for _ in range(200):
                peer.writer.write(listed(form))
            return (message.payload, message.sequence, later.payload, later.sequence), await peer.goodbye()

    (received, reason), counts = attack(network, Limits(offences=50), act)
    assert received == (b"x", 101, b"z", 102)
    assert reason == "too many frames that cannot be read"
    assert counts["frames with undefined numbers"] >= 50
    assert counts["frames that could not be read"] == 50


@pytest.mark.parametrize(
    "form",
    [
        (0, 1_024, 2**60),
        (0, -1, 2**60),
        (0, 3, 0),
        (0, 3, -5),
        (0, 3, b"topic"),
        (1, 1_024, 2**60, 0, 0),
        (1, 5, 2**60, -1, 0),
        (1, 5, 2**60, 2**62 + 1, 0),
        (1, 5, 2**60, 0, 2**63),
        (1, 5, 2**60),
    ],
    ids=str,
)
def test_an_absurd_definition_is_refused_and_changes_no_other(network, form):
    async def act(node):
        async with node.subscribe("t") as messages:
            peer = await RawPeer.greet(node)
            peer.send(connect(node._topics.by_name["t"].id))
            await until(lambda: node.peers("t"))
            peer.writer.write(honest_data(node, 2**60) + listed(form))
            await until(lambda: node.status().counts.get("unreadable frames"))
            peer.writer.write(listed((3, 3, 5, 2, 0, 7, b"y", 1)))
            return [message.payload for message in await take(messages, 2)]

    received, counts = attack(network, Limits(), act)
    assert received == [b"x", b"y"]
    assert counts["unreadable frames"] == 1


def test_differences_that_lead_out_of_bounds_are_refused(network):
    forms = [
        (3, 3, 5, -101, 0, 7, b"x"),
        (3, 3, 5, 2**62, 0, 7, b"x"),
        (3, 3, 5, 1, 0, -1_001, b"x"),
        (3, 3, 5, 1, 0, 7, b"x", 102),
        (3, 3, 5, 1, 0, 7, b"x", -(2**62)),
        (4, 3, 5, 2**62 - 300, 0, ((7, b"x"),)),
    ]

    async def act(node):
        async with node.subscribe("t") as messages:
            peer = await RawPeer.greet(node)
            peer.send(connect(node._topics.by_name["t"].id))
            await until(lambda: node.peers("t"))
            peer.writer.write(b"".join([honest_data(node, 2**60), *map(listed, forms)]))
            await until(lambda: node.status().counts.get("unreadable frames", 0) >= len(forms))
            return [message.payload for message in await take(messages, 1)]

    received, counts = attack(network, Limits(), act)
    assert received == [b"x"]
    assert counts["unreadable frames"] == len(forms)


def test_definitions_of_a_peer_take_a_bounded_number_of_bytes_and_count_as_messages(network):
    async def act(node):
        peer = await RawPeer.greet(node)
        for round_ in range(1, 6):
            topics = [TopicNumber(number, 2**60 + number * round_) for number in range(NUMBERS)]
            publishers = [PublisherNumber(number, 2**61 + number * round_, 5, 5) for number in range(NUMBERS)]
            peer.writer.write(listed(*topics) + listed(*publishers))
        await until(lambda: sum(link.frames_in for link in node.status().links) >= 10)
        await until(lambda: node.status().counts.get("too many frames"))
        read = node._running.sockets.link(7)._read
        tables = [cell.cell_contents for cell in read.__closure__ if hasattr(cell.cell_contents, "define")]
        return [(len(table.known), len(table) <= CACHED_MAX) for table in tables]

    tables, _ = attack(network, Limits(frames_per_second=5_000), act)
    assert tables == [(NUMBERS, True)] * 2


def test_a_truncated_frame_is_dropped_when_its_link_ends(network):
    async def act(node):
        peer = await RawPeer.greet(node)
        peer.writer.write(framed(TreeData(1, 2, 3, 4, 5, b"x" * 100))[:50])
        await peer.writer.drain()
        await peer.close()
        await until(lambda: not node.status().links)

    attack(network, Limits(), act)


def test_links_of_strangers_beyond_the_bound_close_the_link_that_was_idle_longest(network):
    async def act(node):
        peers = [await RawPeer.greet(node, identity=100 + index) for index in range(12)]
        await until(lambda: len(node.status().links) <= 8)
        closed = [index for index, peer in enumerate(peers) if (await closing(peer))]
        return closed

    async def closing(peer):
        try:
            async with asyncio.timeout(0.2):
                return await peer.goodbye() == "too many links"
        except TimeoutError:
            return False

    closed, counts = attack(network, Limits(strangers=8), act)
    assert closed == [0, 1, 2, 3]
    assert counts["links closed: too many"] >= 4


def test_links_that_claim_the_id_of_a_neighbour_count_against_the_bound(network):
    async def scenario():
        async with network(2, limits=Limits(strangers=8)) as (node, other), other.subscribe("t") as messages:
            await node.publish("t", b"before")
            peers = [await RawPeer.greet(node, identity=other.id) for _ in range(40)]
            await until(lambda: node.status().counts.get("link refused: has a link already", 0) >= 39)
            await until(lambda: len(node._running.sockets._links) <= 4)
            await node.publish("t", b"after")
            received = [message.payload for message in await take(messages, 2)]
            assert await still_serves(node)
            for peer in peers:
                await peer.close()
            return received

    assert asyncio.run(scenario()) == [b"before", b"after"]


def test_a_silent_link_is_replaced_by_a_newer_link_with_the_same_id(network):
    async def act(node):
        older = await RawPeer.greet(node)
        await until(lambda: len(node.status().links) == 1)
        # Make the older link look silent for longer than a greeting may take.
        node._running.sockets.link(7).read_at -= 10
        newer = await RawPeer.greet(node)
        reason = await older.goodbye()
        await until(lambda: [link.node for link in node.status().links] == [f"{7:016x}"])
        await newer.close()
        return reason

    reason, counts = attack(network, Limits(), act)
    assert reason == "replaced by a newer link"
    assert counts["links closed: replaced by a newer one"] == 1


def test_a_greeting_that_is_longer_than_any_real_one_is_refused_before_it_is_read(network):
    async def act(node):
        peer = await RawPeer.dial(node.address)
        peer.writer.write((wire.HELLO_BYTES + 1).to_bytes(4, "big"))
        return await peer.goodbye()

    reason, counts = attack(network, Limits(), act)
    assert reason == "speaks another protocol: its first bytes are no frame"
    assert counts["link refused: speaks another protocol"] == 1


def test_unfinished_frames_of_strangers_take_a_bounded_number_of_bytes(network):
    async def act(node):
        sockets, most, peers = node._running.sockets, 0, []
        for index in range(50):
            peer = await RawPeer.greet(node, identity=100 + index)
            peers.append(peer)
            peer.writer.write((1_000_000).to_bytes(4, "big") + b"." * 100_000)
            await peer.writer.drain()
            most = max(most, sockets.unfinished_bytes)
        await until(lambda: "link refused: too many unfinished frames" in node.status().counts)
        await until(lambda: sockets.unfinished_bytes <= 1_000_000)
        for peer in peers:
            await peer.close()
        return max(most, sockets.unfinished_bytes)

    most, counts = attack(network, Limits(unfinished_bytes=1_000_000), act)
    # One read may exceed the bound before a link closes.
    assert most <= 1_000_000 + 64 * 1024
    assert counts["link refused: too many unfinished frames"] >= 39


# A node in a process of its own: its peak memory, in KiB, is what it prints after its input ends.
ATTACKED = """
import asyncio, resource, sys
from gossamer import Node

async def main():
    async with Node() as node:
        print(node.address, flush=True)
        await asyncio.to_thread(sys.stdin.read)
        refused = node.status().counts.get("link refused: too many unfinished frames", 0)
        print(refused, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)

asyncio.run(main())
"""


@pytest.mark.slow
def test_a_node_takes_less_than_100_mb_while_512_strangers_send_a_megabyte_of_an_unfinished_frame():
    node = subprocess.Popen([sys.executable, "-c", ATTACKED], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    async def send(address, identity):
        """Send all but the end of a frame; whether the node took all of it before it closed the link."""
        peer = await RawPeer.dial(address)
        greeting = wire.Hello(wire.MAGIC, wire.VERSIONS, (), identity, b"127.0.0.1:1", ("spidercast", "tree"))
        peer.writer.write(wire.frame(greeting))
        peer.writer.write((1_048_000).to_bytes(4, "big") + b"." * 1_040_000)
        try:
            await peer.writer.drain()
        except ConnectionError:
            return peer, False
        return peer, True

    async def strangers(address):
        async with asyncio.timeout(120):
            sent = [await send(address, 1_000 + index) for index in range(512)]
            for peer, _ in sent:
                await peer.close()
            return sum(is_taken for _, is_taken in sent)

    try:
        taken = asyncio.run(strangers(node.stdout.readline().strip()))
        refused, peak_kib = map(int, node.communicate(timeout=30)[0].split())
    finally:
        node.kill()
        node.wait()
    assert peak_kib * 1024 < 100_000_000
    assert taken > 400, "the strangers did send their frames"
    assert refused > 400


def test_a_flood_of_frames_is_read_no_faster_than_allowed(network):
    async def act(node):
        peer = await RawPeer.greet(node)
        started = asyncio.get_running_loop().time()
        frames = framed(Heartbeat(0, 0, 0)) * 100
        for _ in range(300):
            peer.writer.write(frames)
            await peer.writer.drain()
        await until(lambda: sum(link.frames_in for link in node.status().links) >= 30_000)
        await peer.close()
        return asyncio.get_running_loop().time() - started

    seconds, counts = attack(network, Limits(frames_per_second=10_000), act)
    # The budget of the first second is free. The test reads a clock because the bound is a rate.
    assert seconds > 0.9
    assert counts["too many frames"] >= 1


def test_each_message_of_a_burst_counts_as_a_frame(network):
    async def act(node):
        peer = await RawPeer.greet(node)
        frame = framed(TreeBurst(9, 8, 1, 0, ((0, b""),) * BURST_MAX))
        for _ in range(100):
            peer.writer.write(frame)
            await peer.writer.drain()
        await until(lambda: sum(link.frames_in for link in node.status().links) >= 100)
        await peer.close()

    # 25,600 messages of a topic that the node does not hold, in 100 frames.
    _, counts = attack(network, Limits(frames_per_second=10_000), act)
    assert counts["too many frames"] >= 1
    assert counts["misbehaved: sent a topic that this node does not hold"] == 100


def test_a_peer_that_never_reads_is_refused_frames_and_the_others_are_served(network):
    """The queue towards it stays bounded, publishers stop waiting for it, and its link ends."""

    async def scenario():
        limits = Limits(queue_bytes_slow=50_000, queue_bytes=200_000, patience_seconds=0.2, stuck_seconds=0.6)
        async with network(2, limits=limits, audited=False) as (node, other):
            async with node.publisher("t"), other.subscribe("t") as messages:
                await node.ready("t")
                topic = node._topics.by_name["t"].id
                peer = await RawPeer.greet(node)
                peer.writer.transport.pause_reading()
                peer.send(connect(topic))
                await until(lambda: len(node.peers("t")) == 2)
                numbers = []

                async def read():
                    async for message in messages:
                        numbers.append(int(message.payload[:8]))
                        if len(numbers) == 400:
                            return

                reading = asyncio.create_task(read())
                queued = []
                async with asyncio.timeout(30):
                    for number in range(400):
                        await node.publish("t", b"%08d" % number + b"." * 50_000)
                        queued += [link.queued_bytes for link in node.status().links if link.node == f"{7:016x}"]
                    await reading
                await until(lambda: f"{7:016x}" not in [link.node for link in node.status().links])
                return numbers, max(queued), node.status().counts

    numbers, most, counts = asyncio.run(scenario())
    assert numbers == list(range(400))
    assert most < 400_000
    assert counts["refused: peer does not read"] > 0


def connect(*topics):
    """A CONNECT of SpiderCast as this build writes it."""
    return ConnectRequest(task=0, degree=0, target=1, interest=topics, address=b"127.0.0.1:1")


def test_names_of_nodes_that_cannot_be_reached_cost_a_bounded_number_of_dials(network):
    async def act(node):
        peer = await RawPeer.greet(node)
        peer.send(ShuffleRequest(tuple(ViewEntry(100 + index, 0, b"127.0.0.1:%d" % (1 + index)) for index in range(8))))
        for index in range(300):
            peer.send(JoinWalk(Peer(10_000 + index, b"127.0.0.1:9"), 0, 1))
        await peer.writer.drain()
        most = 0

        def is_done():
            nonlocal most
            most = max(most, len(node._running.sockets._dialler._dials))
            return node.status().counts.get("unreachable", 0) and not node._running.sockets._dialler._dials

        await until(is_done)
        await peer.close()
        return most

    most, counts = attack(network, Limits(dials=4, dial_frames=8), act)
    assert most <= 4
    assert counts["frames lost: too many dials"] > 0
    assert counts["frames lost: too much waits for a dial"] > 0


class ThirdParty:
    """A server that counts the connections to it and says nothing."""

    def __init__(self):
        self.count = 0

    async def __aenter__(self):
        self.server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.address = b"127.0.0.1:%d" % self.server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *exception):
        self.server.close()

    def _accept(self, reader, writer):
        self.count += 1
        writer.close()


def test_joins_with_the_address_of_a_third_party_cause_one_dial_to_it(network):
    async def scenario():
        async with network(4) as nodes, ThirdParty() as victim:
            await until(lambda: all(node.status().links for node in nodes))
            peer = await RawPeer.greet(nodes[0])
            for index in range(100):
                peer.send(Join(Peer(7, victim.address)))
                peer.send(Join(Peer(1_000 + index, victim.address)))
            await peer.writer.drain()
            await until(lambda: nodes[0].status().counts.get("newcomers that do not listen at their address"))
            await until(lambda: "misbehaved: asks to introduce another node" in nodes[0].status().counts)
            # A newcomer after the attack proves that the walks that the attack started, if any, have ended.
            assert await still_serves(nodes[0])
            await peer.close()
            return victim.count

    assert asyncio.run(scenario()) == 1


def test_walks_of_newcomers_with_unknown_addresses_cause_a_bounded_rate_of_dials(network):
    async def act(node):
        async with ThirdParty() as victim:
            peer = await RawPeer.greet(node)
            for index in range(300):
                peer.send(JoinWalk(Peer(10_000 + index, victim.address), 0, 0))
            await peer.writer.drain()
            await until(lambda: "refused: too many dials to new addresses" in node.status().counts)
            await until(lambda: not node._running.sockets._dialler._dials)
            await peer.close()
            return victim.count

    dials, _ = attack(network, Limits(new_dials=10), act)
    # Ten at once, and a few more if the frames arrive over a longer time.
    assert 1 <= dials <= 30


def test_unrequested_answers_and_claims_of_a_peer_have_no_effect(network):
    async def act(node):
        peer = await RawPeer.greet(node)
        peer.send(ConnectOk(0, 1, 1, (1, 2, 3)))
        peer.send(Data(1, 2, 3, 4, 5, b"not held"))
        peer.send(TreeData(1, 2, 3, 4, 5, b"not held"))
        await peer.writer.drain()
        await until(lambda: "misbehaved: sent a topic that this node does not hold" in node.status().counts)
        await peer.close()
        return [link.kept for link in node.status().links]

    kept, counts = attack(network, Limits(), act)
    assert not any(kept)
    # A message of flooding cannot be decoded by a node whose stack has no flooding.
    assert counts["unreadable frames"] == 1


def test_a_node_uses_its_open_link_for_further_messages_to_a_contact_known_by_address_alone(network):
    async def scenario():
        async with network(1) as (node,):
            async with Node(join=[node.address]) as other:
                sockets = other._running.sockets
                await until(lambda: sockets.link(node.id))
                for _ in range(5):
                    assert sockets.send(other.id, 0, node.address.encode(), Parcel(())) is None
                assert not sockets._dialler._dials
                return node.status().counts

    assert "link refused: has a link already" not in asyncio.run(scenario())
