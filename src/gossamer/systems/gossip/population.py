"""Disseminates many messages by gossip over an overlay that does not change, with the kernel."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gossamer.kernels.sampling import draws
from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.overlay import Overlay
from gossamer.model.values.draw import Purpose
from gossamer.model.values.errors import InputError
from gossamer.model.values.ids import Role
from gossamer.systems.gossip.kernel import disseminate_many
from gossamer.systems.gossip.machine import GossipParameters

U64 = np.uint64


def gossip_events(
    overlay: Overlay, interest: Interest, parameters: GossipParameters, seed: int, event_count: int
) -> dict[str, Any]:
    """The figures of `event_count` messages, each by a random node on a random topic.

    If the workload names publishers, topics are those that have a publisher, and nodes are publishers of the topic.
    """
    if parameters.handle_us:
        raise InputError("`handle_us` needs virtual time; set `until_us`, or leave `handle_us` at 0")
    if event_count < 1:
        raise InputError("a dissemination on a static overlay needs at least one message; set `event_count`")
    published = np.flatnonzero(_with_role(interest, Role.PUBLISHES).popularity)
    choice = published if len(published) else np.arange(interest.topic_count)
    topics = choice[_places(seed, Purpose.PUBLISH_TOPIC, event_count, len(choice))]
    return {"published": event_count, **gossip_on(overlay, interest, parameters, seed, topics)}


def gossip_on(
    overlay: Overlay, interest: Interest, parameters: GossipParameters, seed: int, topics: NDArray[np.int64]
) -> dict[str, float]:
    """The figures of one message on each of these topics, by random publishers; by any node if a topic has none."""
    event_count = len(topics)
    publishers = _publishers(interest, seed, topics)
    interest = _with_role(interest, Role.FOLLOWS)
    rows = disseminate_many(
        U64(seed),
        publishers,
        np.arange(event_count),
        topics,
        interest.topic_starts,
        interest.topic_nodes,
        overlay.starts,
        overlay.neighbours,
        parameters.gamma,
        parameters.ttl,
    )
    reached, subscribers, messages, hops = rows.T
    holders = interest.popularity[topics]
    others = interest.node_count - holders
    # Chosen: a message has taken off when it reaches more nodes than the square root of all nodes. Near the threshold
    # no limit separates the two cases.
    large = reached > interest.node_count**0.5
    return {
        "receivers_per_event": float(reached.mean()),
        "subscribers_per_event": float(subscribers.mean()),
        "subscribers_reached": float((subscribers / np.maximum(holders, 1)).mean()),
        "others_reached": float(((reached - subscribers) / np.maximum(others, 1)).mean()),
        "takes_off": float(large.mean()),
        "receivers_when_taken_off": float(reached[large].mean()) if large.any() else 0.0,
        "messages_per_event": float(messages.mean()),
        "hops_most_mean": float(hops.mean()),
    }


def _publishers(interest: Interest, seed: int, topics: NDArray[np.int64]) -> NDArray[np.int64]:
    """The node that publishes each message."""
    named = _with_role(interest, Role.PUBLISHES)
    counts = named.popularity[topics]
    # Where a topic has no publishers, the number is that of a node.
    places = _places(seed, Purpose.PUBLISH_NODE, len(topics), np.where(counts, counts, interest.node_count))
    has = counts > 0
    places[has] = named.topic_nodes[named.topic_starts[topics[has]] + places[has]]
    return places


def _with_role(interest: Interest, role: Role) -> Interest:
    """The subscriptions that have this role; other nodes and topics keep their ids."""
    has = (interest.roles & int(role)) != 0
    if has.all():
        return interest
    return Interest.from_pairs(
        interest.owners[has], interest.node_topics[has], interest.node_count, interest.topic_count
    )


def _places(seed: int, purpose: Purpose, count: int, bound: int | NDArray[np.int64]) -> NDArray[np.int64]:
    """A random number below `bound` for each message; `bound` is one number, or one for each message."""
    bits = draws(U64(seed), U64(purpose), U64(0), count)
    return (((bits >> U64(32)) * np.asarray(bound, np.uint64)) >> U64(32)).astype(np.int64)
