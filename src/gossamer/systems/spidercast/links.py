"""The neighbours of both tasks of SpiderCast as one set of links, their addresses, and the neighbours on each topic."""

from collections.abc import Collection, Sequence

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.actions import Action, Connect, Disconnect, Observe, Send
from gossamer.protocols.contract.facts import Fact, NeighbourDown, NeighbourUp
from gossamer.protocols.contract.messages import Peer, WireMessage
from gossamer.protocols.contract.parts import NOTHING
from gossamer.systems.spidercast.task import Neighbour, NeighbourTask


class Links:
    """Links to the neighbours of either task. Peers that were sent a CONNECT have an address here too."""

    __slots__ = ("_addresses", "_facts", "_fresh", "_last", "_own", "_tasks")

    def __init__(self, tasks: Sequence[NeighbourTask], own: Collection[TopicId]) -> None:
        self._tasks = tasks
        # The topics of this node.
        self._own = own
        self._addresses: dict[NodeId, bytes] = {}
        # Answers of `neighbours_on` for the node's own topics: the last ones, and those that are still up to date.
        self._last: dict[TopicId, tuple[NodeId, ...]] = {}
        self._fresh: dict[TopicId, tuple[NodeId, ...]] = {}
        self._facts: list[Fact] = []

    def neighbours_on(self, topic: TopicId) -> tuple[NodeId, ...]:
        """See `TopicNeighbours`: neighbours of either task that hold the topic, each once, by id."""
        found = self._fresh.get(topic)
        return self._compute(topic) if found is None else found

    def _compute(self, topic: TopicId) -> tuple[NodeId, ...]:
        nodes = {
            node: None
            for task in self._tasks
            for node, neighbour in task.neighbours.items()
            if topic in neighbour.interest
        }
        found = tuple(sorted(nodes))
        # Answers for other topics are not kept: peers can name any number of them.
        if topic in self._own:
            if self._last.setdefault(topic, found) != found:
                self._last[topic] = found
            found = self._fresh[topic] = self._last[topic]
        return found

    def changed(self) -> None:
        """A neighbour or the interest of a neighbour has changed: answers of `neighbours_on` must be computed again."""
        self._fresh.clear()

    def forget_topic(self, topic: TopicId) -> None:
        """The node no longer holds a topic."""
        self._last.pop(topic, None)
        self._fresh.pop(topic, None)

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
            self._state(NeighbourUp(node), out)

    def remove(self, kind: int, node: NodeId, out: list[Action]) -> None:
        """Remove a neighbour from one task, and the link if it is not a neighbour in the other task."""
        self._tasks[kind].remove(node)
        self.changed()
        if not self.is_neighbour(node):
            out.append(Disconnect(node))
            self._state(NeighbourDown(node), out)
            self._addresses.pop(node, None)

    def take_facts(self) -> Sequence[Fact]:
        """The links that came and went since the last call."""
        if not self._facts:
            return NOTHING
        facts, self._facts = self._facts, []
        return facts

    def peer(self, node: NodeId) -> Peer:
        """A node with its last known address."""
        return Peer(node, self._addresses.get(node, b""))

    def note_address(self, peer: Peer) -> None:
        """Keep the address of a peer that sends or is sent a CONNECT."""
        self._addresses[peer.node] = peer.address

    def forget_address(self, node: NodeId) -> None:
        """A CONNECT is no longer open; the address is kept if the node is a neighbour."""
        if not self.is_neighbour(node):
            self._addresses.pop(node, None)

    def to(self, nodes: tuple[NodeId, ...], message: WireMessage) -> Send:
        """Send a message to these nodes, with their addresses."""
        addresses = tuple(self._addresses.get(node, b"") for node in nodes)
        return Send(nodes, message, addresses if any(addresses) else ())

    def _state(self, fact: Fact, out: list[Action]) -> None:
        self._facts.append(fact)
        out.append(Observe(fact))
