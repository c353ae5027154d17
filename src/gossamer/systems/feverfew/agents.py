"""BubbleSample's agent view: the searches that a node takes part in for others and for itself.

Differs (`agents_meet`): the paper's agent compares searches with its random view only. If all nodes search at once, an
agent view of 40 places loses most searches before they match. Here an agent also compares searches with all nodes that
exchanges of similar views name: these are told with their interests anyway, and are several times as many as the new nodes
of the random view. It compares searches with each other too, so that two searchers of one topic find each other where
their searches meet, and a full view keeps the topics that are nearest to the agent, a random order that is the same for
all searches of a topic. Searches of one topic therefore remain at the same agents. An agent keeps a search for
`linger_cycles` after its last hop.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from gossamer.model.values.draw import Purpose, draw
from gossamer.model.values.ids import NodeId, TopicId


@dataclass(slots=True)
class AgentSearch:
    """A search as an agent keeps it."""

    topic: TopicId
    node: NodeId
    ttl: int
    address: bytes
    since_us: int


class AgentView:
    """A bounded list of searches."""

    __slots__ = ("_meet", "_node", "_size", "searches")

    def __init__(self, node: NodeId, size: int, meet: bool) -> None:
        self.searches: list[AgentSearch] = []
        self._node = node
        self._size = size
        self._meet = meet

    def add(self, search: AgentSearch) -> list[AgentSearch]:
        """Add a search; returns the other searches for its topic that it meets here."""
        if not self._size:
            return []
        for known in self.searches:
            if known.topic == search.topic and known.node == search.node:
                known.ttl = max(known.ttl, search.ttl)
                return []
        met = [known for known in self.searches if known.topic == search.topic] if self._meet else []
        if len(self.searches) < self._size:
            self.searches.append(search)
            return met
        at = self._victim()
        if not self._meet or self._distance(search.topic) < self._distance(self.searches[at].topic):
            self.searches[at] = search
        return met

    def to_forward(self, now_us: int, least_us: int) -> Iterator[AgentSearch]:
        """The searches with hops left that have been here for at least `least_us`; each loses a hop."""
        for search in self.searches:
            if search.ttl and now_us - search.since_us >= least_us:
                search.ttl -= 1
                yield search

    def _victim(self) -> int:
        """The place of the search that a full view gives up: the farthest, or the oldest as in the paper's view."""
        places = range(len(self.searches))
        if self._meet:
            return max(places, key=lambda place: (self._distance(self.searches[place].topic), -place))
        return min(places, key=lambda place: (self.searches[place].since_us, place))

    def _distance(self, topic: TopicId) -> int:
        """How far this node is from a topic. All nodes compute the same distance, whatever their seeds."""
        return draw(0, self._node, Purpose.AGENT_PLACE, 0, item=topic)
