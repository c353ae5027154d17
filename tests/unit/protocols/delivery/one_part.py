"""One dissemination part above an overlay that does not change, for tests of what all disseminations share."""

import pytest

from gossamer.protocols.contract.actions import Send
from gossamer.protocols.contract.facts import NeighbourUp
from gossamer.protocols.contract.messages import Data
from gossamer.protocols.dissemination.flood import Flood
from gossamer.protocols.dissemination.tree import Tree
from gossamer.protocols.dissemination.tree_messages import TreeData
from gossamer.systems.gossip.machine import Gossip, GossipData, GossipParameters

ME, ONE, TWO = 1, 7, 8
CLASSES = {Flood: Data, Tree: TreeData, Gossip: GossipData}
every_dissemination = pytest.mark.parametrize("kind", [Flood, Tree, Gossip])


class Fixed:
    """An overlay that does not change: 2 and 3 hold the first topic, 3 and 4 the second."""

    def neighbours_on(self, topic):
        return {ONE: (2, 3), TWO: (3, 4)}.get(topic, ())


def make(kind, held=None):
    if kind is Gossip:
        part = Gossip(GossipParameters(gamma=0), 1, ME, held)
        for node, topics in ((2, (ONE,)), (3, (ONE, TWO)), (4, (TWO,))):
            part.learn(NeighbourUp(node), 0, [])
            part._neighbours[node] = dict.fromkeys(topics)
        return part
    return kind(Fixed(), ME, held)


def give(part, event, now_us=5):
    out = []
    part.handle(event, now_us, out)
    return out


def message(kind, sequence=1, topic=ONE, also=(), previous=0):
    made = CLASSES[kind](topic, 9, sequence, 0, 0, b"x", previous, also)
    return GossipData(*(getattr(made, name) for name in Data.__struct_fields__), ttl=9) if kind is Gossip else made


def sent_to(actions):
    return [send.to for send in actions if type(send) is Send and isinstance(send.message, Data)]
