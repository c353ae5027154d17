"""Interests with communities: a membership table with given figures in which users that are close follow the same topics.

The idea: users and topics stand on a circle. A user takes most of its topics from a window of the circle around its own
place, and the rest anywhere, by popularity. Topic sizes and the activity of users are those of the Douban-like generator
(`make_douban_interests`), so that two workloads with the same figures differ only in the correlation of interests. The
crawl of Ma, Wang, Sun (2014) had correlated interests, but their paper publishes no measure of them: the window and the
share of local subscriptions are chosen.

Every user and every topic has its number of ends, and the ends are joined. A topic draws its local subscribers from the
users of its window without replacement, in proportion to the ends that they have left (Efraimidis and Spirakis 2006), so
that no draw is ever rejected. The ends that are left are joined at random, which is by popularity.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gossamer.kernels.sampling import draw_items, draws, units
from gossamer.model.arrays.interest import Interest
from gossamer.model.values.draw import Purpose, below, draw
from gossamer.model.values.errors import InputError
from gossamer.workloads.interests import (
    ACTIVITY_SKEWS,
    U64,
    Figures,
    activity_sizes,
    figures_of,
    topic_sizes,
    without_repeats,
)

Places = NDArray[np.float64]
Counts = NDArray[np.int64]

LOCAL = U64(Purpose.COMMUNITY_LOCAL)
PLACE = U64(Purpose.COMMUNITY_PLACE)

# Chosen: swaps of a repeated pair with other pairs that are not local, before any partner is taken.
_FAR_SWAPS = 200
# Chosen: topics that want more than an eighth of the users of their window draw first, while all of these have ends left.
_LARGE_SHARE = 8


@dataclass(frozen=True)
class CommunityLaw:
    """The width of a user's window as a share of the circle, and the share of its topics that lie in the window."""

    # Chosen: a tenth of the circle, 1,000 users and 3,129 topics with the figures of the paper.
    window: float = 0.1
    local: float = 0.8


@dataclass(frozen=True)
class CommunityInterests:
    """The table, its figures, the places of users and topics on a circle of length 1, and what was reached of the law."""

    interest: Interest
    figures: Figures
    user_places: Places
    topic_places: Places
    # The share of subscriptions whose topic lies in the window of the user.
    local_share: float


def make_community_interests(wanted: Figures, seed: int, law: CommunityLaw | None = None) -> CommunityInterests:
    """A membership table with these figures and with communities. A few subscriptions may be missing in dense tables."""
    law = law or CommunityLaw()
    if not 0 < law.window <= 1:
        raise InputError(f"`window` must lie above 0 and be at most 1, got {law.window}")
    if not 0 <= law.local <= 1:
        raise InputError(f"`local` must lie between 0 and 1, got {law.local}")
    sizes = topic_sizes(wanted)
    # As in the Douban-like generator: a table that is too dense for uneven users gets users that differ less.
    for skew in ACTIVITY_SKEWS:
        made = _deal(sizes, activity_sizes(wanted, skew), law, seed)
        if made.figures == wanted:
            break
    return made


def _deal(sizes: Counts, activity: Counts, law: CommunityLaw, seed: int) -> CommunityInterests:
    """Join the ends of users and topics: local ones within windows, the others at random."""
    user_count, topic_count = len(activity), len(sizes)
    # Users stand at equal distances, in a random order.
    around = np.argsort(draws(U64(seed), PLACE, U64(0), user_count), kind="stable")
    user_places = np.empty(user_count, np.float64)
    user_places[around] = (np.arange(user_count) + 0.5) / user_count
    topic_places = units(U64(seed), PLACE, U64(1), topic_count)

    near, near_topics = _join_windows(sizes, activity, around, topic_places, law, seed)
    far = np.repeat(np.arange(user_count), activity - np.bincount(near, minlength=user_count))
    far = far[np.argsort(draws(U64(seed), LOCAL, U64(2), len(far)), kind="stable")]
    far_topics = np.repeat(np.arange(topic_count), sizes - np.bincount(near_topics, minlength=topic_count))
    users, topics = np.concatenate((near, far)), np.concatenate((near_topics, far_topics))

    def partner(place: int, attempt: int) -> int:
        """A place outside the windows, or any place where these have no user to swap."""
        bits = draw(seed, place, Purpose.COMMUNITY_SWAP, attempt)
        if attempt < _FAR_SWAPS:
            return len(near) + below(bits, len(far))
        return below(bits, len(users))

    users = without_repeats(users, topics, topic_count, partner)
    keys = np.unique(users * topic_count + topics)
    users, topics = np.divmod(keys, topic_count)
    interest = Interest.from_pairs(users, topics, user_count, topic_count)
    is_local = circle_distance(user_places[users], topic_places[topics]) <= law.window / 2
    return CommunityInterests(interest, figures_of(interest), user_places, topic_places, float(is_local.mean()))


def _join_windows(
    sizes: Counts, activity: Counts, around: Counts, topic_places: Places, law: CommunityLaw, seed: int
) -> tuple[Counts, Counts]:
    """The local pairs as (users, topics): each topic draws users of its window by the local ends that they have left."""
    user_count = len(activity)
    width = max(int(law.window * user_count), 1)
    wanted = _local_counts(sizes, law.local, seed, counter=0)
    # By position around the circle.
    left = _local_counts(activity, law.local, seed, counter=1)[around]
    starts = np.rint(topic_places * user_count - width / 2).astype(np.int64)
    users: list[Counts] = [np.empty(0, np.int64)]
    topics: list[int] = []
    for topic in _drawing_order(wanted, width, seed):
        window = np.arange(starts[topic], starts[topic] + width) % user_count
        weights = left[window]
        count = min(int(wanted[topic]), int(np.count_nonzero(weights)))
        if not count:
            continue
        bits = draw_items(U64(seed), U64(topic), LOCAL, U64(3), window.astype(np.int32))
        values = 1.0 - (bits >> U64(11)) * 2.0**-53
        times = np.full(width, np.inf)
        np.divide(-np.log(values), weights, out=times, where=weights > 0)
        drawn = window[np.argpartition(times, count - 1)[:count]]
        left[drawn] -= 1
        users.append(around[drawn])
        topics += [topic] * count
    return np.concatenate(users), np.array(topics, np.int64)


def _local_counts(sizes: Counts, share: float, seed: int, counter: int) -> Counts:
    """How many of each one's ends are local: the share, rounded at random so that it is exact on average."""
    rounded = np.floor(share * sizes + units(U64(seed), LOCAL, U64(counter), len(sizes)))
    return rounded.astype(np.int64)


def _drawing_order(wanted: Counts, width: int, seed: int) -> list[int]:
    """The topics in the order in which they draw: large ones by size, then the others at random.

    In the order of size, the last and smallest topics would find users without ends and be less local than others.
    """
    keys = draws(U64(seed), LOCAL, U64(4), len(wanted))
    large = np.where(wanted > width // _LARGE_SHARE, wanted, 0)
    order: list[int] = np.lexsort((keys, -large)).tolist()
    return order


def circle_distance(one: Places, other: Places) -> Places:
    """The distance of places on a circle of length 1."""
    apart = np.abs(one - other)
    distances: Places = np.minimum(apart, 1.0 - apart)
    return distances
