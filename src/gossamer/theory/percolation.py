"""How far gossip carries an event over an unstructured overlay, without simulating it.

Ferretti: Publish-subscribe systems via gossip: a study based on complex networks (2011). A node that gets a new event
sends it to every neighbour that subscribes, and to each other neighbour with probability gamma. With sigma the share of
subscribers a link carries the event with probability Gamma = sigma + (1 - sigma) gamma, and with <p> the mean degree and
<q> the mean number of further links at the end of a link

    <r> = 1 + Gamma <p> / (1 - Gamma <q>)                                   (equation 17: nodes reached, Gamma <q> < 1)

Where Gamma <q> > 1 the event may percolate, and the paper's answer is "infinite". Beyond the paper, for that case:

    y = 1 - G1(1 - Gamma y)                                                 a link leads on for ever
    pi = 1 - G0(1 - Gamma y)                                                the event takes off
    x = 1 - sigma G1(1 - x) - (1 - sigma) G1(1 - gamma x)                   the far end of a link gets it otherwise
    subscribers reached: pi (1 - G0(1 - x)), others: pi (1 - G0(1 - gamma x))

Differs: the paper multiplies <r> by sigma to count subscribers. But links lead to subscribers more often than to others:
who was reached subscribes with probability sigma / Gamma, so <s> = sigma + (<r> - 1) sigma / Gamma.

Loss is allowed for everywhere: a copy that is lost with probability l makes 1 and gamma into 1 - l and gamma (1 - l).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from scipy.optimize import brentq

from gossamer.model.arrays.degrees import DegreeLaw
from gossamer.model.values.errors import InputError

# A root below this is none: the network would have to be larger than any.
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
        """The probability that a link carries an event to a neighbour that subscribes."""
        return 1 - self.loss

    @property
    def to_other(self) -> float:
        """The probability that a link carries an event to a neighbour that does not."""
        return self.gossip * (1 - self.loss)

    @property
    def send(self) -> float:
        """The probability that an event is sent over a link, whoever is at its end."""
        return self.subscribers + (1 - self.subscribers) * self.gossip

    @property
    def link(self) -> float:
        """The paper's Gamma: the probability that a link carries an event, whoever is at its end."""
        return self.send * (1 - self.loss)


@dataclass(frozen=True)
class Reach:
    """What becomes of an event. Shares are averaged over all events, those that die out at once included."""

    percolates: bool
    takes_off: float
    subscribers_reached: float
    others_reached: float
    # Below the threshold: equation 17, and subscribers among them; above it None (the paper: infinite).
    mean_receivers: float | None
    mean_subscribers: float | None
    # In a network of so many nodes, whatever side of the threshold.
    receivers_per_event: float
    subscribers_per_event: float
    messages_per_event: float


def check_share(name: str, value: float) -> None:
    """A probability or a share."""
    if not 0 <= value <= 1:
        hint = f"; did you mean {value / 100:g}?" if 1 < value <= 100 else ""
        raise InputError(f"{name} must lie between 0 and 1, got {value:g}{hint}")


def mean_receivers(law: DegreeLaw, gossip: GossipSettings) -> float:
    """Equation 17: how many nodes an event reaches on average, its publisher included; infinite from the threshold on."""
    branching = _branching(law, gossip)
    return 1 + gossip.link * law.mean / (1 - branching) if branching < 1 else math.inf


def _branching(law: DegreeLaw, gossip: GossipSettings) -> float:
    """Nodes that each node reached over a link passes an event on to, on average."""
    return gossip.link * law.mean_excess if gossip.link > 0 else 0.0


def mean_subscribers(law: DegreeLaw, gossip: GossipSettings) -> float:
    """How many of them subscribe (mended; the paper says sigma <r>)."""
    if gossip.link == 0:
        return gossip.subscribers
    reached = mean_receivers(law, gossip) - 1
    return gossip.subscribers + reached * gossip.subscribers * gossip.to_subscriber / gossip.link


def threshold(law: DegreeLaw) -> float:
    """The link probability Gamma above which an event percolates; above 1 where none does."""
    return 1 / law.mean_excess if law.mean_excess > 0 else math.inf


def gossip_threshold(law: DegreeLaw, subscribers: float, loss: float = 0.0) -> float | None:
    """The smallest gamma at which events percolate; None where not even 1 is enough, 0 where none is needed."""
    GossipSettings(subscribers, 0, loss)
    needed = threshold(law) / (1 - loss) if loss < 1 else math.inf
    if needed > 1:
        return None
    return max(0.0, (needed - subscribers) / (1 - subscribers)) if subscribers < 1 else 0.0


def subscriber_threshold(law: DegreeLaw, gossip: float, loss: float = 0.0) -> float | None:
    """The smallest share of subscribers with which events percolate; None where not even all are enough."""
    GossipSettings(0, gossip, loss)
    needed = threshold(law) / (1 - loss) if loss < 1 else math.inf
    if needed > 1:
        return None
    return max(0.0, (needed - gossip) / (1 - gossip)) if gossip < 1 else 0.0


def reach(law: DegreeLaw, gossip: GossipSettings, node_count: int) -> Reach:
    """Everything the theory says of an event, in a network of this many nodes with these degrees."""
    onward = inside = 0.0
    if _branching(law, gossip) > 1:
        onward = _root(lambda y: law.excess_reach(gossip.link * y))
        inside = _root(lambda x: sum(_informed(law, gossip, x)))
    return _above(law, gossip, node_count, onward, inside) if onward * inside > 0 else _below(law, gossip, node_count)


def _below(law: DegreeLaw, gossip: GossipSettings, node_count: int) -> Reach:
    receivers, subscribers = mean_receivers(law, gossip), mean_subscribers(law, gossip)
    # At the threshold itself there is no giant outbreak and no finite mean.
    finite = math.isfinite(receivers)
    copies = gossip.send * law.mean / (1 - _branching(law, gossip)) if finite else math.inf
    return Reach(
        percolates=False,
        takes_off=0.0,
        subscribers_reached=0.0,
        others_reached=0.0,
        mean_receivers=receivers if finite else None,
        mean_subscribers=subscribers if finite else None,
        receivers_per_event=min(receivers, node_count),
        subscribers_per_event=min(subscribers, gossip.subscribers * node_count),
        messages_per_event=min(copies, gossip.send * law.mean * node_count),
    )


def _above(law: DegreeLaw, gossip: GossipSettings, node_count: int, onward: float, inside: float) -> Reach:
    takes_off = law.reach(gossip.link * onward)
    subscribers, others = law.reach(gossip.to_subscriber * inside), law.reach(gossip.to_other * inside)
    share = gossip.subscribers * subscribers + (1 - gossip.subscribers) * others
    # Events that die out: their publishers, and whom they reached over links, subscribers as often as ever.
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
        receivers_per_event=min(takes_off * share * node_count + publishers + further, node_count),
        subscribers_per_event=takes_off * subscribers * gossip.subscribers * node_count + among,
        messages_per_event=messages + further * gossip.send / gossip.link,
    )


def _root(image: Callable[[float], float]) -> float:
    """The positive root of z = image(z), or 0: image(z) / z falls, because the image is concave and starts at 0."""
    if image(1.0) >= 1.0 - _SMALLEST:
        return 1.0
    if image(_SMALLEST) <= _SMALLEST:
        return 0.0
    return float(brentq(lambda z: image(z) / z - 1, _SMALLEST, 1.0, xtol=_SMALLEST))


def _informed(law: DegreeLaw, gossip: GossipSettings, x: float) -> tuple[float, float]:
    """The far end of a link (subscribes and, does not and) gets the event by its further links."""
    subscribes = gossip.subscribers * law.excess_reach(gossip.to_subscriber * x)
    does_not = (1 - gossip.subscribers) * law.excess_reach(gossip.to_other * x)
    return subscribes, does_not


def _small_outbreaks(law: DegreeLaw, gossip: GossipSettings, onward: float) -> float:
    """The mean over all events of the nodes reached by those that do not take off, their publishers left out.

    R'(1) - R(1) of the paper, taken at the root of R = F(R) below 1 instead of at 1.
    """
    z = gossip.link * onward
    slope = gossip.link * law.mean * (1 - law.excess_reach(z))
    return slope * (1 - onward) / (1 - gossip.link * law.excess_slope(z)) if onward < 1 else 0.0


def _messages_per_node(law: DegreeLaw, gossip: GossipSettings, x: float, share: float) -> float:
    """Messages sent in an event that takes off, over the number of nodes.

    Over every link, in both directions, an informed node sends with probability 1 or gamma, by who is at the other end;
    but nobody sends back to whom it heard from first. Who that was subscribes about as often as any informed neighbour.
    """
    informed = _informed(law, gossip, x)
    shares = (gossip.subscribers, 1 - gossip.subscribers)
    carries = (gossip.to_subscriber, gossip.to_other)
    sends = (1.0, gossip.gossip)
    total = 0.0
    for here in (0, 1):
        for there in (0, 1):
            # Both kinds, and informed: by the links further on here, or over this link from there.
            by_others = informed[here] * shares[there]
            over_link = (shares[here] - informed[here]) * informed[there] * carries[here]
            total += sends[there] * (by_others + over_link)
    back = sum(kind * send for kind, send in zip(informed, sends, strict=True)) / x
    return law.mean * total - share * back
