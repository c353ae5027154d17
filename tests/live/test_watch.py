"""Watching a running node: its records over HTTP; and cutting nodes off."""

import asyncio

import msgspec
import pytest

import gossamer.testing
from gossamer import InputError, Node, Telemetry
from gossamer.live.operations import trace
from gossamer.live.operations.status_server import fetch_watch, serve_status
from gossamer.model.spool.files import SpoolFindings, read_spool
from gossamer.protocols.telemetry import (
    AnyRecord,
    CopyReceived,
    LinkChanged,
    MessageDelivered,
    MessagePublished,
    NodeLeft,
    NodeStarted,
    TopicNamed,
)
from tests.live.conftest import QUICK
from tests.live.test_http import get
from tests.waiting import until


def watched(scenario):
    """Run a scenario with two nodes that follow the same topic; the first one's status is served."""

    async def run():
        async with Node(settings=QUICK) as one, Node(join=[one.address], settings=QUICK) as other:
            async with one.subscribe("prices") as messages, other.subscribe("prices"):
                await other.ready("prices")
                server = await serve_status(one, "127.0.0.1:0")
                try:
                    return await scenario(one, other, server.address, messages)
                finally:
                    await server.close()

    return asyncio.run(run())


def about_messages(answer):
    return [
        record for record in answer.records if isinstance(record, CopyReceived | MessageDelivered | MessagePublished)
    ]


def test_a_watched_node_tells_each_record_once():
    async def scenario(one, other, address, messages):
        first = await fetch_watch(address, 0, 1)
        await other.publish("prices", b"1")
        await one.publish("prices", b"2")
        await anext(messages)
        second = await fetch_watch(address, first.next, 1)
        return one, other, first, second, await fetch_watch(address, second.next, 1)

    one, other, first, second, third = watched(scenario)
    assert first.neighbours == {"prices": [other.hex_id]}
    assert first.status.node == one.hex_id
    assert not about_messages(first)
    topic = first.topics["prices"]
    copy, delivered, published = sorted(about_messages(second), key=lambda record: type(record).__name__)
    assert (copy.sender, copy.publisher, copy.topic, copy.needless) == (other.id, other.id, topic, "")
    assert (delivered.publisher, delivered.sequence) == (other.id, copy.sequence)
    assert (published.node, published.topic) == (one.id, topic)
    assert not about_messages(third)


def test_records_that_nobody_fetched_in_time_are_counted(monkeypatch):
    monkeypatch.setattr(trace, "RECORDS_MAX", 4)

    async def scenario(one, other, address, messages):
        first = await fetch_watch(address, 0, 1)
        for _ in range(10):
            await one.publish("prices", b"2")
        await asyncio.sleep(0)
        answer = await fetch_watch(address, first.next, 1)
        return first, answer

    first, answer = watched(scenario)
    assert len(answer.records) == 4
    assert answer.missed == answer.next - first.next - 4


def test_a_node_that_nobody_watches_any_more_stops_tracing(monkeypatch):
    async def scenario(one, other, address, messages):
        first = await fetch_watch(address, 0, 1)
        monkeypatch.setattr(trace, "FORGOTTEN_US", -1)
        await one.publish("prices", b"2")
        monkeypatch.undo()
        again = await fetch_watch(address, first.next, 1)
        await one.publish("prices", b"3")
        return about_messages(again), about_messages(await fetch_watch(address, again.next, 1))

    forgotten, traced = watched(scenario)
    assert not forgotten
    assert len(traced) == 1


@pytest.mark.parametrize("query", ["after=x", "every=-1", "after=" + "9" * 30])
def test_a_wrong_number_is_a_bad_request(query):
    async def scenario(one, other, address, messages):
        return await get(address, f"/watch?{query}")

    assert watched(scenario)[0].startswith("HTTP/1.1 400")


def test_nodes_that_refuse_each_other_part_and_come_together_when_they_no_longer_do():
    async def scenario(network):
        nodes = [network.node()]
        await nodes[0].start()
        for _ in range(5):
            nodes.append(network.node(join=[nodes[0].address]))
            await nodes[-1].start()
        for node in nodes:
            await node.subscribe("prices").__aenter__()
        halves = nodes[:3], nodes[3:]

        def crossing():
            ids = {node.hex_id for node in halves[1]}
            return [peer for node in halves[0] for peer in node.peers("prices") if peer in ids]

        await until(crossing, 60)
        for mine, theirs in (halves, halves[::-1]):
            for node in mine:
                node.refuse([other.hex_id for other in theirs])
        await until(lambda: not crossing(), 60)
        # Longer than nodes wait before they look for peers that they lost.
        await asyncio.sleep(20)
        assert not crossing()
        assert any(node.status().counts.get("link refused: is cut off") for node in nodes)
        for node in nodes:
            node.refuse([])
        await until(crossing, 120)
        for node in nodes:
            await node.stop()
        return True

    assert gossamer.testing.run(scenario, seed=1)


def test_a_wrong_id_cannot_be_refused():
    async def scenario(one, other, address, messages):
        with pytest.raises(InputError, match="hexadecimal"):
            one.refuse(["nobody"])

    watched(scenario)


def test_a_node_with_telemetry_writes_its_records_with_the_names_of_topics(tmp_path):
    async def run():
        async with Node(settings=QUICK, telemetry=Telemetry(tmp_path / "spool", trace=1)) as one:
            async with Node(join=[one.address], settings=QUICK) as other, one.subscribe("prices") as messages:
                await other.publish("prices", b"1")
                await anext(messages)
                # Somebody watches at the same time.
                assert one.watch().records == []
                await other.publish("prices", b"2")
                await anext(messages)
        return one, other

    one, other = asyncio.run(run())
    findings = SpoolFindings()
    records = list(read_spool(tmp_path / "spool", AnyRecord, findings))
    delivered = [record for record in records if isinstance(record, MessageDelivered)]
    assert [record.publisher for record in delivered] == [other.id, other.id]
    assert TopicNamed(0, 0, delivered[0].topic, "prices") in [
        msgspec.structs.replace(record, at_us=0, node=0) for record in records if isinstance(record, TopicNamed)
    ]
    assert (type(records[0]), type(records[-1])) == (NodeStarted, NodeLeft)
    assert any(isinstance(record, LinkChanged) and record.peer == other.id for record in records)
    assert {record.node for record in records} == {one.id}


@pytest.mark.parametrize("wrong", [0, -2, 3, 100])
def test_a_trace_that_is_no_power_of_two_is_refused(wrong):
    with pytest.raises(InputError, match="power of two"):
        Telemetry("spool", trace=wrong)


def test_a_folder_that_cannot_be_written_is_refused_in_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")

    async def run():
        with pytest.raises(InputError, match="cannot write telemetry to"):
            await Node(telemetry=tmp_path / "file").start()

    asyncio.run(run())
