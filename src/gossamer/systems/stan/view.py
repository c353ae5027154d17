"""One node's view of one topic: so many peers, those of smallest weight that it has heard of."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from gossamer.model.values.draw import ITEM_FACTOR, MASK, Purpose, draw, draw_base, finish
from gossamer.model.values.ids import NodeId, TopicId


def topic_seed(seed: int, topic: TopicId) -> int:
    """The seed of all that is drawn in one topic's overlay: nothing there depends on any other topic."""
    return draw(seed, 0, Purpose.STAN_TOPIC, 0, item=topic)


def weight_key(seed: int, node: NodeId) -> int:
    """What a node's weights have in common; the same in all its topics, which is what aligns them."""
    return draw_base(seed, node, Purpose.STAN_WEIGHT, 0)


class TopicView:
    """Peers by weight, lightest first. Positions in that order are drawn.

    Paper: "Hash(string(myself) + string(id))" (Listing 1).
    Differs: the hash is keyed by the node's own seed, so that nobody can make up an id that this node will prefer.
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
        """Keep the lightest of what is held and what is offered; (who is new, who had to go)."""
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
        """Take a peer out; says whether it was there."""
        entry = self._entry(node)
        if entry not in self._peers:
            return False
        self._peers.remove(entry)
        return True

    def _entry(self, node: NodeId) -> tuple[int, NodeId]:
        return finish((self._key + node * ITEM_FACTOR) & MASK), node
