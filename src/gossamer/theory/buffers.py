"""The rate of messages that a network with bounded buffers can carry; the gossip paper leaves this as future work.

A node puts every copy that it receives, and every message that it publishes, into a buffer with a fixed number of
places and handles one at a time. A copy that arrives when the buffer is full is lost. Copies arrive at a node of degree
k as a Poisson process with a rate proportional to k, so the buffer is an M/D/1/K queue. The loss of copies has the same
effect as lossy links, so `percolation` with that loss gives the subscribers reached and the messages sent.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gossamer.model.arrays.degrees import DegreeLaw
from gossamer.model.values.errors import InputError
from gossamer.theory.percolation import GossipSettings, check_share, reach

# Chosen: a larger loss cannot be told from 1 in the sums below, and no network with such a loss is of use.
LOSS_MAX = 1 - 1e-9
# Chosen: with more places the sums below take seconds, and such a long queue causes delay rather than loss.
PLACES_MAX = 1000


@dataclass(frozen=True)
class EventLoad:
    """The largest load within an allowed loss: events per second in the network, and the utilisation of a mean node.

    Averages are over all events, including those that were lost in the full buffer of their own publisher.
    """

    events_per_second: float
    utilisation: float
    messages_per_event: float
    subscribers_reached: float


def full_share(places: int, load: float) -> float:
    """The share of copies that arrive at a full buffer; `load` is the arrival rate divided by the handling rate.

    Computed from the Markov chain of an M/D/1/K queue at departures: the loss is 1 - 1 / (pi_0 + load).
    """
    if load == 0:
        return 0.0
    if load > 20 and places > 1:
        # The probability of an empty queue is below the precision of a float.
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
            # The queue is overloaded and hardly ever empty: rescale, so that the weights do not overflow.
            weights /= weights[left + 1]
    empty = weights[0] / weights.sum()
    return float(max(1 - 1 / (empty + load), 0.0))


def mean_full_shares(law: DegreeLaw, places: int, load: float) -> tuple[float, float]:
    """The share of relayed copies and the share of published events that arrive at a full buffer.

    A node of mean degree has this load, other nodes a load proportional to their degree. The shares differ because
    copies arrive more often at nodes with many links, while events are published at any node.
    """
    if law.mean == 0:
        return 0.0, 0.0
    weights = law.degrees * law.shares / law.mean
    # The degrees that are left out receive less than a millionth of the copies; they lose as many as the others.
    some = weights > 1e-6 / len(weights)
    full = np.array([full_share(places, load * degree / law.mean) for degree in law.degrees[some]])
    return float(weights[some] @ full / weights[some].sum()), float(law.shares[some] @ full)


def load_for(
    law: DegreeLaw, gossip: GossipSettings, loss: float, places: int, handled_per_second: float, nodes: int
) -> EventLoad:
    """The largest rate of events at which full buffers lose no more than this share of copies."""
    check_share("loss", loss)
    if not 0 < loss < 1:
        raise InputError(
            f"the allowed loss must lie above 0 and below 1, got {loss:g}: every buffer loses some copies, none loses all"
        )
    if loss > LOSS_MAX:
        raise InputError(f"the allowed loss must be at most {LOSS_MAX:.9f}, got {loss:.17g}")
    if not 1 <= places <= PLACES_MAX:
        raise InputError(f"a buffer must have from 1 to {PLACES_MAX} places, got {places}")
    if not 0 < handled_per_second <= 1e9:
        raise InputError(f"a node must handle above 0 and at most 1e9 copies a second, got {handled_per_second:g}")
    found = reach(law, GossipSettings(gossip.subscribers, gossip.gossip, loss), nodes)
    if found.messages_per_event is None:
        raise InputError(
            f"with a loss of {loss:g} this network is at the threshold of percolation, where the theory gives no number of "
            "messages; allow more or less loss"
        )
    if found.messages_per_event <= 0:
        raise InputError("no copies are sent with these numbers, so no load can fill a buffer")
    low, high = 0.0, 1.0
    while mean_full_shares(law, places, high)[0] < loss:
        low, high = high, high * 2
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if mean_full_shares(law, places, middle)[0] <= loss else (low, middle)
    published = 1 - mean_full_shares(law, places, low)[1]
    messages = published * found.messages_per_event
    return EventLoad(low * handled_per_second * nodes / messages, low, messages, published * found.subscribers_reached)


def loss_at(
    law: DegreeLaw, gossip: GossipSettings, events_per_second: float, places: int, handled: float, nodes: int
) -> float:
    """The share of copies lost in full buffers at this rate of events; `handled` is copies per second and node."""
    # A higher load causes more loss, and more loss means fewer messages sent, so exactly one load is consistent.
    low, high = 0.0, 1.0
    while _load_sent(law, gossip, events_per_second, places, handled, nodes, high) > high:
        low, high = high, high * 2
    for _ in range(40):
        middle = (low + high) / 2
        sent = _load_sent(law, gossip, events_per_second, places, handled, nodes, middle)
        low, high = (middle, high) if sent > middle else (low, middle)
    return mean_full_shares(law, places, low)[0]


def _load_sent(
    law: DegreeLaw,
    gossip: GossipSettings,
    events_per_second: float,
    places: int,
    handled: float,
    nodes: int,
    load: float,
) -> float:
    """The load that events at this rate cause while buffers lose as many copies as at `load`."""
    loss, unpublished = mean_full_shares(law, places, load)
    messages = reach(law, GossipSettings(gossip.subscribers, gossip.gossip, loss), nodes).messages_per_event
    if messages is None:
        # At the threshold the theory gives no number; this is the largest one: every node sends.
        messages = gossip.send * law.mean * nodes
    return events_per_second * (1 - unpublished) * messages / (nodes * handled)
