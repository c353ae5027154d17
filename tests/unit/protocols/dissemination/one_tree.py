"""One node's tree above an overlay that does not change."""

from gossamer.model.values.ids import Role
from gossamer.protocols.contract.actions import Send
from gossamer.protocols.contract.events import MessageReceived, Subscribe
from gossamer.protocols.contract.node import NodeMachine
from gossamer.protocols.delivery.announcements import Announce, MessageRun
from gossamer.protocols.delivery.state import DeliveryState
from gossamer.protocols.dissemination.tree import Tree
from gossamer.protocols.dissemination.tree_messages import Prune, TreeData

TOPIC = 7


class Fixed:
    """Three neighbours hold every topic."""

    def neighbours_on(self, topic):
        return (2, 3, 4)


class OneTree:
    """A tree and its announcements, as one machine."""

    def __init__(self, overlay=None, recovers=False):
        self.held = DeliveryState(1, recovers=recovers)
        self.tree = Tree(overlay or Fixed(), 1, self.held)
        self.announcements = self.held.announcements
        self.machine = NodeMachine((self.announcements, self.tree))

    def __getattr__(self, name):
        return getattr(self.tree, name)


def make(*listeners, **settings):
    """The tree of node 1; these neighbours have pruned it and listen to its announcements."""
    tree = OneTree(**settings)
    give(tree, Subscribe(TOPIC, Role.BOTH))
    for node in listeners:
        give(tree, MessageReceived(node, Prune(TOPIC, True)))
    return tree


def give(tree, event, now_us=0):
    return list(tree.machine.handle(event, now_us))


def sends(actions):
    return [action for action in actions if type(action) is Send]


def data(sequence, publisher=9):
    return TreeData(TOPIC, publisher, sequence, 0, 0, b"x", sequence - 1)


def announced(*names):
    """An announcement of messages (publisher, number), or of a run (publisher, last, count)."""
    return Announce(tuple(MessageRun(TOPIC, publisher, last, 0, *count) for publisher, last, *count in names))
