"""Generated churn: every node is present for a random time and then absent for a random time, again and again."""

import numpy as np

from gossamer.kernels.sampling import units
from gossamer.model.arrays.churn import ABSENT, CRASH, JOIN, LEAVE, Churn
from gossamer.model.values.draw import Purpose
from gossamer.model.values.errors import InputError
from gossamer.workloads.interests import check_sizes
from gossamer.workloads.laws import DurationLaw

U64 = np.uint64


def make_churn(
    node_count: int, on: DurationLaw, off: DurationLaw, until_us: int, crash_share: float, seed: int
) -> Churn:
    """Churn up to `until_us`. A node is present at first with probability on / (on + off).

    The first period of a node is drawn from the same law as later ones. For exponential laws, which are memoryless,
    this is exact.
    """
    if not 0.0 <= crash_share <= 1.0:
        raise InputError(f"the share of departures that are crashes must lie between 0 and 1, got {crash_share:g}")
    check_sizes(node_count, 1)
    if until_us < 1:
        raise InputError(f"`until_us` must be at least 1, got {until_us}")
    chance = on.mean_us / (on.mean_us + off.mean_us)
    present = units(U64(seed), U64(Purpose.CHURN_PRESENT), U64(0), node_count) < chance
    started = present.copy()
    at_us = np.zeros(node_count, np.int64)
    times, nodes, events = [], [], []
    turn = 0
    alive = np.ones(node_count, np.bool_)
    while alive.any():
        staying = on.durations_us(units(U64(seed), U64(Purpose.CHURN_ON), U64(turn), node_count))
        missing = off.durations_us(units(U64(seed), U64(Purpose.CHURN_OFF), U64(turn), node_count))
        crashes = units(U64(seed), U64(Purpose.CHURN_CRASH), U64(turn), node_count) < crash_share
        at_us = at_us + np.where(present, staying, missing)
        alive &= at_us < until_us
        at_us = np.minimum(at_us, until_us)  # so that long durations never overflow
        now = np.flatnonzero(alive)
        times.append(at_us[now])
        nodes.append(now)
        events.append(np.where(present, np.where(crashes, CRASH, LEAVE), JOIN)[now])
        present = ~present
        turn += 1
    # A node that is absent for the whole time has no rows, and would count as present: it gets an `absent` row.
    named = np.zeros(node_count, np.bool_)
    named[np.concatenate(nodes)] = True
    never = np.flatnonzero(~named & ~started)
    times.append(np.zeros(len(never), np.int64))
    nodes.append(never)
    events.append(np.full(len(never), ABSENT))
    return Churn.from_rows(np.concatenate(times), np.concatenate(nodes), np.concatenate(events))


# Chosen: nodes fail after three fifths of the time. Publishing begins at half of it, so messages are published before
# and after the failure.
FAILURE_SHARE_OF_TIME = 0.6


def fail_at_once(node_count: int, share: float, until_us: int, seed: int) -> Churn:
    """A random share of the nodes crashes at the same time and does not return."""
    if not 0.0 < share < 1.0:
        raise InputError(f"the share of nodes that fail must lie between 0 and 1, got {share:g}")
    check_sizes(node_count, 1)
    failing = np.flatnonzero(units(U64(seed), U64(Purpose.FAILED), U64(0), node_count) < share)
    times = np.full(len(failing), int(FAILURE_SHARE_OF_TIME * until_us), np.int64)
    return Churn.from_rows(times, failing, np.full(len(failing), CRASH))
