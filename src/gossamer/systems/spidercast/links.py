"""The neighbours of both tasks of SpiderCast as one set of links: who they are, where they are, who holds a topic."""

from collections.abc import Collection, Sequence

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.actions import Action, Connect, Disconnect, Observe, Send
from gossamer.protocols.contract.facts import NeighbourDown, NeighbourUp
from gossamer.protocols.contract.messages import Message, Peer
from gossamer.systems.spidercast.task import Neighbour, NeighbourTask


class Links:
    """Links over the tasks' neighbours. A peer that is asked has an address here too."""

    __slots__ = ("_addresses", "_on", "_own", "_tasks")

    def __init__(self, tasks: Sequence[NeighbourTask], own: Collection[TopicId]) -> None:
        self._tasks = tasks
        self._own = own
        self._addresses: dict[NodeId, bytes] = {}
        # Answers of `neighbours_on` since a neighbour or an interest last changed.
        self._on: dict[TopicId, tuple[NodeId, ...]] = {}

    def neighbours_on(self, topic: TopicId) -> tuple[NodeId, ...]:
        """See `interface.Overlay`: neighbours of either task, each once, by id. Asked for every message, so it is kept."""
        found = self._on.get(topic)
        if found is None:
            nodes = {
                node: None
                for task in self._tasks
                for node, neighbour in task.neighbours.items()
                if topic in neighbour.interest
            }
            found = tuple(sorted(nodes))
            # Topics of others are without number.
            if topic in self._own:
                self._on[topic] = found
        return found

    def changed(self) -> None:
        """Neighbours, or what somebody holds, are not what they were."""
        self._on.clear()

    def is_neighbour(self, node: NodeId) -> bool:
        """Whether it is a neighbour of either task."""
        return any(node in task.neighbours for task in self._tasks)

    def add(self, kind: int, node: NodeId, neighbour: Neighbour, out: list[Action]) -> None:
        """A neighbour of one task, and a link if there was none."""
        is_new = not self.is_neighbour(node)
        self._tasks[kind].add(node, neighbour)
        self.changed()
        if is_new:
            out.append(Connect(self.peer(node)))
            out.append(Observe(NeighbourUp(node)))

    def remove(self, kind: int, node: NodeId, out: list[Action]) -> None:
        """No neighbour of this task; no link if it is none of the other either."""
        self._tasks[kind].remove(node)
        self.changed()
        if not self.is_neighbour(node):
            out.append(Disconnect(node))
            out.append(Observe(NeighbourDown(node)))
            self._addresses.pop(node, None)

    def peer(self, node: NodeId) -> Peer:
        """Somebody with the address it was last known at."""
        return Peer(node, self._addresses.get(node, b""))

    def note_address(self, peer: Peer) -> None:
        """Where somebody is who is asked, or asks."""
        self._addresses[peer.node] = peer.address

    def forget_address(self, node: NodeId) -> None:
        """Somebody is asked no longer; the address of a neighbour is kept."""
        if not self.is_neighbour(node):
            self._addresses.pop(node, None)

    def to(self, nodes: tuple[NodeId, ...], message: Message) -> Send:
        """A message for these nodes, with their addresses."""
        addresses = tuple(self._addresses.get(node, b"") for node in nodes)
        return Send(nodes, message, addresses if any(addresses) else ())
