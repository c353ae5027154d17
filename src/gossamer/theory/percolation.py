"""The reach of gossip on an unstructured overlay, computed without simulation.

Ferretti: Publish-subscribe systems via gossip: a study based on complex networks (2011). A node that receives a new
event sends it to every neighbour that subscribes, and to each other neighbour with probability gamma. Let sigma be the
share of subscribers. Then a link carries the event with probability Gamma = sigma + (1 - sigma) gamma. With <p> the
mean degree and <q> the mean number of further links at the end of a link

    <r> = 1 + Gamma <p> / (1 - Gamma <q>)                                   (equation 17: nodes reached, Gamma <q> < 1)

If Gamma <q> > 1 the event may percolate, and the paper's result is "infinite". This module adds, for that case:

    y = 1 - G1(1 - Gamma y)                                                 the event spreads without end beyond a link
    pi = 1 - G0(1 - Gamma y)                                                the event takes off
    x = 1 - sigma G1(1 - x) - (1 - sigma) G1(1 - gamma x)                   the end of a link gets it over another link
    subscribers reached: pi (1 - G0(1 - x)), others: pi (1 - G0(1 - gamma x))

Differs: the paper multiplies <r> by sigma to count subscribers. But events are sent to subscribers more often than to
others: a node that was reached subscribes with probability sigma / Gamma, so <s> = sigma + (<r> - 1) sigma / Gamma.

Loss is included everywhere: if a copy is lost with probability l, then 1 becomes 1 - l and gamma becomes gamma (1 - l).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypedDict

from scipy.optimize import brentq

from gossamer.model.arrays.degrees import DegreeLaw
from gossamer.model.values.errors import InputError

# A smaller root counts as zero: its effect would show only in networks larger than any real one.
_SMALLEST = 1e-12


@dataclass(frozen=True)
class GossipSettings:
    """The share of nodes that subscribe (sigma), the gossip probability (gamma), and the share of copies lost."""

    subscribers: float
    gossip: float
    loss: float = 0.0

    def __post_init__(self) -> None:
        for name, value in (("subscribers", self.subscribers), ("gossip", self.gossip), ("loss", self.loss)):
            check_share(name, value)

    @property
    def to_subscriber(self) -> float:
        """The probability that an event reaches a subscribing neighbour over a link."""
        return 1 - self.loss

    @property
    def to_other(self) -> float:
        """The probability that an event reaches a neighbour that does not subscribe over a link."""
        return self.gossip * (1 - self.loss)

    @property
    def send(self) -> float:
        """The probability that an event is sent over a link to a random neighbour."""
        return self.subscribers + (1 - self.subscribers) * self.gossip

    @property
    def link(self) -> float:
        """The paper's Gamma: the probability that an event reaches a random neighbour over a link."""
        return self.send * (1 - self.loss)


@dataclass(frozen=True)
class Reach:
    """The reach of an event. Shares are averages over all events, including those that die out at once."""

    percolates: bool
    takes_off: float
    subscribers_reached: float
    others_reached: float
    # Below the threshold: equation 17, and the subscribers among them. Above it None (the paper: infinite).
    mean_receivers: float | None
    mean_subscribers: float | None
    # For a network of the given number of nodes, below and above the threshold. None at the threshold and so close to it
    # that the formulas, which are for infinite networks, give more receivers than there are nodes.
    receivers_per_event: float | None
    subscribers_per_event: float | None
    messages_per_event: float | None


def check_share(name: str, value: float) -> None:
    """Raise an InputError unless the value lies between 0 and 1."""
    if not 0 <= value <= 1:
        hint = f"; did you mean {value / 100:g}?" if 1 < value <= 100 else ""
        raise InputError(f"{name} must lie between 0 and 1, got {value:g}{hint}")


def mean_receivers(law: DegreeLaw, gossip: GossipSettings) -> float:
    """Equation 17: the mean number of nodes that an event reaches, with its publisher; infinite above the threshold."""
    branching = _branching(law, gossip)
    return 1 + gossip.link * law.mean / (1 - branching) if branching < 1 else math.inf


def _branching(law: DegreeLaw, gossip: GossipSettings) -> float:
    """The mean number of nodes to which a node that was reached over a link passes an event on."""
    return gossip.link * law.mean_excess if gossip.link > 0 else 0.0


def mean_subscribers(law: DegreeLaw, gossip: GossipSettings) -> float:
    """The mean number of subscribers that an event reaches (corrected; the paper has sigma <r>)."""
    if gossip.link == 0:
        return gossip.subscribers
    reached = mean_receivers(law, gossip) - 1
    return gossip.subscribers + reached * gossip.subscribers * gossip.to_subscriber / gossip.link


def threshold(law: DegreeLaw) -> float:
    """The link probability Gamma above which events percolate; a value above 1 means that they never do."""
    return 1 / law.mean_excess if law.mean_excess > 0 else math.inf


def gossip_threshold(law: DegreeLaw, subscribers: float, loss: float = 0.0) -> float | None:
    """The gamma above which events percolate; None if they never do, even with 1; 0 if no gossip is needed."""
    GossipSettings(subscribers, 0, loss)
    needed = _needed(law, loss)
    if needed is None:
        return None
    return max(0.0, (needed - subscribers) / (1 - subscribers)) if subscribers < 1 else 0.0


def subscriber_threshold(law: DegreeLaw, gossip: float, loss: float = 0.0) -> float | None:
    """The share of subscribers above which events percolate; None if they never do, even with 1."""
    GossipSettings(0, gossip, loss)
    needed = _needed(law, loss)
    if needed is None:
        return None
    return max(0.0, (needed - gossip) / (1 - gossip)) if gossip < 1 else 0.0


def _needed(law: DegreeLaw, loss: float) -> float | None:
    """The probability of sending over a link above which events percolate; None if 1 is not above the threshold."""
    needed = threshold(law) / (1 - loss) if loss < 1 else math.inf
    return needed if needed < 1 - _SMALLEST else None


def reach(law: DegreeLaw, gossip: GossipSettings, node_count: int) -> Reach:
    """The reach of an event in a network with this number of nodes and these degrees."""
    onward = inside = 0.0
    if _branching(law, gossip) > 1:
        onward = _root(lambda y: law.excess_reach(gossip.link * y))
        inside = _root(lambda x: sum(_informed(law, gossip, x)))
    return _above(law, gossip, node_count, onward, inside) if onward * inside > 0 else _below(law, gossip, node_count)


def _below(law: DegreeLaw, gossip: GossipSettings, node_count: int) -> Reach:
    receivers, subscribers = mean_receivers(law, gossip), mean_subscribers(law, gossip)
    # Exactly at the threshold no event percolates and the mean is infinite.
    finite = math.isfinite(receivers)
    copies = gossip.send * law.mean / (1 - _branching(law, gossip)) if finite else math.inf
    return Reach(
        percolates=False,
        takes_off=0.0,
        subscribers_reached=0.0,
        others_reached=0.0,
        mean_receivers=receivers if finite else None,
        mean_subscribers=subscribers if finite else None,
        **_per_event(gossip, node_count, receivers, subscribers, copies),
    )


def _above(law: DegreeLaw, gossip: GossipSettings, node_count: int, onward: float, inside: float) -> Reach:
    takes_off = law.reach(gossip.link * onward)
    subscribers, others = law.reach(gossip.to_subscriber * inside), law.reach(gossip.to_other * inside)
    share = gossip.subscribers * subscribers + (1 - gossip.subscribers) * others
    # Events that die out: their publishers, and the nodes that they reached over links, with the usual share of
    # subscribers.
    publishers = 1 - takes_off
    further = _small_outbreaks(law, gossip, onward)
    among = gossip.subscribers * (publishers + further * gossip.to_subscriber / gossip.link)
    messages = takes_off * node_count * _messages_per_node(law, gossip, inside, share)
    return Reach(
        percolates=True,
        takes_off=takes_off,
        subscribers_reached=takes_off * subscribers,
        others_reached=takes_off * others,
        mean_receivers=None,
        mean_subscribers=None,
        **_per_event(
            gossip,
            node_count,
            takes_off * share * node_count + publishers + further,
            takes_off * subscribers * gossip.subscribers * node_count + among,
            messages + further * gossip.send / gossip.link,
        ),
    )


class _PerEvent(TypedDict):
    """The fields of `Reach` for a network of a given size."""

    receivers_per_event: float | None
    subscribers_per_event: float | None
    messages_per_event: float | None


def _per_event(
    gossip: GossipSettings, node_count: int, receivers: float, subscribers: float, messages: float
) -> _PerEvent:
    """Means for a network of this size; None where they exceed it, because then the formulas do not apply."""
    # The factor allows for rounding where an event reaches every node.
    applies = receivers <= node_count * (1 + 1e-9) and subscribers <= gossip.subscribers * node_count * (1 + 1e-9)
    return {
        "receivers_per_event": min(receivers, node_count) if applies else None,
        "subscribers_per_event": min(subscribers, gossip.subscribers * node_count) if applies else None,
        "messages_per_event": messages if applies else None,
    }


def _root(image: Callable[[float], float]) -> float:
    """The positive root of z = image(z), or 0 if there is none; image(z) / z falls, as image is concave and image(0) = 0."""
    if image(1.0) >= 1.0 - _SMALLEST:
        return 1.0
    if image(_SMALLEST) <= _SMALLEST:
        return 0.0
    return float(brentq(lambda z: image(z) / z - 1, _SMALLEST, 1.0, xtol=_SMALLEST))


def _informed(law: DegreeLaw, gossip: GossipSettings, x: float) -> tuple[float, float]:
    """The probabilities that the end of a link subscribes, or does not, and gets the event over its further links."""
    subscribes = gossip.subscribers * law.excess_reach(gossip.to_subscriber * x)
    does_not = (1 - gossip.subscribers) * law.excess_reach(gossip.to_other * x)
    return subscribes, does_not


def _small_outbreaks(law: DegreeLaw, gossip: GossipSettings, onward: float) -> float:
    """The mean number of nodes, without publishers, that are reached by events which do not take off; over all events.

    This is R'(1) - R(1) of the paper, evaluated at the root of R = F(R) below 1 instead of at 1.
    """
    z = gossip.link * onward
    slope = gossip.link * law.mean * (1 - law.excess_reach(z))
    return slope * (1 - onward) / (1 - gossip.link * law.excess_slope(z)) if onward < 1 else 0.0


def _messages_per_node(law: DegreeLaw, gossip: GossipSettings, x: float, share: float) -> float:
    """The number of messages of an event that takes off, divided by the number of nodes.

    Over every link, in both directions, a node that has the event sends it with probability 1 to a subscriber and with
    probability gamma to another node, but never back to the node from which it came first. That node subscribes about
    as often as any neighbour that has the event.
    """
    informed = _informed(law, gossip, x)
    shares = (gossip.subscribers, 1 - gossip.subscribers)
    carries = (gossip.to_subscriber, gossip.to_other)
    sends = (1.0, gossip.gossip)
    total = 0.0
    for here in (0, 1):
        for there in (0, 1):
            # The node here has the event from its further links, or over this link from there.
            by_others = informed[here] * shares[there]
            over_link = (shares[here] - informed[here]) * informed[there] * carries[here]
            total += sends[there] * (by_others + over_link)
    back = sum(kind * send for kind, send in zip(informed, sends, strict=True)) / x
    return law.mean * total - share * back
