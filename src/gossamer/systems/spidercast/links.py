"""The neighbours of both tasks of SpiderCast as one set of links, their addresses, and the neighbours on each topic."""

from collections.abc import Collection, Iterable, Sequence

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.actions import Action, Connect, Disconnect
from gossamer.protocols.contract.facts import NeighbourDown, NeighbourUp
from gossamer.protocols.contract.messages import Peer
from gossamer.protocols.links import TopicLinks
from gossamer.systems.spidercast.task import Neighbour, NeighbourTask


class Links(TopicLinks):
    """Links to the neighbours of either task. Peers that were sent a CONNECT have an address here too."""

    __slots__ = ("_tasks",)

    def __init__(self, tasks: Sequence[NeighbourTask], own: Collection[TopicId]) -> None:
        super().__init__(own)
        self._tasks = tasks

    def _holders(self, topic: TopicId) -> Iterable[NodeId]:
        return {node for task in self._tasks for node, each in task.neighbours.items() if topic in each.interest}

    def is_neighbour(self, node: NodeId) -> bool:
        """Whether a node is a neighbour in either task."""
        return any(node in task.neighbours for task in self._tasks)

    def add(self, kind: int, node: NodeId, neighbour: Neighbour, out: list[Action]) -> None:
        """Add a neighbour to one task, and a link if there was none."""
        is_new = not self.is_neighbour(node)
        self._tasks[kind].add(node, neighbour)
        self.changed()
        if is_new:
            out.append(Connect(self.peer(node)))
            self._report(NeighbourUp(node), out)

    def remove(self, kind: int, node: NodeId, out: list[Action]) -> None:
        """Remove a neighbour from one task, and the link if it is not a neighbour in the other task."""
        self._tasks[kind].remove(node)
        self.changed()
        if not self.is_neighbour(node):
            out.append(Disconnect(node))
            self._report(NeighbourDown(node), out)
            self.addresses.pop(node, None)

    def note_address(self, peer: Peer) -> None:
        """Keep the address of a peer that sends or is sent a CONNECT."""
        self.addresses[peer.node] = peer.address

    def forget_address(self, node: NodeId) -> None:
        """A CONNECT is no longer open; the address is kept if the node is a neighbour."""
        if not self.is_neighbour(node):
            self.addresses.pop(node, None)
