"""Nodes that start from a plan keep its links, and mend them when a peer is gone."""

import asyncio
import json
import subprocess
import sys
from contextlib import AsyncExitStack

import pytest

from gossamer import InputError, Node, PlanEntry
from gossamer.live.fleet.network import read_members
from gossamer.live.operations.settings import node_settings
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


def test_a_network_runs_from_a_plan_with_the_names_of_its_nodes_and_topics(tmp_path):
    plan = {
        "支付": {"topics": ["заказы", "цены"], "publishes": ["цены"], "peers": ["orders"]},
        "orders": {"topics": ["заказы", "цены"], "peers": ["支付", "third"]},
        "third": {"topics": ["заказы"], "peers": ["orders"]},
    }
    (tmp_path / "peers.json").write_text(json.dumps(plan))
    arguments = [sys.executable, "-m", "gossamer", "up", "--plan", tmp_path, "--rate", "50", "--seconds", "1"]
    done = subprocess.run(
        [*arguments, "--out", tmp_path / "out", "--json"], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["node_with_most_links"] in plan
    assert found["messages_published"] > 20
    assert found["delivered"] == sum(phase["expected"] for phase in found["phases"])
    assert {member.name for member in read_members(tmp_path / "out")} == set(plan)


def test_a_node_started_by_name_follows_its_topics_and_shows_names_in_its_status(tmp_path):
    (path := tmp_path / "peers.json").write_text(json.dumps(PLAN))

    async def scenario():
        ports = free_ports(2)
        addresses = {f"n{place}": f"127.0.0.1:{port}" for place, port in enumerate((*ports, 1, 2, 3))}
        async with AsyncExitStack() as stack:
            nodes = []
            for name in ("n0", "n1"):
                content = {"listen": addresses[name], "system": "planned", "plan": str(path), "name": name}
                settings = node_settings({**content, "addresses": addresses}, "here")
                nodes.append(await stack.enter_async_context(settings.node()))
                for topic in settings.topics()[0]:
                    await stack.enter_async_context(nodes[-1].subscribe(topic))
            await until(lambda: [link.name for link in nodes[0].status().links] == ["n1"])
            status = nodes[0].status()
            return status.name, {topic.topic for topic in status.topics}

    assert asyncio.run(scenario()) == ("n0", {"all", "pair"})
