"""One node's tree above an overlay that does not change."""

from gossamer.model.values.ids import Role
from gossamer.protocols.contract.events import MessageReceived, Subscribe
from gossamer.protocols.dissemination.tree import Tree
from gossamer.protocols.dissemination.tree_messages import Announce, Named, Prune, TreeData

TOPIC = 7


class Fixed:
    """Three neighbours hold every topic."""

    def neighbours_on(self, topic):
        return (2, 3, 4)


def make(*lazy):
    """The tree of node 1; these neighbours have pruned it."""
    tree = Tree(Fixed(), 1)
    give(tree, Subscribe(TOPIC, Role.BOTH))
    for node in lazy:
        give(tree, MessageReceived(node, Prune(TOPIC)))
    return tree


def give(tree, event, now_us=0):
    out = []
    tree.handle(event, now_us, out)
    return out


def data(sequence, publisher=9):
    return TreeData(TOPIC, publisher, sequence, 0, 0, b"x", sequence - 1)


def named(*names):
    return Announce(tuple(Named(TOPIC, *name) for name in names))
