"""Simulations to compare with the theory: random subscribers and messages, on one overlay or on drawn networks."""

from statistics import mean
from typing import Any

import numpy as np

from gossamer.kernels.sampling import units
from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.overlay import Overlay
from gossamer.model.values.draw import Purpose
from gossamer.model.values.progress import Progress, silent
from gossamer.model.values.run import Run, WorkloadLaw
from gossamer.model.values.time import SECOND_US
from gossamer.simulator.execute import execute
from gossamer.simulator.publications import FIRST_SHARE, LAST_SHARE
from gossamer.systems.gossip.machine import GossipParameters
from gossamer.systems.gossip.population import gossip_events, gossip_on
from gossamer.systems.gossip.wiring import unstructured

U64 = np.uint64
# Chosen: the networks and messages of a check, as many as the paper takes for each of its points.
NETWORKS, EVENTS = 20, 400
# A time to live that stops no message.
_FAR = 1_000_000


def check_gossip(
    law: str | Overlay, node_count: int, subscribers: float, gamma: float, seed: int, progress: Progress = silent
) -> dict[str, Any]:
    """The figures of `gossip_events`, as means over the networks with seeds seed, seed + 1, ..."""
    parameters = GossipParameters(gamma=gamma, ttl=_FAR)
    found = []
    for number in range(NETWORKS):
        overlay = law if isinstance(law, Overlay) else unstructured(law, node_count, seed + number)
        interest = _random_subscribers(node_count, subscribers, seed + number)
        found.append(gossip_events(overlay, interest, parameters, seed + number, EVENTS))
        progress("simulating", number + 1, NETWORKS)
    return {name: mean(figures[name] for figures in found) for name in found[0] if name != "published"}


def check_topics(
    overlay: Overlay, interest: Interest, gamma: float, seed: int, progress: Progress = silent
) -> list[dict[str, float]]:
    """For each topic of a workload, the figures of `EVENTS` messages on the given overlay."""
    parameters = GossipParameters(gamma=gamma, ttl=_FAR)
    found = []
    for topic in range(interest.topic_count):
        found.append(gossip_on(overlay, interest, parameters, seed + topic, np.full(EVENTS, topic)))
        progress("simulating", topic + 1, interest.topic_count)
    return found


# Chosen: a small network, because every copy of a message is an event of the engine, and enough messages to fill
# buffers.
LOAD_NODES, LOAD_EVENTS = 100, 600


def check_load(
    law: str,
    node_count: int,
    subscribers: float,
    gamma: float,
    events_per_second: float,
    places: int,
    handled_per_second: float,
    seed: int,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Simulate machines under load: the share of copies that full buffers lose, and the share of subscribers reached.

    A message costs each node as much in a large network as in a small one, so `events_per_second` is the rate of the whole
    network. Cost: every copy of a message is an event of the engine.
    """
    # With 20 topics, the share of subscribers of a topic is a multiple of a twentieth.
    topics = 20
    each = min(max(1, round(topics * subscribers)), topics)
    run = Run(
        system="unstructured",
        parameters={"degree": law},
        seed=seed,
        workload=WorkloadLaw(nodes=node_count, topics=topics, subscriptions=str(each), popularity="uniform"),
        engine="event",
        until_us=max(1, int(LOAD_EVENTS / events_per_second / (LAST_SHARE - FIRST_SHARE) * SECOND_US)),
        dissemination="gossip",
        dissemination_parameters={
            "gamma": gamma,
            "buffer": places,
            "handle_us": max(1, round(SECOND_US / handled_per_second)),
        },
        event_count=LOAD_EVENTS,
        latency="uniform:5-50ms",
    )
    metrics = execute(run, progress, exact=False).metrics
    return {
        "nodes": node_count,
        "loss": metrics["overflowed_messages"] / max(metrics["data_messages"], 1),
        "subscribers_reached": metrics["delivery_ratio"],
    }


def _random_subscribers(node_count: int, share: float, seed: int) -> Interest:
    """An interest with one topic, which each node follows with this probability."""
    nodes = np.flatnonzero(units(U64(seed), U64(Purpose.WORKLOAD_TOPIC), U64(0), node_count) < share)
    return Interest.from_pairs(nodes, np.zeros(len(nodes), np.int64), node_count, 1)
