"""A live network and its simulation agree: the same code on the same interests, over sockets and in virtual time."""

import asyncio
import statistics
from contextlib import AsyncExitStack

import msgspec
import numpy as np
import pytest

from gossamer import Node
from gossamer.kernels.measures import topic_components
from gossamer.live.api.stacks import find_stack
from gossamer.model.arrays.overlay import Overlay
from gossamer.model.values.run import Run, WorkloadLaw
from gossamer.simulator.execute import execute
from gossamer.workloads.interests import make_interests
from tests.live.conftest import audit
from tests.waiting import until

NODES, TOPICS, FOLLOWED, EVENTS = 50, 200, 40, 400
SEEDS = range(1, 6)


async def live(interest, seed, folder):
    """Degrees, hops, one-hop latencies (us) and components of each topic, of a network over sockets at rest."""
    async with AsyncExitStack() as stack:
        nodes, readers = [], []
        for index in range(NODES):
            seeds = [nodes[0].address] if nodes else []
            nodes.append(await stack.enter_async_context(Node(join=seeds, record=folder / f"{index}.record")))
            topics = interest.topics_of(index).tolist()
            readers.append([await stack.enter_async_context(nodes[-1].subscribe(f"t{topic}")) for topic in topics])
        place = {node.hex_id: index for index, node in enumerate(nodes)}
        degrees = []

        def has_settled():
            degrees.append(sum(sum(link.kept for link in node.status().links) for node in nodes))
            return len(degrees) > 400 and len(set(degrees[-400:])) == 1

        await until(has_settled, 120)
        draws = np.random.default_rng(seed)
        expected = 0
        for _ in range(EVENTS):
            publisher = int(draws.integers(NODES))
            topic = int(draws.choice(interest.topics_of(publisher)))
            await nodes[publisher].publish(f"t{topic}", b"x")
            expected += len(interest.nodes_of(topic)) - 1
            await asyncio.sleep(0.01)
        await until(lambda: sum(node.status().delivered for node in nodes) == expected, 30)
        hops, latencies = [], []
        for reader in (reader for each in readers for reader in each):
            while reader.waiting:
                message = await anext(reader)
                hops.append(message.hops)
        for node in nodes:
            for topic in node.status().topics:
                latencies.append(topic.latencies.total_us / max(sum(topic.latencies.counts), 1))
        links = [
            (index, place[link.node]) for index, node in enumerate(nodes) for link in node.status().links if link.kept
        ]
        pairs = np.array(sorted({(min(pair), max(pair)) for pair in links}))
        overlay = Overlay.from_links(pairs[:, 0], pairs[:, 1], NODES)
        return overlay, statistics.mean(hops), statistics.median(latencies) / statistics.mean(hops)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_fifty_live_nodes_and_their_simulation_agree(tmp_path):
    parameters = msgspec.to_builtins(find_stack("spidercast").parameters)
    rows = []
    for seed in SEEDS:
        interest = make_interests(NODES, TOPICS, str(FOLLOWED), "rss", seed)
        (folder := tmp_path / str(seed)).mkdir()
        overlay, hops, hop_us = asyncio.run(live(interest, seed, folder))
        audit(sorted(folder.iterdir()))
        run = Run(
            system="spidercast",
            parameters=parameters,
            seed=seed,
            workload=WorkloadLaw(nodes=NODES, topics=TOPICS, subscriptions=str(FOLLOWED), popularity="rss"),
            engine="event",
            until_us=90_000_000,
            dissemination="tree",
            event_count=EVENTS,
            latency=f"{max(int(hop_us), 1)}us",
        )
        simulated = execute(run)
        rows.append(
            (
                degree(overlay),
                degree(simulated.overlay),
                hops,
                float(np.mean(simulated.tables["deliveries"]["hops"])),
                components(interest, overlay),
                components(interest, simulated.overlay),
            )
        )
    report = "\n".join(str(row[:4]) for row in rows)
    degrees, simulated_degrees, hops, simulated_hops, *_ = zip(*rows, strict=True)
    assert statistics.mean(degrees) == pytest.approx(statistics.mean(simulated_degrees), rel=0.05), report
    assert statistics.mean(hops) == pytest.approx(statistics.mean(simulated_hops), rel=0.10), report
    assert [row[4] for row in rows] == [row[5] for row in rows]


def degree(overlay):
    return float(overlay.degrees.mean())


def components(interest, overlay):
    """The number of components of each topic."""
    arrays = (interest.topic_starts, interest.topic_nodes, overlay.starts, overlay.neighbours)
    return topic_components(*arrays, 0, TOPICS)[0].tolist()
