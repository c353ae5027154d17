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
Differs: agents compare searches with exchanged nodes and with each other (`agents.py`).
"""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from gossamer.model.values.draw import Purpose, below, draw, draw_base
from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.actions import Action, Observe, SetTimer
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
from gossamer.systems.feverfew.bubbles import BubbleSample, TopicCover
from gossamer.systems.feverfew.links import CoverLinks
from gossamer.systems.feverfew.messages import (
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
    SimilarEntry,
    send,
)
from gossamer.systems.feverfew.parameters import FeverfewParameters
from gossamer.systems.feverfew.sizes import wanted_coverage
from gossamer.systems.feverfew.views import (
    FAILED_MAX,
    Utility,
    ViewCandidate,
    ln_cover,
    merged,
    most_similar,
    random_cover,
)


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
        "bubbles",
        "cover",
        "failed",
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
        self.similar: list[ViewCandidate] = []
        # The ln-covered view with addresses, in the order of choice; those of it that have not answered.
        self.cover: dict[NodeId, bytes] = {}
        self._unanswered: set[NodeId] = set()
        # Nodes that did not answer, the latest last, and the node whose ExchangeReply is open.
        self.failed: list[NodeId] = []
        self._asked: NodeId | None = None
        self.bubbles = BubbleSample(parameters, seed, node, self.topics, lookup)

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
            self.bubbles.forward(fact.peer, now_us, out)
        elif isinstance(fact, InterestFetched):
            self._links.take_in(fact)
        return NOTHING

    # Start and changes of interest.

    def _on_started(self, event: Started, now_us: int, out: list[Action]) -> None:
        self._address = self.bubbles.address = event.address
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
            ViewCandidate(each.node, each.age + 1, each.address)
            for each in self.similar
            if each.age < self._parameters.age_max
        ]
        partner = self._partner(now_us)
        if partner is not None:
            self._asked = partner.node
            out.append(send(Peer(partner.node, partner.address), Exchange(self._entries(partner.node))))

    def _partner(self, now_us: int) -> ViewCandidate | None:
        """Reading: with an empty similar view, a node of the random view."""
        choice = self.similar or self._random_view()
        if not choice:
            return None
        return choice[below(draw(self._seed, self._node, Purpose.SIMILAR_PARTNER, now_us), len(choice))]

    def _on_exchange(self, sender: NodeId, message: Exchange, now_us: int, out: list[Action]) -> None:
        """Algorithm 2."""
        address = next((each.address for each in message.entries if each.node == sender), b"")
        out.append(send(Peer(sender, address), ExchangeReply(self._entries(sender))))
        self._merge(message.entries, now_us, out)

    def _on_exchange_reply(self, sender: NodeId, message: ExchangeReply, now_us: int, out: list[Action]) -> None:
        """Algorithm 1, lines 5 to 8."""
        if sender == self._asked:
            self._asked = None
            self._merge(message.entries, now_us, out)

    def _merge(self, entries: Sequence[SimilarEntry], now_us: int, out: list[Action]) -> None:
        for each in entries:
            if each.digest is not None and each.node != self._node:
                self._lookup.note(Heard(each.node, each.address, each.digest))
        told = [ViewCandidate(each.node, each.age, each.address) for each in entries]
        self.bubbles.compare(told, out)
        candidates = merged(self._buffer(), told)
        rest = {topic for topic, cover in self.topics.items() if cover.missing > 0}
        key = draw_base(self._seed, self._node, Purpose.SIMILAR_TIE, now_us)
        allowed = (each for each in candidates.values() if self._may_be_chosen(each.node))
        self.similar = most_similar(allowed, rest, self._utility, key, self._parameters.similar_size)

    def _random_view(self) -> list[ViewCandidate]:
        return [ViewCandidate(each.node, each.age, each.address) for each in self._membership.view()]

    def _buffer(self) -> Iterable[ViewCandidate]:
        return merged([ViewCandidate(self._node, 0, self._address)], self._random_view(), self.similar).values()

    def _entries(self, peer: NodeId) -> tuple[SimilarEntry, ...]:
        """What to send to a peer; if not all entries, this node and those that share most topics with the peer."""
        entries = list(self._buffer())
        if 0 < self._parameters.exchange_size < len(entries):
            topics = self._lookup.topics_of(peer)
            entries[1:] = sorted(entries[1:], key=lambda each: -len(topics & self._lookup.topics_of(each.node)))
            entries = entries[: self._parameters.exchange_size]
        return tuple(
            SimilarEntry(each.node, each.age, each.address, self._lookup.digest_of(each.node)) for each in entries
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
            self.bubbles.match(self._random_view(), now_us, out)
            self.bubbles.start(cycle, now_us, out)

    def _choose_cover(self, now_us: int, out: list[Action]) -> None:
        """Algorithm 3."""
        addresses = {each.node: each.address for each in self.similar} | self.bubbles.take_found() | self.cover
        candidates = [node for node in addresses if self._may_be_chosen(node)]
        needs, at_random = self._needs()
        key = draw_base(self._seed, self._node, Purpose.COVER_TIE, now_us)
        chosen, missing = ln_cover(candidates, needs, self._utility, self._lookup, key)
        missing = {topic: max(0, lacking + at_random[topic]) for topic, lacking in missing.items()}
        if self._parameters.random_coverage:
            # The order of nodes never changes, so that a node keeps its random neighbours.
            key = draw_base(self._seed, self._node, Purpose.COVER_RANDOM, 0)
            chosen += random_cover(set(candidates).difference(chosen), missing, self._lookup, key)
        for topic, lacking in missing.items():
            self.topics[topic].missing = lacking
        before, self.cover = self.cover, {node: addresses[node] for node in chosen}
        for node in before:
            if node not in self.cover:
                self._release(node, out)
        for node, address in self.cover.items():
            if node not in before:
                self._unanswered.add(node)
                self._links.addresses.setdefault(node, address)
                request = HoldRequest(self._version, len(self.topics), self._exchange.first(), self._address)
                out.append(send(Peer(node, address), request))

    def _needs(self) -> tuple[dict[TopicId, int], dict[TopicId, int]]:
        """For each topic the neighbours to choose greedily, and those to choose at random."""
        greedy, at_random = {}, {}
        for topic in self.topics:
            size = self._lookup.topic_size(topic)
            total, at_random[topic] = wanted_coverage(size, self._parameters.coverage, self._parameters.random_coverage)
            greedy[topic] = total - at_random[topic]
        return greedy, at_random

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
                self._on_exchange_reply(sender, message, now_us, out)
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
                self.bubbles.take(message, now_us, out)
            case Match():
                self.bubbles.note(message)
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
