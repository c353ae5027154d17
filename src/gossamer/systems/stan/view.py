"""One node's view of one topic: a limited number of peers, those of smallest weight among all that it learned of."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from gossamer.model.values.draw import ITEM_FACTOR, MASK, Purpose, draw, draw_base, finish
from gossamer.model.values.ids import NodeId, TopicId


def topic_seed(seed: int, topic: TopicId) -> int:
    """The seed of all draws in one topic's overlay: they do not depend on any other topic."""
    return draw(seed, 0, Purpose.STAN_TOPIC, 0, item=topic)


def weight_key(seed: int, node: NodeId) -> int:
    """The key of a node's weights. It is the same in all its topics, which aligns their views."""
    return draw_base(seed, node, Purpose.STAN_WEIGHT, 0)


class TopicView:
    """Peers by weight, lightest first. Walks draw positions in this order.

    Paper: "Hash(string(myself) + string(id))" (Listing 1).
    Differs: the hash is keyed with the node's own seed, so that no other node can choose an id that this node prefers.
    """

    __slots__ = ("_key", "_node", "_peers", "size")

    def __init__(self, node: NodeId, key: int, size: int) -> None:
        self._node = node
        self._key = key
        self._peers: list[tuple[int, NodeId]] = []
        self.size = size

    def __len__(self) -> int:
        return len(self._peers)

    def __contains__(self, node: NodeId) -> bool:
        return self._entry(node) in self._peers

    def __getitem__(self, position: int) -> NodeId:
        return self._peers[position][1]

    def nodes(self) -> list[NodeId]:
        """The peers, lightest first."""
        return [node for _, node in self._peers]

    def weigh(self, nodes: Iterable[NodeId]) -> tuple[Sequence[NodeId], Sequence[NodeId]]:
        """Keep the lightest of the present and the offered peers; returns (added, removed)."""
        before = self._peers
        peers = list(before)
        for node in nodes:
            entry = self._entry(node)
            place = bisect_left(peers, entry)
            if node == self._node or place >= self.size or (place < len(peers) and peers[place] == entry):
                continue
            peers.insert(place, entry)
            del peers[self.size :]
        if len(peers) == len(before) and peers == before:
            return (), ()
        self._peers = peers
        added = [entry[1] for entry in peers if entry not in before]
        return added, [entry[1] for entry in before if entry not in peers]

    def drop(self, node: NodeId) -> bool:
        """Remove a peer; returns whether it was in the view."""
        entry = self._entry(node)
        if entry not in self._peers:
            return False
        self._peers.remove(entry)
        return True

    def _entry(self, node: NodeId) -> tuple[int, NodeId]:
        return finish((self._key + node * ITEM_FACTOR) & MASK), node
