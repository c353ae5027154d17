"""The audit of the records of live nodes."""

import asyncio

import msgspec
import pytest

from gossamer import Node
from gossamer.live.operations.audit import audit_records
from gossamer.protocols.contract import record as records
from tests.live.conftest import QUICK


@pytest.fixture
def recorded(tmp_path):
    """The records of two live nodes that followed the same topic."""
    paths = [tmp_path / "one.record", tmp_path / "other.record"]

    async def live():
        async with Node(settings=QUICK, record=paths[0]) as one:
            async with Node(join=[one.address], settings=QUICK, record=paths[1]) as other:
                async with one.subscribe("t") as messages, other.subscribe("t"):
                    await other.ready("t")
                    for _ in range(5):
                        await other.publish("t", b"x")
                        await anext(messages)

    asyncio.run(live())
    return paths


def test_records_of_live_nodes_replay_and_pass(gossamer, recorded):
    code, out, _ = gossamer("replay", *recorded, "--json")
    assert code == 0
    found = msgspec.json.decode(out)
    assert [record["difference"] for record in found["records"]] == [None, None]
    assert found["audit"]["breach_count"] == 0
    assert found["audit"]["data_received"] >= found["audit"]["deliveries"] == 5
    assert audit_records(recorded) == []


def test_the_record_of_a_killed_node_counts_up_to_where_it_is_cut_off(gossamer, recorded):
    recorded[0].write_bytes(recorded[0].read_bytes()[:-3])
    code, out, _ = gossamer("replay", *recorded)
    assert code == 0
    assert "one.record ends in the middle of a step" in out


def doctored(path, change):
    """Rewrite a record with changed actions."""
    with path.open("rb") as source:
        header, steps = records.read_record(source)
        content = records.encode_header(header)
        for step in steps:
            actions = change(msgspec.msgpack.decode(step.actions))
            changed = msgspec.structs.replace(step, actions=msgspec.Raw(msgspec.msgpack.encode(actions)))
            content += records.frame(msgspec.msgpack.encode(changed))
    path.write_bytes(content)


def to_a_stranger(actions):
    return [[kind, [99], *rest] if kind == "send" and "data" in rest[0][0] else [kind, to, *rest]
            for kind, to, *rest in actions]  # fmt: skip


def twice(actions):
    return [again for action in actions for again in ([action, action] if action[0] == "deliver" else [action])]


@pytest.mark.parametrize(
    ("place", "change", "sentence"),
    [(1, to_a_stranger, "to 63, which is not its neighbour"), (0, twice, "twice")],
    ids=["a frame to a stranger", "a double delivery"],
)
def test_a_breach_in_a_live_record_is_caught(gossamer, recorded, place, change, sentence):
    doctored(recorded[place], change)
    code, out, _ = gossamer("replay", *recorded)
    assert code == 1
    assert sentence in out
    assert "differs" in out


def test_the_record_of_a_node_that_keeps_its_identity_replays(gossamer, tmp_path):
    async def scenario():
        for run in range(2):
            options = {"identity_file": tmp_path / "identity", "record": tmp_path / f"{run}.record", "settings": QUICK}
            async with Node(**options) as one, one.subscribe("t"), Node(join=[one.address], settings=QUICK) as other:
                await other.publish("t", b"x")

    asyncio.run(scenario())
    code, out, _ = gossamer("replay", tmp_path / "0.record", tmp_path / "1.record", "--json")
    assert code == 0
    assert [record["difference"] for record in msgspec.json.decode(out)["records"]] == [None, None]
