"""Nodes that start from a plan keep its links, and mend them when a peer is gone."""

import asyncio
import json
from contextlib import AsyncExitStack

import pytest

from gossamer import InputError, Node, PlanEntry
from tests.live.conftest import free_ports, take
from tests.waiting import until

# A chain through "all", and a pair in "pair".
LINKS = {("n0", "n1"), ("n1", "n2"), ("n2", "n3"), ("n3", "n4")}
PLAN = {
    name: {
        "topics": ["all", *(["pair"] if name in ("n0", "n1") else [])],
        "peers": [other for link in LINKS if name in link for other in link if other != name],
    }
    for name in ("n0", "n1", "n2", "n3", "n4")
}


async def start(stack, path, names, addresses, system="planned"):
    """Nodes of a plan by name, each following its topics; all join through the plan's first node."""
    nodes = {}
    for name in names:
        node = Node(addresses[name], [addresses["n0"]], system=system, plan=PlanEntry(path, name, addresses))
        nodes[name] = await stack.enter_async_context(node)
        for topic in PLAN[name]["topics"]:
            await stack.enter_async_context(node.subscribe(topic))
    return nodes


def links_of(nodes):
    place = {node.hex_id: name for name, node in nodes.items()}
    return {
        tuple(sorted((name, place[link.node])))
        for name, node in nodes.items()
        for link in node.status().links
        if link.kept and link.node in place
    }


@pytest.mark.parametrize("system", ["planned", "omen-planned"])
def test_a_network_starts_with_the_links_of_its_plan_and_mends_them(tmp_path, system):
    (path := tmp_path / "peers.json").write_text(json.dumps(PLAN))

    async def scenario():
        addresses = {name: f"127.0.0.1:{port}" for name, port in zip(PLAN, free_ports(5), strict=True)}
        async with AsyncExitStack() as stack:
            # Start the nodes of the plan in reverse order: a node waits for peers that have not started.
            nodes = await start(stack, path, ("n4", "n3", "n2", "n1", "n0"), addresses, system)
            # A node that could not reach a peer of its plan may have another link for a moment.
            await until(lambda: links_of(nodes) == LINKS)
            await nodes.pop("n2").stop()
            async with nodes["n4"].subscribe("all") as messages:
                async with asyncio.timeout(20):
                    while not messages.waiting:
                        await nodes["n0"].publish("all", b"x")
                        await asyncio.sleep(0.05)
                return (await take(messages, 1))[0].payload

    assert asyncio.run(scenario()) == b"x"


@pytest.mark.parametrize(
    ("content", "options", "sentence"),
    [
        (None, {}, "cannot read the plan"),
        ("[]", {}, "is not a plan that"),
        (json.dumps(PLAN), {"name": "n9"}, "has no node 'n9'"),
        (json.dumps(PLAN), {"name": "n0"}, "'n1' has no address"),
    ],
)
def test_an_error_in_a_plan_is_reported_in_one_sentence(tmp_path, content, options, sentence):
    path = tmp_path / "peers.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(InputError, match=sentence):
        Node(system="planned", plan=PlanEntry(path, **options))


def test_a_plan_requires_a_system_that_takes_plans(tmp_path):
    with pytest.raises(InputError, match="go together"):
        Node(system="planned")
    with pytest.raises(InputError, match="go together"):
        Node(plan=PlanEntry(tmp_path))
