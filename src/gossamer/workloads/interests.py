"""Generated interests: by topic popularity, on a plane (StAN), and from four figures of a membership table (Douban)."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gossamer.kernels.sampling import draw_interests, draws, topics_within, units
from gossamer.model.arrays.interest import Interest
from gossamer.model.values.draw import Purpose, below, draw
from gossamer.model.values.errors import InputError
from gossamer.model.values.ids import Role
from gossamer.model.values.run import GridLaw
from gossamer.workloads.laws import SizeLaw, popularity, size_law

U64 = np.uint64


def make_interests(node_count: int, topic_count: int, subscriptions: str, law: str, seed: int) -> Interest:
    """Each node draws its number of topics, then draws topics by popularity; a topic that it already has is redrawn."""
    check_sizes(node_count, topic_count)
    sizes = size_law(subscriptions, topic_count).sizes(units(U64(seed), U64(Purpose.WORKLOAD_SIZE), U64(0), node_count))
    starts = np.concatenate(([0], np.cumsum(sizes)))
    topics = draw_interests(U64(seed), popularity(law, topic_count), starts, 0, node_count)
    return Interest(starts, topics, _all_follow(len(topics)), topic_count)


def check_sizes(node_count: int, topic_count: int) -> None:
    """Raise an InputError unless a workload can have these numbers of nodes and topics."""
    for name, count in (("nodes", node_count), ("topics", topic_count)):
        if not 1 <= count < 2**31:
            raise InputError(f"the number of {name} must lie between 1 and 2,147,483,647, got {count}")


def make_grid_interests(law: GridLaw, seed: int) -> Interest:
    """A node follows every topic that has an id in the node's circle; areas and ids follow power laws (StAN, 3)."""
    check_sizes(law.nodes, law.topics)
    node_count, topic_count = law.nodes, law.topics
    ids = SizeLaw(1, law.ids_most, law.ids_exponent)
    counts = ids.sizes(units(U64(seed), U64(Purpose.WORKLOAD_COUNT), U64(0), topic_count))
    id_topics = np.repeat(np.arange(topic_count, dtype=np.int32), counts)
    id_x = units(U64(seed), U64(Purpose.WORKLOAD_PLACE), U64(0), len(id_topics))
    id_y = units(U64(seed), U64(Purpose.WORKLOAD_PLACE), U64(1), len(id_topics))
    node_x = units(U64(seed), U64(Purpose.WORKLOAD_PLACE), U64(2), node_count)
    node_y = units(U64(seed), U64(Purpose.WORKLOAD_PLACE), U64(3), node_count)
    areas = _power_law(
        law.area_low, law.area_high, law.area_exponent, units(U64(seed), U64(Purpose.WORKLOAD_SIZE), U64(0), node_count)
    )
    where = (node_x, node_y, np.sqrt(areas / np.pi), id_x, id_y, id_topics, topic_count)
    starts = topics_within(*where, np.empty(0, np.int32))
    topics = np.empty(starts[-1], np.int32)
    topics_within(*where, topics)
    return Interest(starts, topics, _all_follow(len(topics)), topic_count)


def _power_law(low: float, high: float, exponent: float, uniforms: NDArray[np.float64]) -> NDArray[np.float64]:
    """Values of a continuous power law on [low, high], by inversion; the exponent must not be 1."""
    power = 1.0 - exponent
    values: NDArray[np.float64] = (low**power + uniforms * (high**power - low**power)) ** (1.0 / power)
    return values


@dataclass(frozen=True)
class Figures:
    """The four figures of a membership table: the requested ones, or those of a generated table."""

    users: int
    topics: int
    subscriptions: int
    largest_topic: int


# Paper: the crawled data of Ma, Wang, Sun 2014, section 4 (topic sizes 2..1304).
DOUBAN = Figures(users=10_000, topics=31_289, subscriptions=486_842, largest_topic=1_304)


# Chosen: the most active user has twenty times the mean number of topics (the paper does not publish this figure).
# If a table is too dense for that, the factor is smaller, down to 1, where all users are equally active.
ACTIVITY_SKEWS = (20, 5, 2, 1)


def make_douban_interests(wanted: Figures, seed: int) -> tuple[Interest, Figures]:
    """A membership table with these figures: topic sizes fall with a power of rank, and users differ in activity.

    Also returns the figures of the result: a few subscriptions may be missing, because pairs of the same user and topic
    that could not be swapped away are left out.
    """
    sizes = topic_sizes(wanted)
    for skew in ACTIVITY_SKEWS:
        interest = _deal(wanted, sizes, skew, seed)
        reached = figures_of(interest)
        if reached == wanted:
            break
    return interest, reached


def topic_sizes(wanted: Figures) -> NDArray[np.int64]:
    """The number of subscribers of each topic, largest first, at least 2."""
    check_sizes(wanted.users, wanted.topics)
    sizes = rank_sizes(wanted.topics, wanted.subscriptions, wanted.largest_topic, smallest=2, what="topic")
    if wanted.largest_topic > wanted.users:
        raise InputError(
            f"the largest topic ({wanted.largest_topic}) must have at most as many subscribers as there are "
            f"users ({wanted.users})"
        )
    return sizes


def activity_sizes(wanted: Figures, skew: int) -> NDArray[np.int64]:
    """The number of topics of each user; the most active user has `skew` times the mean, or a little more."""
    total = wanted.subscriptions
    most = min(wanted.topics, max(int(skew * total / wanted.users), -(-total // wanted.users), 2))
    return rank_sizes(wanted.users, total, most, smallest=1, what="user")


def figures_of(interest: Interest) -> Figures:
    """The four figures of a table."""
    return Figures(
        users=int((interest.sizes > 0).sum()),
        topics=int((interest.popularity > 0).sum()),
        subscriptions=interest.subscription_count,
        largest_topic=int(interest.popularity.max()),
    )


def _deal(wanted: Figures, sizes: NDArray[np.int64], skew: int, seed: int) -> Interest:
    """Give each topic its number of users; the most active user has `skew` times the mean number of topics."""
    total = wanted.subscriptions
    topics = np.repeat(np.arange(wanted.topics, dtype=np.int64), sizes)
    if skew == 1:
        # Users take turns: consecutive users differ as long as a topic has no more users than there are.
        everybody = _shuffled(np.arange(wanted.users, dtype=np.int64), seed, counter=0)
        users = everybody[np.arange(total) % wanted.users]
    else:
        activity = activity_sizes(wanted, skew)
        users = _shuffled(np.repeat(np.arange(wanted.users, dtype=np.int64), activity), seed, counter=0)
        users = without_repeats(
            users,
            topics,
            wanted.topics,
            lambda place, attempt: below(draw(seed, place, Purpose.GRAPH_STUB, 1 + attempt), total),
        )
    keys = np.unique(users * wanted.topics + topics)
    return Interest.from_pairs(*np.divmod(keys, wanted.topics), wanted.users, wanted.topics)


def rank_sizes(count: int, total: int, largest: int, smallest: int, what: str) -> NDArray[np.int64]:
    """Whole sizes that start at `largest`, fall with rank, and have exactly the sum `total`.

    The law is Zipf-Mandelbrot: largest * ((rank + q) / (1 + q))**-a. The shift q is chosen so that the last rank has
    the size `smallest` and the sum is `total`. If the sum is too large even with q = 0, then q stays 0, the exponent a
    is raised, and sizes are at least `smallest`.
    """
    if not smallest * count <= total <= largest * count or largest < smallest:
        raise InputError(
            f"{count} {what}s of {smallest} to {largest} subscriptions cannot have {total} in all; "
            f"the total must lie between {smallest * count} and {largest * count}"
        )
    ranks = np.arange(1, count + 1, dtype=np.float64)

    def sizes_at(shift: float, exponent: float) -> NDArray[np.int64]:
        values = largest * ((ranks + shift) / (1 + shift)) ** -exponent
        return np.maximum(np.rint(values), smallest).astype(np.int64)

    def to_smallest(shift: float) -> float:
        return float(np.log(largest / smallest) / np.log((count + shift) / (1 + shift)))

    if count > 1 and sizes_at(0.0, to_smallest(0.0)).sum() <= total:
        shift = _bisect(lambda shift: sizes_at(shift, to_smallest(shift)).sum() < total, 0.0, 1e6)
        sizes = sizes_at(shift, to_smallest(shift))
    else:
        sizes = sizes_at(0.0, _bisect(lambda exponent: sizes_at(0.0, exponent).sum() > total, 0.0, 64.0))
    # Rounding leaves a small remainder: distribute it, one each, over the ranks after the first.
    place = 1
    while (rest := total - int(sizes.sum())) != 0:
        span = sizes[place:]
        room = span < largest if rest > 0 else span > smallest
        movable = np.flatnonzero(room)[: abs(rest)]
        if not len(movable):
            place = 0
            continue
        span[movable] += 1 if rest > 0 else -1
    return sizes


def _bisect(go_higher: Callable[[float], bool], low: float, high: float) -> float:
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if go_higher(middle) else (low, middle)
    return high


def _shuffled(values: NDArray[np.int64], seed: int, counter: int) -> NDArray[np.int64]:
    order = np.argsort(draws(U64(seed), U64(Purpose.GRAPH_STUB), U64(counter), len(values)), kind="stable")
    return values[order]


# Chosen: the number of swaps that are tried for a repeated pair before it is left out; dense tables need many.
_SWAPS_MAX = 500


def without_repeats(
    users: NDArray[np.int64], topics: NDArray[np.int64], topic_count: int, partner: Callable[[int, int], int]
) -> NDArray[np.int64]:
    """Swap users between topics until no topic has a user twice; each swap is checked before it is made.

    `partner(place, attempt)` draws the place with which a repeated pair swaps its user.
    """
    dealt, rows = users.tolist(), topics.tolist()
    held: dict[int, int] = {}
    repeats = []
    for place, (user, topic) in enumerate(zip(dealt, rows, strict=True)):
        key = user * topic_count + topic
        if key in held:
            repeats.append(place)
        held[key] = held.get(key, 0) + 1
    for place in repeats:
        for attempt in range(_SWAPS_MAX):
            other = partner(place, attempt)
            mine, theirs = dealt[place], dealt[other]
            gives, takes = mine * topic_count + rows[other], theirs * topic_count + rows[place]
            if gives in held or takes in held:
                continue
            for key in (mine * topic_count + rows[place], theirs * topic_count + rows[other]):
                held[key] -= 1
                if not held[key]:
                    del held[key]
            held[gives] = held[takes] = 1
            dealt[place], dealt[other] = theirs, mine
            break
    return np.array(dealt, np.int64)


def _all_follow(count: int) -> NDArray[np.uint8]:
    return np.full(count, int(Role.FOLLOWS), np.uint8)
