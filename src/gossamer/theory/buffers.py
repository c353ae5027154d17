"""How many events a network of bounded buffers can bear: what the gossip paper leaves as future work.

A node puts every copy it gets into a buffer of so many places and takes one out at a time; a copy that finds the buffer
full is lost, an event of the node's own too. To a node of degree k copies come at a rate in proportion to k, as if by chance (Poisson), so its buffer is a
queue M/D/1/K. Lost copies are lost links, so what is reached and what is sent follow from `percolation` with that loss.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gossamer.model.arrays.degrees import DegreeLaw
from gossamer.model.values.errors import InputError
from gossamer.theory.percolation import GossipSettings, check_share, reach

# Chosen: beyond so many places the sums below take seconds, and a queue so long is late rather than lossy.
PLACES_MAX = 1000


@dataclass(frozen=True)
class EventLoad:
    """The largest load for a loss: events a second in the whole network, and how busy a node of mean degree is.

    Averages are over all events, those that found their own publisher's buffer full included.
    """

    events_per_second: float
    utilisation: float
    messages_per_event: float
    subscribers_reached: float


def full_share(places: int, load: float) -> float:
    """The share of copies that find a buffer of so many places full; `load` is copies for each that can be handled.

    The queue M/D/1/K by its chain at departures: what is lost is 1 - 1 / (pi_0 + load).
    """
    if load == 0:
        return 0.0
    if load > 20 and places > 1:
        # Never empty, as far as a float can tell.
        return 1 - 1 / load
    steps = np.arange(places + 1)
    logs = steps * np.log(load) - load - np.concatenate(([0.0], np.cumsum(np.log(steps[1:]))))
    arrivals: NDArray[np.float64] = np.exp(logs)
    weights = np.zeros(places)
    weights[0] = 1.0
    for left in range(places - 1):
        came = weights[0] * arrivals[left] + weights[1 : left + 1] @ arrivals[left:0:-1]
        weights[left + 1] = max(weights[left] - came, 0.0) / arrivals[0]
        if weights[left + 1] > 1e200:
            # An overfull queue: hardly ever empty.
            weights /= weights[left + 1]
    empty = weights[0] / weights.sum()
    return float(max(1 - 1 / (empty + load), 0.0))


def mean_full_shares(law: DegreeLaw, places: int, load: float) -> tuple[float, float]:
    """The shares of copies on their way, and of nodes' own events, that find a full buffer.

    A node of mean degree has this load, others in proportion to their links. Copies meet the busy more often than
    events do, which begin anywhere.
    """
    if law.mean == 0:
        return 0.0, 0.0
    weights = law.degrees * law.shares / law.mean
    # What is left out has less than a millionth of the copies.
    some = weights > 1e-6 / len(weights)
    full = np.array([full_share(places, load * degree / law.mean) for degree in law.degrees[some]])
    return float(weights[some] @ full), float(law.shares[some] @ full)


def load_for(
    law: DegreeLaw, gossip: GossipSettings, loss: float, places: int, handled_per_second: float, nodes: int
) -> EventLoad:
    """The largest rate of events with which no more than this share of copies is lost in full buffers."""
    check_share("loss", loss)
    if not 0 < loss < 1:
        raise InputError(
            f"the loss to allow must lie above 0 and below 1, got {loss:g}: no buffer loses nothing or all"
        )
    if not 1 <= places <= PLACES_MAX:
        raise InputError(f"a buffer must have from 1 to {PLACES_MAX} places, got {places}")
    if not 0 < handled_per_second <= 1e9:
        raise InputError(f"a node must handle above 0 and at most 1e9 copies a second, got {handled_per_second:g}")
    low, high = 0.0, 1.0
    while mean_full_shares(law, places, high)[0] < loss and high < 1e3:
        low, high = high, high * 2
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if mean_full_shares(law, places, middle)[0] <= loss else (low, middle)
    found = reach(law, GossipSettings(gossip.subscribers, gossip.gossip, loss), nodes)
    if found.messages_per_event <= 0:
        raise InputError("no copies are sent with these numbers, so no load fills a buffer")
    published = 1 - mean_full_shares(law, places, low)[1]
    messages = published * found.messages_per_event
    return EventLoad(low * handled_per_second * nodes / messages, low, messages, published * found.subscribers_reached)


def loss_at(
    law: DegreeLaw, gossip: GossipSettings, events_per_second: float, places: int, handled: float, nodes: int
) -> float:
    """The share of copies that full buffers lose at this rate of events; `handled` is copies a node handles a second."""
    # The busier nodes are, the more is lost, and the less is sent: there is one load at which both agree.
    low, high = 0.0, 1000.0
    for _ in range(40):
        middle = (low + high) / 2
        loss, unpublished = mean_full_shares(law, places, middle)
        messages = reach(law, GossipSettings(gossip.subscribers, gossip.gossip, loss), nodes).messages_per_event
        sent = events_per_second * (1 - unpublished) * messages / (nodes * handled)
        low, high = (middle, high) if sent > middle else (low, middle)
    return mean_full_shares(law, places, low)[0]
