"""BubbleSample: searches for the holders of rare topics, through agents (Algorithms 4 and 5)."""

from collections.abc import Mapping, Sequence

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.actions import Action
from gossamer.protocols.contract.facts import Heard
from gossamer.protocols.contract.messages import Peer
from gossamer.protocols.contract.parts import InterestLookup
from gossamer.systems.feverfew.agents import AgentSearch, AgentView
from gossamer.systems.feverfew.messages import BUBBLES_MAX, Bubbles, Match, Search, send
from gossamer.systems.feverfew.parameters import FeverfewParameters
from gossamer.systems.feverfew.sizes import Sizes, hops
from gossamer.systems.feverfew.views import FOUND_MAX, ViewCandidate


class TopicCover:
    """A subscription: the neighbours that it lacks, when it began, and when it may search next."""

    __slots__ = ("missing", "search_us", "since_us")

    def __init__(self, now_us: int) -> None:
        # Unknown until the first cover.
        self.missing = 1
        self.since_us = now_us
        self.search_us = 0


class BubbleSample:
    """A node's own searches, and those that it helps with as an agent."""

    __slots__ = ("_found", "_lookup", "_matches", "_node", "_parameters", "_sizes", "_topics", "address", "agents")

    def __init__(
        self,
        parameters: FeverfewParameters,
        node: NodeId,
        topics: Mapping[TopicId, TopicCover],
        lookup: InterestLookup,
        sizes: Sizes,
    ) -> None:
        self._parameters = parameters
        self._node = node
        self._topics = topics
        self._lookup = lookup
        self._sizes = sizes
        # Matches sent in this cycle.
        self._matches = 0
        self.address = b""
        self.agents = AgentView(node, parameters.agent_size, parameters.agents_meet)
        # Nodes that matched a topic which lacks neighbours, until the next cover.
        self._found: dict[NodeId, bytes] = {}

    def take_found(self) -> dict[NodeId, bytes]:
        """The nodes found since the last call, with their addresses."""
        found, self._found = self._found, {}
        return found

    def start(self, cycle: int, now_us: int, out: list[Action]) -> None:
        """Search for subscriptions that have lacked neighbours for long; this node is the first agent."""
        period_us, topics, started = self._parameters.period_us, sorted(self._topics), 0
        for step in range(len(topics)):
            if started == self._parameters.searches:
                return
            # Another subscription comes first in every cycle.
            topic = topics[(cycle + step) % len(topics)]
            cover = self._topics[topic]
            waited_us = now_us - cover.since_us
            if cover.missing <= 0 or waited_us < self._parameters.bubble_cycles * period_us or now_us < cover.search_us:
                continue
            network, size = self._sizes.network_size(), self._sizes.topic_size(topic)
            ttl = min(hops(network, size, self._parameters.shuffle_length), self._parameters.ttl_max)
            cover.search_us = now_us + max(ttl + 1, self._parameters.retry_cycles) * period_us
            self._add(AgentSearch(topic, self._node, ttl, self.address, now_us), out)
            started += 1

    def forward(self, peer: Peer, now_us: int, out: list[Action]) -> None:
        """Algorithm 4: copies travel with a shuffle. A copy is not forwarded in the cycle in which it arrived."""
        least_us = self._parameters.period_us // 2 + 1
        searches = self.agents.to_forward(now_us, least_us)
        copies = tuple(Search(each.topic, each.node, each.ttl, each.address) for each in searches)
        for first in range(0, len(copies), BUBBLES_MAX):
            out.append(send(peer, Bubbles(copies[first : first + BUBBLES_MAX])))

    def take(self, message: Bubbles, now_us: int, out: list[Action]) -> None:
        """Help with searches that a neighbour of the random view has forwarded.

        A node forwards the searches of its own agent view, so that more of them than a view holds are not genuine.
        """
        for each in message.searches[: self._parameters.agent_size]:
            ttl = min(each.ttl, self._parameters.ttl_max)
            self._add(AgentSearch(each.topic, each.node, ttl, each.address, now_us), out)

    def _add(self, search: AgentSearch, out: list[Action]) -> None:
        for other in self.agents.add(search):
            self._notify(search, ViewCandidate(other.node, 0, other.address), out)

    def match(self, random_view: Sequence[ViewCandidate], now_us: int, out: list[Action]) -> None:
        """Algorithm 5. A search ends at this agent when it has matched or is over."""
        self._matches = 0
        linger_us = self._parameters.linger_cycles * self._parameters.period_us
        kept = []
        for search in self.agents.searches:
            matching = self._matching(search, random_view)
            for each in matching:
                self._notify(search, each, out)
            if not matching and (search.ttl or now_us - search.since_us < linger_us):
                kept.append(search)
        self.agents.searches = kept

    def compare(self, told: Sequence[ViewCandidate], out: list[Action]) -> None:
        """Differs (`agents_meet`): compare searches also with the nodes that an exchange of similar views names."""
        if not self._parameters.agents_meet:
            return
        kept = []
        for search in self.agents.searches:
            matching = self._matching(search, told)
            for each in matching:
                self._notify(search, each, out)
            if not matching:
                kept.append(search)
        self.agents.searches = kept

    def _matching(self, search: AgentSearch, nodes: Sequence[ViewCandidate]) -> list[ViewCandidate]:
        return [
            each
            for each in nodes
            if each.node not in (search.node, self._node) and search.topic in self._lookup.topics_of(each.node)
        ]

    def _notify(self, search: AgentSearch, other: ViewCandidate, out: list[Action]) -> None:
        """Tell both the searcher and the node that was found."""
        searcher = ViewCandidate(search.node, 0, search.address)
        for told, about in ((searcher, other), (other, searcher)):
            match = Match(search.topic, about.node, about.address, self._lookup.digest_of(about.node))
            if told.node == self._node:
                self.note(match)
            elif not self._parameters.matches_max or self._matches < self._parameters.matches_max:
                self._matches += 1
                out.append(send(Peer(told.node, told.address), match))

    def note(self, message: Match) -> None:
        """Keep a node that an agent has found, if its topic still lacks neighbours."""
        if message.digest is not None and message.node != self._node:
            self._lookup.note(Heard(message.node, message.address, message.digest))
        cover = self._topics.get(message.topic)
        if cover is not None and cover.missing > 0 and len(self._found) < FOUND_MAX:
            self._found.setdefault(message.node, message.address)
