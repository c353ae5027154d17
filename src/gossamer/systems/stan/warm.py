"""Calls every compiled function of StAN once, with the argument types that its population uses."""

import numpy as np

from gossamer.systems.stan import kernel as stan

U64 = np.uint64


def warm_up() -> None:
    """See `System.warm_up`."""
    members, places = np.arange(3, dtype=np.int32), np.full(3, -1, np.int32)
    links = np.zeros(9, np.int32), np.zeros(9, np.int32)
    stan.draw_first_views(U64(1), members, 1.0, *links)
    stan.is_strong(3, *links)
    topic = stan.TopicArrays(
        members,
        np.zeros(3, np.int32),
        np.zeros(3, np.int32),
        np.zeros(3, np.int32),
        np.zeros((3, 4), np.int32),
        np.zeros((3, 4), np.uint64),
    )
    rules = stan.TopicRules(U64(1), U64(2), 1, 1.0, True, 1, 4)
    counters = np.zeros(stan.COUNTERS, np.int64)
    stan.begin_views(topic, U64(1), links[0][:2] + np.int32(1), links[1][:2], counters)
    stan.enter(topic, rules, U64(1), 0, 1, counters)
    stan.walk_topic(topic, rules, U64(1), places, counters)
    stan.topic_fingerprint(topic)
    stan.leave(topic, rules, U64(1), 0, True, counters)
