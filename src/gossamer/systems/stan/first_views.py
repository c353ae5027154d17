"""The peers that a node knows in a topic when it enters it, as a driver tells systems that need first peers (StAN).

Machines and kernels must start from the same peers, so every driver takes them from here.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from gossamer.kernels.draw import U64
from gossamer.kernels.sampling import draw_items
from gossamer.model.arrays.interest import Interest
from gossamer.model.values.draw import Purpose
from gossamer.protocols.contract.events import Subscribe
from gossamer.protocols.contract.messages import Peer
from gossamer.simulator.views import InterestOracle, node_ids
from gossamer.systems.stan.kernel import draw_first_views, is_strong
from gossamer.systems.stan.parameters import StanParameters
from gossamer.systems.stan.view import topic_seed

Ids = NDArray[np.int32]


def first_view(factor: float, seed: int, topic: int, members: Ids) -> tuple[Ids, Ids]:
    """(owners, peers) of the views of a topic whose members start together, as positions among the members, ascending.

    Paper: "an Erdos-Renyi random graph for each topic ensuring that it is strongly connected", views that grow with the
    logarithm of the topic. Chosen: if the graph is not strongly connected, a ring through one member of each component
    joins them. This adds one or two links to a topic; another draw would change all links.
    """
    count = len(members)
    if count < 2:
        return np.zeros(0, np.int32), np.zeros(0, np.int32)
    probability = min(1.0, factor * np.log(count) / (count - 1))
    own_seed = U64(topic_seed(seed, topic))
    # Room for the expected number of links and six standard deviations more; if that is too small, for all links.
    expected = count * (count - 1) * probability
    found = room = int(expected + 6 * np.sqrt(expected)) + 1
    while found >= room:
        owners, peers = np.empty(room, np.int32), np.empty(room, np.int32)
        found = draw_first_views(own_seed, members, probability, owners, peers)
        room = count * count
    owners, peers = owners[:found], peers[:found]
    if is_strong(count, owners, peers):
        return owners, peers
    graph = coo_array((np.ones(found, np.int8), (owners, peers)), shape=(count, count))
    components, labels = connected_components(graph, directed=True, connection="strong")
    ring = np.unique(labels, return_index=True)[1]
    links = owners * np.int64(count) + peers
    wanted = np.sort(ring * np.int64(count) + np.roll(ring, 1))
    places = np.searchsorted(links, wanted)
    new = links[np.minimum(places, found - 1)] != wanted if found else np.ones(components, np.bool_)
    joined = np.divmod(np.insert(links, places[new], wanted[new]), count)
    return joined[0].astype(np.int32), joined[1].astype(np.int32)


def first_contact(seed: int, node: int, topic: int, now_us: int, holders: Ids) -> int | None:
    """The random member that introduces a newcomer to a topic, or None if there is no other member."""
    others = holders[holders != node]
    if not len(others):
        return None
    own_seed = topic_seed(seed, topic)
    return int(others[np.argmin(draw_items(U64(own_seed), U64(node), U64(Purpose.STAN_CONTACT), U64(now_us), others))])


class FirstViews:
    """Makes the `Subscribe` events of a simulation (`simulator.population.FirstPeers`)."""

    def __init__(self, parameters: StanParameters, seed: int, oracle: InterestOracle) -> None:
        self._factor = parameters.view_factor
        self._seed = seed
        self._oracle = oracle
        self._views: dict[int, Mapping[int, tuple[Peer, ...]]] = {}

    def start_together(self, interest: Interest) -> None:
        """Draw the first views of all nodes that start together."""
        for topic in np.flatnonzero(interest.popularity).tolist():
            members = interest.nodes_of(topic)
            owners, peers = first_view(self._factor, self._seed, topic, members)
            views: dict[int, list[Peer]] = {}
            for owner, peer in zip(members[owners].tolist(), members[peers].tolist(), strict=True):
                views.setdefault(owner, []).append(Peer(peer))
            self._views[topic] = {owner: tuple(view) for owner, view in views.items()}

    def together(self, node: int, topic: int, role: int) -> Subscribe:
        """The event of a node that starts together with all others."""
        return Subscribe(topic, role, self._views[topic].get(node, ()), joining=False)

    def joining(self, node: int, topic: int, role: int, now_us: int) -> Subscribe:
        """The event of a node that enters a topic later."""
        holders = node_ids(self._oracle.holders(topic)).astype(np.int32)
        contact = first_contact(self._seed, node, topic, now_us, holders)
        return Subscribe(topic, role, () if contact is None else (Peer(contact),))
