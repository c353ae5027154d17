"""Feverfew: every subscription covered ln n times (Ma, Wang, Sun, Sci. China Inf. Sci. 57, 2014).

The idea: a random graph is connected when each node has about ln n neighbours. A node therefore wants, for each of its
topics, ln n neighbours that hold it (n is the size of the topic), and chooses nodes that share many of its topics, so that
few neighbours cover all of them. It meets similar nodes by exchanging views with them (GossipSample). A rare topic may
have no subscriber among them: its subscribers search through agents, nodes that compare the search with the random nodes
that they meet (BubbleSample). Cyclon supplies random nodes.

Every cycle has three turns: Cyclon's shuffle, which carries searches; an exchange of similar views; and a new cover.

Readings: Algorithm 2, line 6 selects from newBuffer, not buffer. Algorithm 3 starts from the needs of all subscriptions
(`views.py`). A search of TTL k makes one copy in each cycle, with one hop less, as does the copy: 2^k agents in all.

Differs: the utility is the number of shared uncovered topics; the printed Jaccard index prefers nodes with small interests
and needs twice the links (`utility`).
Differs: an entry of a similar view has an age and is dropped when it is old; the paper does not say how a dead node leaves.
Differs: a node that enters a view is told and must answer, and both ends use the link. A node that does not answer within
a cycle leaves the view and is ignored until it sends something.
Differs: agents compare searches with each other (`agents.py`).
"""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from gossamer.model.values.draw import Purpose, below, draw, draw_base
from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.actions import Action, Observe, Send, SetTimer
from gossamer.protocols.contract.events import (
    Event,
    MessageReceived,
    PeerDown,
    Started,
    Stopping,
    Subscribe,
    TimerFired,
    Unsubscribe,
)
from gossamer.protocols.contract.facts import Fact, Heard, PeerMisbehaved
from gossamer.protocols.contract.messages import Peer, Timer, WireMessage
from gossamer.protocols.contract.parts import NOTHING, InterestLookup
from gossamer.protocols.membership.cyclon import Cyclon, ShuffleSent
from gossamer.protocols.membership.interest_exchange import InterestExchange, InterestFetched
from gossamer.systems.feverfew.agents import AgentSearch, AgentView
from gossamer.systems.feverfew.links import CoverLinks
from gossamer.systems.feverfew.messages import (
    BUBBLES_MAX,
    MESSAGES,
    Bubbles,
    CoverDue,
    Exchange,
    ExchangeDue,
    ExchangeReply,
    FarewellNotice,
    HoldOk,
    HoldRequest,
    InterestNotice,
    Match,
    Pulse,
    PulseDue,
    ReleaseNotice,
    Search,
    SimilarEntry,
)
from gossamer.systems.feverfew.parameters import FeverfewParameters
from gossamer.systems.feverfew.sizes import hops, needed
from gossamer.systems.feverfew.views import FAILED_MAX, FOUND_MAX, Candidate, Utility, ln_cover, merged, most_similar


class TopicCover:
    """A subscription: the neighbours that it lacks, when it began, and when it may search next."""

    __slots__ = ("missing", "search_us", "since_us")

    def __init__(self, now_us: int) -> None:
        # Unknown until the first cover.
        self.missing = 1
        self.since_us = now_us
        self.search_us = 0


class Feverfew:
    """The overlay part."""

    __slots__ = (
        "_address",
        "_asked",
        "_exchange",
        "_links",
        "_lookup",
        "_membership",
        "_node",
        "_parameters",
        "_seed",
        "_unanswered",
        "_utility",
        "_version",
        "agents",
        "cover",
        "failed",
        "found",
        "heard",
        "neighbours_on",
        "similar",
        "topics",
    )

    MESSAGES: ClassVar[tuple[type[WireMessage], ...]] = MESSAGES
    TIMERS: ClassVar[tuple[type[Timer], ...]] = (ExchangeDue, CoverDue, PulseDue)

    def __init__(
        self,
        parameters: FeverfewParameters,
        seed: int,
        node: NodeId,
        membership: Cyclon,
        exchange: InterestExchange,
        lookup: InterestLookup,
    ) -> None:
        self._parameters = parameters
        self._seed = seed
        self._node = node
        self._membership = membership
        self._exchange = exchange
        self._lookup = lookup
        self._utility = Utility(lookup, parameters.utility == "jaccard")
        self._links = CoverLinks(exchange)
        # See `TopicNeighbours`. Bound directly, because disseminations call it for every message.
        self.neighbours_on = self._links.neighbours_on
        # When each sender was last heard. The node machine fills it; every pulse turn empties it.
        self.heard: dict[NodeId, int] = {}
        self._address = b""
        # The version of the interest that was last sent to neighbours.
        self._version = 0
        self.topics: dict[TopicId, TopicCover] = {}
        self.similar: list[Candidate] = []
        # The ln-covered view with addresses, in the order of choice; those of it that have not answered.
        self.cover: dict[NodeId, bytes] = {}
        self._unanswered: set[NodeId] = set()
        self.found: dict[NodeId, bytes] = {}
        # Nodes that did not answer, the latest last, and the node whose ExchangeReply is open.
        self.failed: list[NodeId] = []
        self._asked: NodeId | None = None
        self.agents = AgentView(seed, node, parameters.agent_size, parameters.agents_meet)

    def handle(self, event: Event, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """See `Part`."""
        match event:
            case MessageReceived():
                self._on_message(event.sender, event.message, now_us, out)
            case TimerFired(timer=ExchangeDue()):
                self._on_exchange_due(now_us, out)
            case TimerFired(timer=CoverDue()):
                self._on_cover_due(now_us, out)
            case TimerFired():
                self._on_pulse_due(now_us, out)
            case PeerDown():
                self._on_peer_down(event, out)
            case Subscribe() | Unsubscribe():
                self._on_interest(event, now_us, out)
            case Started():
                self._on_started(event, now_us, out)
            case Stopping():
                if self._links.neighbours:
                    out.append(self._links.to(tuple(self._links.neighbours), FarewellNotice()))
        return self._links.take_facts()

    def learn(self, fact: Fact, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """Cyclon has sent a shuffle, or the whole interest of a node was fetched."""
        if isinstance(fact, ShuffleSent):
            self._forward_searches(fact.peer, now_us, out)
        elif isinstance(fact, InterestFetched):
            self._links.take_in(fact)
        return NOTHING

    # Start and changes of interest.

    def _on_started(self, event: Started, now_us: int, out: list[Action]) -> None:
        self._address = event.address
        self._version = self._exchange.version
        period_us = self._parameters.period_us
        # Chosen: a random phase, so that nodes started together do not act in step.
        phase_us = draw(self._seed, self._node, Purpose.SIMILAR_PHASE, now_us) % period_us
        out.append(SetTimer(now_us + phase_us, ExchangeDue()))
        # A cover follows half a period after an exchange, so that its reply has arrived.
        out.append(SetTimer(now_us + phase_us + period_us // 2, CoverDue()))
        out.append(SetTimer(now_us + period_us, PulseDue()))

    def _on_interest(self, event: Subscribe | Unsubscribe, now_us: int, out: list[Action]) -> None:
        since, self._version = self._version, self._exchange.version
        if since == self._version:
            return
        added, removed = ((event.topic,), ()) if isinstance(event, Subscribe) else ((), (event.topic,))
        if removed:
            del self.topics[event.topic]
            self._links.forget_topic(event.topic)
        else:
            self.topics[event.topic] = TopicCover(now_us)
        if self._links.neighbours:
            notice = InterestNotice(self._version, since, added, removed)
            out.append(self._links.to(tuple(self._links.neighbours), notice))

    # GossipSample.

    def _on_exchange_due(self, now_us: int, out: list[Action]) -> None:
        """Algorithm 1, lines 1 to 4."""
        out.append(SetTimer(now_us + self._parameters.period_us, ExchangeDue()))
        for node in [node for node in self.cover if node in self._unanswered]:
            self._fail(node, out)
        if self._asked is not None:
            asked, self._asked = self._asked, None
            self._fail(asked, out)
        self.similar = [
            Candidate(each.node, each.age + 1, each.address)
            for each in self.similar
            if each.age < self._parameters.age_max
        ]
        partner = self._partner(now_us)
        if partner is not None:
            self._asked = partner.node
            out.append(_send(Peer(partner.node, partner.address), Exchange(self._entries())))

    def _partner(self, now_us: int) -> Candidate | None:
        """Reading: with an empty similar view, a node of the random view."""
        choice = self.similar or self._random_view()
        if not choice:
            return None
        return choice[below(draw(self._seed, self._node, Purpose.SIMILAR_PARTNER, now_us), len(choice))]

    def _on_exchange(self, sender: NodeId, message: Exchange, now_us: int, out: list[Action]) -> None:
        """Algorithm 2."""
        address = next((each.address for each in message.entries if each.node == sender), b"")
        out.append(_send(Peer(sender, address), ExchangeReply(self._entries())))
        self._merge(message.entries, now_us)

    def _on_exchange_reply(self, sender: NodeId, message: ExchangeReply, now_us: int) -> None:
        """Algorithm 1, lines 5 to 8."""
        if sender == self._asked:
            self._asked = None
            self._merge(message.entries, now_us)

    def _merge(self, entries: Iterable[SimilarEntry], now_us: int) -> None:
        told = [Candidate(each.node, each.age, each.address) for each in entries]
        candidates = merged(self._buffer(), told)
        rest = {topic for topic, cover in self.topics.items() if cover.missing > 0}
        key = draw_base(self._seed, self._node, Purpose.SIMILAR_TIE, now_us)
        allowed = (each for each in candidates.values() if self._may_be_chosen(each.node))
        self.similar = most_similar(allowed, rest, self._utility, key, self._parameters.similar_size)

    def _random_view(self) -> list[Candidate]:
        return [Candidate(each.node, each.age, each.address) for each in self._membership.view()]

    def _buffer(self) -> Iterable[Candidate]:
        return merged([Candidate(self._node, 0, self._address)], self._random_view(), self.similar).values()

    def _entries(self) -> tuple[SimilarEntry, ...]:
        return tuple(
            SimilarEntry(each.node, each.age, each.address, self._lookup.digest_of(each.node))
            for each in self._buffer()
        )

    def _may_be_chosen(self, node: NodeId) -> bool:
        return node != self._node and node not in self.failed

    # The ln-covered view.

    def _on_cover_due(self, now_us: int, out: list[Action]) -> None:
        """Algorithm 1, lines 9 to 12, and the turn of an agent."""
        period_us, cycle = self._parameters.period_us, now_us // self._parameters.period_us
        out.append(SetTimer(now_us + period_us, CoverDue()))
        if cycle % self._parameters.cover_cycles == 0:
            self._choose_cover(now_us, out)
        if self._parameters.clear_cycles and cycle % self._parameters.clear_cycles == 0:
            self.similar = []
        if self._parameters.bubble_cycles >= 0:
            self._match_searches(now_us, out)
            self._start_searches(cycle, now_us, out)

    def _choose_cover(self, now_us: int, out: list[Action]) -> None:
        """Algorithm 3."""
        addresses = {each.node: each.address for each in self.similar} | self.found | self.cover
        candidates = [node for node in addresses if self._may_be_chosen(node)]
        needs = {topic: needed(self._lookup.topic_size(topic)) for topic in self.topics}
        key = draw_base(self._seed, self._node, Purpose.COVER_TIE, now_us)
        chosen, missing = ln_cover(candidates, needs, self._utility, self._lookup, key)
        for topic, lacking in missing.items():
            self.topics[topic].missing = lacking
        before, self.cover = self.cover, {node: addresses[node] for node in chosen}
        self.found = {}
        for node in before:
            if node not in self.cover:
                self._release(node, out)
        for node, address in self.cover.items():
            if node not in before:
                self._unanswered.add(node)
                self._links.addresses.setdefault(node, address)
                request = HoldRequest(self._version, len(self.topics), self._exchange.first(), self._address)
                out.append(_send(Peer(node, address), request))

    def _on_hold(self, sender: NodeId, message: HoldRequest, now_us: int, out: list[Action]) -> None:
        self._links.held(sender, message, now_us, out)
        out.append(self._links.to((sender,), HoldOk(self._version, len(self.topics), self._exchange.first())))

    def _on_hold_ok(self, sender: NodeId, message: HoldOk, now_us: int, out: list[Action]) -> None:
        if sender in self._unanswered:
            self._unanswered.discard(sender)
            self._links.hold(sender, message, now_us, out)
        elif sender not in self.cover:
            # The answer came too late: the node has left the view.
            out.append(self._links.to((sender,), ReleaseNotice()))

    def _release(self, node: NodeId, out: list[Action]) -> None:
        self._unanswered.discard(node)
        out.append(self._links.to((node,), ReleaseNotice()))
        self._links.release(node, out)

    # BubbleSample.

    def _start_searches(self, cycle: int, now_us: int, out: list[Action]) -> None:
        """Search for subscriptions that have lacked neighbours for long; this node is the first agent."""
        period_us, topics, started = self._parameters.period_us, sorted(self.topics), 0
        for step in range(len(topics)):
            if started == self._parameters.searches:
                return
            # Another subscription comes first in every cycle.
            topic = topics[(cycle + step) % len(topics)]
            cover = self.topics[topic]
            waited_us = now_us - cover.since_us
            if (
                cover.missing <= 0
                or waited_us < self._parameters.bubble_cycles * period_us
                or now_us < cover.search_us
            ):
                continue
            network, size = self._lookup.network_size(), self._lookup.topic_size(topic)
            ttl = min(hops(network, size, self._parameters.shuffle_length), self._parameters.ttl_max)
            cover.search_us = now_us + max(ttl + 1, self._parameters.retry_cycles) * period_us
            self._add_search(AgentSearch(topic, self._node, ttl, self._address, now_us), out)
            started += 1

    def _forward_searches(self, peer: Peer, now_us: int, out: list[Action]) -> None:
        """Algorithm 4. A copy is not forwarded in the cycle in which it arrived."""
        least_us = self._parameters.period_us // 2 + 1
        copies = tuple(
            Search(each.topic, each.node, each.ttl, each.address)
            for each in self.agents.to_forward(now_us, least_us)
        )
        for first in range(0, len(copies), BUBBLES_MAX):
            out.append(_send(peer, Bubbles(copies[first : first + BUBBLES_MAX])))

    def _on_bubbles(self, message: Bubbles, now_us: int, out: list[Action]) -> None:
        for each in message.searches:
            ttl = min(each.ttl, self._parameters.ttl_max)
            self._add_search(AgentSearch(each.topic, each.node, ttl, each.address, now_us), out)

    def _add_search(self, search: AgentSearch, out: list[Action]) -> None:
        for other in self.agents.add(search):
            self._notify(search, Candidate(other.node, 0, other.address), out)

    def _match_searches(self, now_us: int, out: list[Action]) -> None:
        """Algorithm 5. A search ends at this agent when it has matched or is over."""
        linger_us = self._parameters.linger_cycles * self._parameters.period_us
        random_view = self._random_view()
        kept = []
        for search in self.agents.searches:
            matching = [
                each
                for each in random_view
                if each.node != search.node and search.topic in self._lookup.topics_of(each.node)
            ]
            for each in matching:
                self._notify(search, each, out)
            if not matching and (search.ttl or now_us - search.since_us < linger_us):
                kept.append(search)
        self.agents.searches = kept

    def _notify(self, search: AgentSearch, other: Candidate, out: list[Action]) -> None:
        """Tell both the searcher and the node that was found."""
        searcher = Candidate(search.node, 0, search.address)
        for told, about in ((searcher, other), (other, searcher)):
            match = Match(search.topic, about.node, about.address, self._lookup.digest_of(about.node))
            if told.node == self._node:
                self._on_match(match)
            else:
                out.append(_send(Peer(told.node, told.address), match))

    def _on_match(self, message: Match) -> None:
        cover = self.topics.get(message.topic)
        if cover is not None and cover.missing > 0 and len(self.found) < FOUND_MAX:
            self.found.setdefault(message.node, message.address)

    # Messages.

    def _on_message(self, sender: NodeId, message: WireMessage, now_us: int, out: list[Action]) -> None:
        if sender == self._node:
            out.append(Observe(PeerMisbehaved(sender, "has this node's id")))
            return
        neighbour = self._links.neighbours.get(sender)
        if neighbour is not None:
            neighbour.heard_us = now_us
        match message:
            case Exchange():
                self._hear(sender)
                self._on_exchange(sender, message, now_us, out)
            case ExchangeReply():
                self._hear(sender)
                self._on_exchange_reply(sender, message, now_us)
            case HoldRequest():
                self._hear(sender)
                self._on_hold(sender, message, now_us, out)
            case HoldOk():
                self._on_hold_ok(sender, message, now_us, out)
            case ReleaseNotice():
                self._links.released(sender, out)
            case FarewellNotice():
                self._fail(sender, out)
            case Bubbles():
                self._on_bubbles(message, now_us, out)
            case Match():
                self._on_match(message)
            case InterestNotice() if neighbour is not None:
                self._links.change(sender, message, now_us, out)
            case Pulse() if neighbour is not None:
                self._links.check_version(sender, message.version, now_us, out)
            case InterestNotice() | Pulse():
                out.append(self._links.to((sender,), ReleaseNotice()))

    def _hear(self, node: NodeId) -> None:
        if node in self.failed:
            self.failed.remove(node)

    # Failures.

    def _on_pulse_due(self, now_us: int, out: list[Action]) -> None:
        out.append(SetTimer(now_us + self._parameters.period_us, PulseDue()))
        silent_us = now_us - self._parameters.suspect_after * self._parameters.period_us
        for node, neighbour in list(self._links.neighbours.items()):
            neighbour.heard_us = max(neighbour.heard_us, self.heard.get(node, 0))
            if neighbour.heard_us < silent_us:
                self._fail(node, out)
        self.heard.clear()
        if self._links.neighbours:
            out.append(self._links.to(tuple(self._links.neighbours), Pulse(self._version)))

    def _on_peer_down(self, event: PeerDown, out: list[Action]) -> None:
        if event.hung_up:
            # The other end dropped the link on purpose. If this node still wants it, the next cover asks again.
            self.cover.pop(event.node, None)
            self._unanswered.discard(event.node)
            self._links.remove(event.node, out)
        elif event.node in self._links.neighbours or event.node in self.cover or event.node == self._asked:
            self._fail(event.node, out)

    def _fail(self, node: NodeId, out: list[Action]) -> None:
        """A node does not answer or has left: forget it, and ignore it until it sends something."""
        self.similar = [each for each in self.similar if each.node != node]
        self.cover.pop(node, None)
        self._unanswered.discard(node)
        self._links.remove(node, out)
        if node not in self.failed:
            self.failed = [*self.failed[1 - FAILED_MAX :], node]


def _send(peer: Peer, message: WireMessage) -> Send:
    return Send((peer.node,), message, (peer.address,) if peer.address else ())
