"""Wrong values and wrong order: what a node raises."""

import asyncio
import gc

import pytest

from gossamer import InputError, Limits, Node, NodeStateError, Security
from tests.live.conftest import take


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Node("nowhere"), "`listen` must be HOST:PORT"),
        (lambda: Node("127.0.0.1:99999"), "HOST:PORT"),
        (lambda: Node(join=["x"]), "`join` must be HOST:PORT"),
        (lambda: Node(advertise="x"), "`advertise` must be HOST:PORT"),
        (lambda: Node("0.0.0.0:0"), "give `keys`"),
        (lambda: Node(system="omen", settings={"coverage": 2}), "coverage .lambda. must exceed resilience .L."),
        (lambda: Node(system="spider"), "a live node runs one of"),
        (lambda: Node(dissemination="push"), "did you mean push-pull"),
        (lambda: Node(settings={"margin": "x"}), "margin is 'x'"),
        (lambda: Node(security=Security(signatures="maybe")), "`signatures` must be one of"),
        (lambda: Node(security=Security(signatures="strict")), "`signatures` need a key"),
        (lambda: Node(security=Security(rules="rules.toml")), "`rules` refer to the names in certificates"),
        (lambda: Node().subscribe(""), "must be a non-empty string"),
        (lambda: Node().subscribe("x" * 256), "at most 255 bytes, this one has 256"),
        (lambda: Node().subscribe("x", slow="wait"), "'block' or 'drop'"),
        (lambda: Node().subscribe("x", codec="xml"), "there is no codec 'xml'"),
        (lambda: Node().subscribe("x", last=-1), "must not be negative"),
    ],
)
def test_a_wrong_value_is_an_input_error_that_names_it(make, sentence):
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


def test_a_port_in_use_is_an_input_error():
    async def scenario():
        async with Node() as one:
            with pytest.raises(InputError, match=f"cannot listen on {one.address}: address already in use"):
                await Node(one.address).start()

    asyncio.run(scenario())


def test_a_record_that_cannot_be_opened_is_an_input_error_and_leaves_no_socket_open(tmp_path):
    async def scenario():
        async with Node() as other:
            address = other.address
        node = Node(address, record=tmp_path)
        with pytest.raises(InputError, match=f"cannot write the record {tmp_path}: is a directory"):
            await node.start()
        assert not node.is_running
        async with Node(address):
            pass

    asyncio.run(scenario())


def test_a_damaged_file_of_sequence_numbers_leaves_no_socket_and_no_record_open(tmp_path, recwarn):
    async def scenario():
        async with Node(identity_file=tmp_path / "identity") as other:
            address = other.address
        (tmp_path / "identity.sequence").write_text("x")
        with pytest.raises(InputError, match="must contain the last sequence number"):
            await Node(address, identity_file=tmp_path / "identity", record=tmp_path / "record").start()
        gc.collect()
        async with Node(address):
            pass

    asyncio.run(scenario())
    assert not (tmp_path / "record").exists()
    assert [warning for warning in recwarn if issubclass(warning.category, ResourceWarning)] == []


def test_a_payload_that_is_too_long_is_refused_before_it_is_sent(network):
    async def scenario():
        async with network(2, limits=Limits(payload_bytes=100)) as (one, other), other.subscribe("t"):
            with pytest.raises(InputError, match="101 bytes; 't' takes 100"):
                await one.publish("t", b"x" * 101)

    asyncio.run(scenario())


def test_a_codec_that_encodes_to_something_else_than_bytes_is_an_input_error(network):
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
