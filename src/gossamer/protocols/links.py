"""What the links of every system have in common: addresses, reports of links that come and go, neighbours on a topic."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Sequence

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.actions import Action, Observe, Send
from gossamer.protocols.contract.facts import Fact, NeighbourDown, NeighbourTopicsChanged, NeighbourUp
from gossamer.protocols.contract.messages import Peer, WireMessage
from gossamer.protocols.contract.parts import NOTHING


class LinkReports:
    """The addresses of neighbours, and the facts about links that the node reports."""

    __slots__ = ("_facts", "addresses")

    def __init__(self) -> None:
        # Of neighbours, and of nodes that were asked for a link and have not answered.
        self.addresses: dict[NodeId, bytes] = {}
        self._facts: list[Fact] = []

    def peer(self, node: NodeId) -> Peer:
        """A node with its last known address."""
        return Peer(node, self.addresses.get(node, b""))

    def to(self, nodes: Collection[NodeId], message: WireMessage) -> Send:
        """Send a message to these nodes, with their addresses."""
        addresses = tuple(self.addresses.get(node, b"") for node in nodes)
        return Send(tuple(nodes), message, addresses if any(addresses) else ())

    def take_facts(self) -> Sequence[Fact]:
        """The links that came and went since the last call."""
        if not self._facts:
            return NOTHING
        facts, self._facts = self._facts, []
        return facts

    def _report(self, fact: NeighbourUp | NeighbourDown, out: list[Action]) -> None:
        self._facts.append(fact)
        out.append(Observe(fact))


class TopicLinks(LinkReports, ABC):
    """The same, with the neighbours on each topic: the answers are kept until links or interests change."""

    __slots__ = ("_fresh", "_last", "_own")

    def __init__(self, own: Collection[TopicId]) -> None:
        super().__init__()
        # The topics of this node.
        self._own = own
        # Answers of `neighbours_on` for the node's own topics: the last ones, and those that are still up to date.
        self._last: dict[TopicId, tuple[NodeId, ...]] = {}
        self._fresh: dict[TopicId, tuple[NodeId, ...]] = {}

    @abstractmethod
    def _holders(self, topic: TopicId) -> Iterable[NodeId]:
        """The neighbours that hold a topic, each once, in any order."""

    def neighbours_on(self, topic: TopicId) -> tuple[NodeId, ...]:
        """See `TopicNeighbours`: the neighbours that hold the topic, by id."""
        found = self._fresh.get(topic)
        return self._compute(topic) if found is None else found

    def _compute(self, topic: TopicId) -> tuple[NodeId, ...]:
        found = tuple(sorted(self._holders(topic)))
        # Answers for other topics are not kept: peers can name any number of them.
        if topic in self._own:
            if self._last.setdefault(topic, found) != found:
                self._last[topic] = found
            found = self._fresh[topic] = self._last[topic]
        return found

    def changed(self) -> None:
        """A neighbour or the interest of a neighbour has changed: answers of `neighbours_on` must be computed again."""
        self._fresh.clear()

    def topics_changed(self, node: NodeId) -> None:
        """The interest of a neighbour has changed: the parts above must know."""
        self.changed()
        self._facts.append(NeighbourTopicsChanged(node))

    def forget_topic(self, topic: TopicId) -> None:
        """The node no longer holds a topic."""
        self._last.pop(topic, None)
        self._fresh.pop(topic, None)
