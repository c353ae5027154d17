"""Spreads messages by push and pull with the kernel: many over a static overlay, or one over a changing overlay."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gossamer.kernels.sampling import draws
from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.overlay import Overlay
from gossamer.model.values.draw import Purpose
from gossamer.model.values.errors import InputError
from gossamer.model.values.ids import Role
from gossamer.systems.push_pull import kernel
from gossamer.systems.push_pull.parameters import PushPullParameters, linger_rounds, rounds_limit

U64 = np.uint64


def push_pull_events(
    overlay: Overlay, interest: Interest, parameters: PushPullParameters, seed: int, event_count: int
) -> dict[str, Any]:
    """The figures of `event_count` messages, each by a random subscription's node on its topic.

    If the workload names publishers, only their subscriptions count. Every node knows the size of its topics.
    """
    if not parameters.age_rule:
        raise InputError("without `age_rule` messages never stop; set `until_us` to simulate that")
    if parameters.quiet_calls:
        raise InputError("with `quiet_calls` nodes never stop to call; set `until_us` to simulate that")
    if event_count < 1:
        raise InputError("a dissemination on a static overlay needs at least one message; set `event_count`")
    places = np.flatnonzero((interest.roles & int(Role.PUBLISHES)) != 0)
    if not len(places):
        places = np.arange(interest.subscription_count)
    if not len(places):
        raise InputError("nobody holds a topic in this workload, so nobody can publish")
    bits = draws(U64(seed), U64(Purpose.PUBLISH_TOPIC), U64(0), event_count)
    chosen = places[((bits >> U64(32)) * U64(len(places)) >> U64(32)).astype(np.int64)]
    return {
        "published": event_count,
        **push_pull_on(
            overlay,
            interest,
            parameters,
            seed,
            interest.owners[chosen].astype(np.int64),
            interest.node_topics[chosen].astype(np.int64),
        ),
    }


def push_pull_on(
    overlay: Overlay,
    interest: Interest,
    parameters: PushPullParameters,
    seed: int,
    publishers: NDArray[np.int64],
    topics: NDArray[np.int64],
) -> dict[str, float]:
    """The figures of one message by each of these publishers on its topic. Nodes that only publish count as holders."""
    holders = interest.popularity[topics]
    limits = np.array([rounds_limit(int(size), parameters.spare_rounds) for size in holders], np.int64)
    linger = np.array([linger_rounds(int(limit)) for limit in limits], np.int64)
    rows = kernel.spread_many(
        U64(seed),
        parameters.period_us,
        parameters.repeat_pushes,
        publishers,
        topics,
        limits,
        linger,
        interest.topic_starts,
        interest.topic_nodes,
        overlay.starts,
        overlay.neighbours,
    )
    reached, pushes, answers, calls, wakes, last_round = rows.T
    others = np.maximum(holders - 1, 1)
    return {
        "holders_per_event": float(holders.mean()),
        "holders_reached": float((reached / holders).mean()),
        "reached_all": float((reached == holders).mean()),
        "data_messages_per_event": float((pushes + answers).mean()),
        "data_messages_per_holder": float(((pushes + answers) / others).mean()),
        "calls_per_holder": float((calls / holders).mean()),
        "wakes_per_holder": float((wakes / holders).mean()),
        "rounds_limit_mean": float(limits.mean()),
        "rounds_used_mean": float(last_round.mean()),
        "rounds_used_most": float(last_round.max()),
    }


class SpreadByRounds:
    """One message that spreads round by round, over an overlay that may change between rounds (`Dissemination.by_rounds`).

    Every node that holds the topic calls in every round and pushes to whomever it calls, as in the paper: with
    `repeat_pushes=false` the same nodes learn the message in the same rounds, with fewer pushes. The message is young for as many rounds as
    the age limit for `topic_size` allows, or for ever if the parameters have no age rule.
    """

    def __init__(
        self,
        parameters: PushPullParameters,
        seed: int,
        node_count: int,
        topic: int,
        publisher: int,
        topic_size: int,
        at_us: int = 0,
    ) -> None:
        self.parameters = parameters
        self.limit = rounds_limit(topic_size, parameters.spare_rounds) if parameters.age_rule else None
        self.number = 0
        self.calls = self.pushes = self.answers = 0
        # The round in which each node learnt the message (-1: not yet), and the links that its first copy crossed.
        self.heard = np.full(node_count, -1, np.int32)
        self.hops = np.full(node_count, -1, np.int32)
        self.heard[publisher] = self.hops[publisher] = 0
        self._seed = seed
        self._topic = topic
        self._publisher = publisher
        self._at_us = at_us
        self._places = np.empty(node_count, np.int64)

    @property
    def is_young(self) -> bool:
        """Whether nodes pass the message on in the next round."""
        return self.limit is None or self.number < self.limit

    def publish(self, overlay: Overlay, holds: NDArray[np.bool_]) -> None:
        """The publisher's first push. Leave this out for the paper's protocol, which waits for the first round."""
        links = overlay.starts, overlay.neighbours
        knows = np.zeros(len(overlay.neighbours), np.bool_)
        self.pushes += kernel.publish(
            U64(self._seed), self._at_us, self._topic, self._publisher, holds, *links, self.heard, self.hops, knows
        )

    def round(self, overlay: Overlay, holds: NDArray[np.bool_]) -> int:
        """One round among the nodes that `holds` marks: present, and holding the topic. Returns how many learnt it."""
        self.number += 1
        now_us = self._at_us + self.number * self.parameters.period_us
        callers = np.flatnonzero(holds).astype(np.int32)
        self.calls += kernel.choose_partners(
            U64(self._seed), now_us, self._topic, callers, holds, overlay.starts, overlay.neighbours, self._places
        )
        if self.limit is not None and self.number > self.limit:
            return 0
        links = overlay.starts, overlay.neighbours
        knows = np.zeros(len(overlay.neighbours), np.bool_)
        pushes, answers, learnt = kernel.exchange(
            self.number, True, callers, self._places, *links, self.heard, self.hops, knows
        )
        self.pushes += pushes
        self.answers += answers
        return learnt

    def replace(self, nodes: NDArray[np.integer]) -> None:
        """These nodes are new ones now, or left: they do not have the message."""
        self.heard[nodes] = self.hops[nodes] = -1

    def completion(self, holds: NDArray[np.bool_]) -> float:
        """The share of these nodes that have the message (the completion rate); 1 if there are none."""
        return float((self.heard[holds] >= 0).mean()) if holds.any() else 1.0
