"""`gossamer snapshot`: the overlay of running nodes, by name."""

import asyncio
import json
from contextlib import AsyncExitStack

import pytest

from gossamer import InputError, Node, PlanEntry
from gossamer.cli.snapshot import read_statuses
from gossamer.planners.plan import plan
from tests.live.conftest import free_ports
from tests.waiting import until

PLAN = {
    "支付": {"topics": ["цены", "all"], "peers": ["b"]},
    "b": {"topics": ["цены", "all"], "peers": ["支付", "c"]},
    "c": {"topics": ["all"], "peers": ["b"]},
}


def test_a_snapshot_has_the_names_interests_and_links_of_the_nodes_that_were_asked(tmp_path):
    (path := tmp_path / "peers.json").write_text(json.dumps(PLAN))

    async def scenario():
        addresses = {name: f"127.0.0.1:{port}" for name, port in zip(PLAN, free_ports(3), strict=True)}
        async with AsyncExitStack() as stack:
            nodes = []
            for name, entry in PLAN.items():
                node = Node(addresses[name], system="planned", plan=PlanEntry(path, name, addresses))
                nodes.append(await stack.enter_async_context(node))
                for topic in entry["topics"]:
                    await stack.enter_async_context(node.subscribe(topic))
            await until(lambda: [sum(link.kept for link in node.status().links) for node in nodes] == [1, 2, 1])
            # A node learns the name of a peer that dialled it first only when it has dialled that peer itself.
            await until(lambda: all(link.name for node in nodes for link in node.status().links))
            return [node.status() for node in nodes]

    statuses = asyncio.run(scenario())
    workload, overlay, unknown = read_statuses(statuses)
    names = workload.names_of_nodes()
    assert {tuple(sorted((names[u], names[v]))) for u, v in zip(*overlay.links(), strict=True)} == {
        ("b", "c"),
        ("b", "支付"),
    }
    assert workload.names_of_topics() == ["all", "цены"]
    assert unknown == []
    assert plan(workload, keep=overlay).overlay.link_count == 2
    workload, overlay, unknown = read_statuses(statuses[:2])
    assert (workload.interest.node_count, overlay.link_count, unknown) == (2, 1, ["c"])


def test_nodes_without_topics_give_nothing_to_study():
    async def scenario():
        async with Node() as node:
            return node.status()

    with pytest.raises(InputError, match="neither follow nor publish"):
        read_statuses([asyncio.run(scenario())])
