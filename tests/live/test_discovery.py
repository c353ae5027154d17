"""How nodes find the network: names with many addresses, and a file that is watched."""

import asyncio
import os

import pytest

import gossamer.testing
from gossamer import InputError, Node, SyncNode
from tests.live.conftest import QUICK
from tests.waiting import until, until_now


def linked(node):
    return lambda: bool(node.status().links)


def test_a_name_stands_for_all_its_addresses():
    async def scenario(network):
        async with network.node() as one, network.node(join=one.address) as two:
            network.set_name("peers", [one, two])
            await network.crash(one)
            # One of the two addresses is dead; the other one leads into the network.
            async with network.node(join="peers:7400") as newcomer, two.subscribe("t") as messages:
                await newcomer.publish("t", b"x", timeout=30)
                return (await anext(messages)).payload, sorted(newcomer.status().unanswered) in ([], [one.address])

    assert gossamer.testing.run(scenario) == (b"x", True)


def test_a_name_is_resolved_again_until_a_node_is_found():
    async def scenario(network):
        async with network.node(join="peers:7400") as early:
            await asyncio.sleep(20)
            alone, why = early.status().links, early.status().unanswered
            async with network.node() as late:
                network.set_name("peers", [late])
                began = network.now_seconds
                await until(linked(early))
                return alone, list(why), network.now_seconds - began

    alone, unanswered, seconds = gossamer.testing.run(scenario)
    assert (alone, unanswered) == ([], ["peers:7400"])
    assert seconds < 3


def test_nodes_whose_name_changes_merge_with_the_new_addresses():
    async def scenario(network):
        async with network.node() as one, network.node(join=one.address) as two:
            async with network.node() as three, network.node(join=three.address):
                network.set_name("peers", [one, two])
                async with network.node(join="peers:7400") as between, between.subscribe("t"):
                    await until(linked(between))
                    network.set_name("peers", [three])
                    async with three.subscribe("t") as messages:
                        await until(lambda: between.peers("t"), 300)
                        await between.publish("t", b"x")
                        return (await anext(messages)).payload

    assert gossamer.testing.run(scenario) == b"x"


def test_a_file_of_addresses_is_read_again_when_it_changes(tmp_path):
    path = tmp_path / "peers.txt"
    path.write_text("# nobody yet\n\n")

    async def scenario(network):
        async with network.node(join_file=path) as early, network.node() as late:
            await asyncio.sleep(5)
            assert not early.status().links
            path.write_text(f"{late.address}  # the first\n")
            os.utime(path, ns=(1, 1))
            await until(linked(early))
            path.write_text("not an address")
            os.utime(path, ns=(2, 2))
            await asyncio.sleep(20)
            path.unlink()
            await asyncio.sleep(20)
            return early._discovery.contacts, late.address

    contacts, address = gossamer.testing.run(scenario)
    assert contacts == (address,)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"127.0.0.1:7400\nnowhere\n", "line 2 of .*peers.txt must be HOST:PORT"),
        (b"\xff\xfe", "peers.txt is not text; it should have one HOST:PORT in each line"),
        (b"x" * 1_000_001, "peers.txt has more than 1,000,000 bytes"),
        (None, "cannot read the addresses to join from .*peers.txt: no such file"),
    ],
)
def test_a_wrong_file_is_an_input_error(tmp_path, content, sentence):
    if content is not None:
        (tmp_path / "peers.txt").write_bytes(content)
    with pytest.raises(InputError, match=sentence):
        Node(join_file=tmp_path / "peers.txt")


def test_a_node_on_sockets_joins_through_a_name(tmp_path):
    with SyncNode(settings=QUICK) as one:
        port = one.address.rpartition(":")[2]
        (tmp_path / "peers.txt").write_text(f"localhost:{port}\n")
        for options in ({"join": f"localhost:{port}"}, {"join_file": tmp_path / "peers.txt"}):
            with SyncNode(settings=QUICK, **options) as other:
                until_now(linked(other))
