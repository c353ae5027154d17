"""Social graphs with power-law degrees and communities, and the friend and follower workloads that they give.

A configuration model in two layers: every node has a degree from a power law and a community. A share of its stubs is
matched within the community, and the rest is matched with any node. Self-loops and repeated links are dropped, and
random links between the owners of stubs replace them, so that the mean degree is the requested one. The cost is that of
sorting: O(m log m).
"""

import gzip
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gossamer.kernels.sampling import draws, units
from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.types import Integers
from gossamer.model.values.draw import Purpose
from gossamer.model.values.errors import InputError
from gossamer.workloads.interests import check_sizes
from gossamer.workloads.laws import SizeLaw

U64 = np.uint64


@dataclass(frozen=True)
class SocialLaw:
    """Parameters of a social graph.

    Chosen: exponent 2.5 and communities of about 100, the middle of the range of measured social graphs.
    """

    mean_degree: float = 20.0
    exponent: float = 2.5
    community_size: int = 100
    # The share of links within a community.
    inside: float = 0.7


def make_social_graph(node_count: int, law: SocialLaw, directed: bool, seed: int) -> tuple[Integers, Integers]:
    """(source, target) of every link, each once and without self-loops; undirected links have source < target.

    The mean degree is that of the law, rounded to a whole number of links. (Directed: mean out-degree and in-degree.)
    """
    check_sizes(node_count, 1)
    if node_count < 2:
        raise InputError(f"a social graph needs at least 2 nodes, got {node_count}")
    if not 0 < law.mean_degree <= (node_count - 1) / 2:
        raise InputError(f"the mean degree must lie between 0 and {(node_count - 1) / 2:g}, got {law.mean_degree:g}")
    community_count = max(1, node_count // law.community_size)
    # The square makes communities differ in size: the first are several times larger than the last.
    places = units(U64(seed), U64(Purpose.GRAPH_COMMUNITY), U64(0), node_count) ** 2
    communities = (places * community_count).astype(np.int64)
    out_degrees = _degrees(node_count, law, seed, 0)
    sources = targets = _stubs(out_degrees, communities, law, seed, 0)
    if directed:
        targets = _stubs(_degrees(node_count, law, seed, 1), communities, law, seed, 1)
        source, target = _match(sources, targets)
    else:
        source, target = _pair(sources)
    wanted = int(law.mean_degree * node_count / (1 if directed else 2) + 0.5)
    keys = np.unique(_keys(source, target, node_count, directed))
    if len(keys) > wanted:
        order = np.argsort(draws(U64(seed), U64(Purpose.GRAPH_STUB), U64(_SURPLUS), len(keys)), kind="stable")
        keys = np.sort(keys[order[:wanted]])
    keys = _filled(keys, wanted, (sources[0], targets[0]), node_count, directed, seed)
    source, target = np.divmod(keys, node_count)
    return source, target


# The counters of draws for links that are removed, and for the first links that are added.
_SURPLUS, _ADDED = 2, 3
# Chosen: the number of times that links between owners of stubs are drawn. In a dense graph most of these repeat links of
# hubs; then links between any two nodes are drawn, of which at least half are new.
_BY_STUBS = 12


def _keys(source: Integers, target: Integers, node_count: int, directed: bool) -> Integers:
    """One number for each link that is not a self-loop."""
    if not directed:
        source, target = np.minimum(source, target), np.maximum(source, target)
    keys: Integers = (source * node_count + target)[source != target]
    return keys


def _filled(
    keys: Integers, wanted: int, owners: tuple[Integers, Integers], node_count: int, directed: bool, seed: int
) -> Integers:
    """Add random links until there are `wanted`; `owners` are the nodes of all stubs, of sources and of targets."""
    added = np.empty(0, np.int64)
    everybody = np.arange(node_count, dtype=np.int64)
    attempt = 0
    while (missing := wanted - len(keys) - len(added)) > 0:
        sides = owners if attempt < _BY_STUBS and min(map(len, owners)) else (everybody, everybody)
        bits = draws(U64(seed), U64(Purpose.GRAPH_STUB), U64(_ADDED + attempt), 2 * missing)
        halves = (bits >> U64(32), bits & U64(2**32 - 1))
        source, target = (side[_below(half, len(side))] for side, half in zip(sides, halves, strict=True))
        drawn = _keys(source, target, node_count, directed)
        # In the order in which they were drawn, so that no node is preferred.
        drawn = drawn[np.sort(np.unique(drawn, return_index=True)[1])]
        drawn = drawn[~_contains(keys, drawn) & ~_contains(added, drawn)]
        added = np.sort(np.concatenate((added, drawn[:missing])))
        attempt += 1
    return np.sort(np.concatenate((keys, added)), kind="stable") if len(added) else keys


def _below(bits: NDArray[np.uint64], bound: int) -> Integers:
    """A random place below `bound` for each 32 random bits; the product of both fits into 64 bits."""
    places: Integers = ((bits * U64(bound)) >> U64(32)).astype(np.int64)
    return places


def _contains(keys: Integers, wanted: Integers) -> NDArray[np.bool_]:
    """Which of the wanted keys are among `keys`, which are ascending."""
    if not len(keys):
        return np.zeros(len(wanted), np.bool_)
    places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.asarray(keys[places] == wanted)


def interests_of_graph(source: Integers, target: Integers, node_count: int, directed: bool) -> Interest:
    """Every user is a topic. Its subscribers are its friends or, if directed, its followers (source follows target)."""
    if directed:
        return Interest.from_pairs(source, target, node_count, node_count)
    nodes, topics = np.concatenate((source, target)), np.concatenate((target, source))
    return Interest.from_pairs(nodes, topics, node_count, node_count)


def read_friends(path: Path) -> Interest:
    """The friend workload of a list of undirected edges: two ids a line, plain text or gzip.

    Nodes are renumbered from zero in the order of their ids. For small files in which every line is valid; `gossamer
    ingest` reads all others.
    """
    ids, places = np.unique(read_pairs(path, "edges"), return_inverse=True)
    u, v = places.reshape(-1, 2).T
    keys = np.unique((np.minimum(u, v) * len(ids) + np.maximum(u, v))[u != v])
    source, target = np.divmod(keys, max(len(ids), 1))
    return interests_of_graph(source, target, len(ids), directed=False)


def read_memberships(path: Path) -> Interest:
    """The workload of a list of memberships: the ids of a user and of a group a line. Otherwise as `read_friends`."""
    users, groups = read_pairs(path, "memberships").T
    user_ids, nodes = np.unique(users, return_inverse=True)
    group_ids, topics = np.unique(groups, return_inverse=True)
    keys = np.unique(nodes * len(group_ids) + topics)
    return Interest.from_pairs(*np.divmod(keys, max(len(group_ids), 1)), len(user_ids), len(group_ids))


def read_pairs(path: Path, what: str) -> Integers:
    """The two columns of ids of a file, plain text or gzip."""
    try:
        pairs = np.loadtxt(path, dtype=np.int64, ndmin=2)
    except (ValueError, EOFError, gzip.BadGzipFile) as error:
        raise InputError(f"{path} is not a list of {what} with two ids a line: {error}") from None
    if pairs.shape[1] != 2:
        raise InputError(f"{path} is not a list of {what}: it has {pairs.shape[1]} columns, not two")
    return pairs


def _degrees(node_count: int, law: SocialLaw, seed: int, counter: int) -> Integers:
    """Power-law degrees with the mean of the law: the smallest degree is raised until the mean is reached.

    With a mean below that of a law with the smallest degree 1, some nodes have no links.
    """
    uniforms = units(U64(seed), U64(Purpose.GRAPH_DEGREE), U64(counter), node_count)
    most = max(2, min(node_count - 1, int(law.mean_degree * node_count**0.5)))
    low, high = 1, most
    while low < high:
        middle = (low + high) // 2
        if SizeLaw(middle, most, law.exponent).sizes(uniforms).mean() < law.mean_degree:
            low = middle + 1
        else:
            high = middle
    degrees = SizeLaw(low, most, law.exponent).sizes(uniforms)
    # The smallest degree is a whole number, so the mean is too large: scale all degrees down by the same factor.
    thinned = degrees * (law.mean_degree / degrees.mean())
    rounding = units(U64(seed), U64(Purpose.GRAPH_DEGREE), U64(counter + 2), node_count)
    whole: Integers = np.floor(thinned + rounding).astype(np.int64)
    return whole


def _stubs(
    degrees: Integers, communities: Integers, law: SocialLaw, seed: int, counter: int
) -> tuple[Integers, Integers]:
    """The owners of stubs, in random order within their pool: pool -1 is all nodes, other pools are communities."""
    owners = np.repeat(np.arange(len(degrees), dtype=np.int64), degrees)
    within = np.arange(len(owners)) - np.repeat(np.cumsum(degrees) - degrees, degrees)
    # With stubs for more than a quarter of the community, most pairs would repeat, and repeated links merge.
    members = np.bincount(communities, minlength=int(communities.max()) + 1)[communities]
    limits = np.minimum(np.rint(degrees * law.inside), members // 4)
    pools = np.where(within < limits[owners], communities[owners], -1)
    order = np.lexsort((draws(U64(seed), U64(Purpose.GRAPH_STUB), U64(counter), len(owners)), pools))
    return owners[order], pools[order]


def _pair(stubs: tuple[Integers, Integers]) -> tuple[Integers, Integers]:
    """Link consecutive stubs of the same pool; an odd stub is left over."""
    owners, pools = stubs
    first = np.searchsorted(pools, pools, side="left")
    even = (np.arange(len(pools)) - first) % 2 == 0
    heads = np.flatnonzero(even[:-1] & (pools[1:] == pools[:-1]))
    return owners[heads], owners[heads + 1]


def _match(sources: tuple[Integers, Integers], targets: tuple[Integers, Integers]) -> tuple[Integers, Integers]:
    """Link the i-th source of a pool to its i-th target; surplus stubs of either side are left over."""
    (source_owners, source_pools), (target_owners, target_pools) = sources, targets
    source_rank = np.arange(len(source_pools)) - np.searchsorted(source_pools, source_pools, side="left")
    start = np.searchsorted(target_pools, source_pools, side="left")
    count = np.searchsorted(target_pools, source_pools, side="right") - start
    met = source_rank < count
    return source_owners[met], target_owners[(start + source_rank)[met]]
