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
Differs: live nodes also choose among holders of uncovered topics that their table of interests names: in a small network
these are known long before a search meets them.
Differs: live nodes keep a cover until a clearly smaller one is found (`keep_cover`), wait longer for answers
(`answer_cycles`), bound the links that others may open (`links_max`), and bridge the components of a topic (`mend_cycles`).
What a node says of its own interest counts more than what others say of it.
"""

from collections.abc import Sequence
from typing import ClassVar

from gossamer.model.values.draw import Purpose, draw
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
from gossamer.protocols.contract.messages import Timer, WireMessage
from gossamer.protocols.contract.parts import NOTHING, InterestView
from gossamer.protocols.membership.cyclon import Cyclon
from gossamer.protocols.membership.cyclon_messages import ShuffleSent
from gossamer.protocols.membership.interest_exchange import InterestExchange, InterestFetched
from gossamer.protocols.roots import Roots
from gossamer.systems.feverfew.bubbles import BubbleSample, TopicCover
from gossamer.systems.feverfew.cover import CoveredView
from gossamer.systems.feverfew.estimates import SizeEstimates
from gossamer.systems.feverfew.gossip import GossipSample
from gossamer.systems.feverfew.links import CoverLinks
from gossamer.systems.feverfew.messages import (
    MESSAGES,
    BridgeDue,
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
    NoLink,
    Pulse,
    PulseDue,
    ReleaseNotice,
    RootClaims,
)
from gossamer.systems.feverfew.parameters import FeverfewParameters
from gossamer.systems.feverfew.sizes import Sizes
from gossamer.systems.feverfew.views import FAILED_MAX, ViewCandidate


class Feverfew:
    """The overlay part. Without an oracle, `estimates` supplies sizes; otherwise the view does."""

    __slots__ = (
        "_cover",
        "_estimates",
        "_exchange",
        "_links",
        "_node",
        "_parameters",
        "_seed",
        "_version",
        "bubbles",
        "failed",
        "gossip",
        "heard",
        "neighbours_on",
        "roots",
        "topic_size",
        "topics",
    )

    MESSAGES: ClassVar[tuple[type[WireMessage], ...]] = MESSAGES
    TIMERS: ClassVar[tuple[type[Timer], ...]] = (ExchangeDue, CoverDue, PulseDue, BridgeDue)

    def __init__(
        self,
        parameters: FeverfewParameters,
        seed: int,
        node: NodeId,
        membership: Cyclon,
        exchange: InterestExchange,
        view: InterestView,
        estimates: SizeEstimates | None = None,
    ) -> None:
        self._parameters = parameters
        self._seed = seed
        self._node = node
        self._exchange = exchange
        self._estimates = estimates
        self.roots = Roots(node)
        self._links = CoverLinks(exchange, self.roots, parameters.links_max)
        # See `TopicNeighbours`. Bound directly, because disseminations call it for every message.
        self.neighbours_on = self._links.neighbours_on
        # When each sender was last heard. The node machine fills it; every pulse turn empties it.
        self.heard: dict[NodeId, int] = {}
        # The version of the interest that was last sent to neighbours.
        self._version = 0
        self.topics: dict[TopicId, TopicCover] = {}
        # Nodes that did not answer, and when that was noticed; the latest last.
        self.failed: dict[NodeId, int] = {}
        sizes: Sizes = estimates or view
        # See `TopicSizes`.
        self.topic_size = sizes.topic_size
        self._cover = CoveredView(
            parameters,
            seed,
            node,
            exchange,
            view,
            sizes,
            self.topics,
            self._links,
            self.roots,
            self._may_be_chosen,
        )
        self.bubbles = BubbleSample(parameters, node, self.topics, view, sizes)
        self.gossip = GossipSample(
            parameters,
            seed,
            node,
            membership,
            view,
            estimates,
            self.topics,
            self._cover.utility,
            self.bubbles,
            self._may_be_chosen,
        )

    @property
    def similar(self) -> list[ViewCandidate]:
        """The similar view."""
        return self.gossip.similar

    @property
    def cover(self) -> dict[NodeId, bytes]:
        """The ln-covered view with addresses, in the order of choice."""
        return self._cover.nodes

    def handle(self, event: Event, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """See `Part`."""
        match event:
            case MessageReceived():
                self._on_message(event.sender, event.message, now_us, out)
            case TimerFired():
                self._on_timer(event.timer, now_us, out)
            case PeerDown():
                self._on_peer_down(event, now_us, out)
            case Subscribe() | Unsubscribe():
                self._on_interest(event, now_us, out)
            case Started():
                self._on_started(event, now_us, out)
            case Stopping():
                if self._links.neighbours:
                    out.append(self._links.to(tuple(self._links.neighbours), FarewellNotice()))
        return self._links.take_facts()

    def learn(self, fact: Fact, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """Cyclon has sent a shuffle or told of a node, or the whole interest of a node was fetched."""
        if isinstance(fact, ShuffleSent):
            self.bubbles.forward(fact.peer, now_us, out)
        elif isinstance(fact, InterestFetched):
            self._links.take_in(fact)
        elif isinstance(fact, Heard) and self._estimates is not None:
            self._estimates.observe(fact.digest)
        return NOTHING

    # Start, timers and changes of interest.

    def _on_started(self, event: Started, now_us: int, out: list[Action]) -> None:
        self._cover.address = self.gossip.address = self.bubbles.address = event.address
        self._version = self._exchange.version
        period_us = self._parameters.period_us
        # Chosen: a random phase, so that nodes started together do not act in step.
        phase_us = draw(self._seed, self._node, Purpose.SIMILAR_PHASE, now_us) % period_us
        out.append(SetTimer(now_us + phase_us, ExchangeDue()))
        # A cover follows half a period after an exchange, so that its reply has arrived. Nodes that a cover or a bridge asks
        # for a link have half a period until the next exchange counts a turn.
        cover_us = now_us + phase_us + period_us // 2
        out.append(SetTimer(cover_us, CoverDue()))
        out.append(SetTimer(now_us + period_us, PulseDue()))
        if self._parameters.mend_cycles:
            out.append(SetTimer(cover_us + self._parameters.mend_cycles * period_us, BridgeDue()))

    def _on_timer(self, timer: Timer, now_us: int, out: list[Action]) -> None:
        cycles = self._parameters.mend_cycles if isinstance(timer, BridgeDue) else 1
        out.append(SetTimer(now_us + cycles * self._parameters.period_us, timer))
        match timer:
            case ExchangeDue():
                self._on_exchange_due(now_us, out)
            case CoverDue():
                self._on_cover_due(now_us, out)
            case PulseDue():
                self._on_pulse_due(now_us, out)
            case BridgeDue():
                self._cover.mend(now_us, out)

    def _on_interest(self, event: Subscribe | Unsubscribe, now_us: int, out: list[Action]) -> None:
        since, self._version = self._version, self._exchange.version
        if since == self._version:
            return
        topic = event.topic
        is_new = isinstance(event, Subscribe)
        if is_new:
            self.topics[topic] = TopicCover(now_us)
            self.roots.add_topic(topic)
        else:
            del self.topics[topic]
            self._links.forget_topic(topic)
            self.roots.remove_topic(topic)
        if self._estimates is not None:
            (self._estimates.hold if is_new else self._estimates.drop)(topic)
        if self._links.neighbours:
            added, removed = ((topic,), ()) if is_new else ((), (topic,))
            notice = InterestNotice(self._version, since, added, removed)
            out.append(self._links.to(tuple(self._links.neighbours), notice))

    # GossipSample (`gossip.py`).

    def _on_exchange_due(self, now_us: int, out: list[Action]) -> None:
        for node in self._cover.overdue():
            self._fail(node, now_us, out)
        for node in self.gossip.overdue():
            # Pulses show whether a neighbour is alive.
            if node not in self._links.neighbours:
                self._fail(node, now_us, out)
        if self._estimates is not None:
            self._estimates.tick()
        self.gossip.start(now_us, out)

    def _may_be_chosen(self, node: NodeId) -> bool:
        return node != self._node and node not in self.failed

    # The ln-covered view.

    def _on_cover_due(self, now_us: int, out: list[Action]) -> None:
        """Algorithm 1, lines 9 to 12, and the turn of an agent."""
        cycle = now_us // self._parameters.period_us
        if cycle % self._parameters.cover_cycles == 0:
            others = {each.node: each.address for each in self.similar} | self.bubbles.take_found()
            if self._estimates is not None:
                others = self._cover.known_holders(now_us) | others
            self._cover.choose(others, now_us, out)
        if self._parameters.clear_cycles and cycle % self._parameters.clear_cycles == 0:
            self.gossip.similar = []
        if self._parameters.bubble_cycles >= 0:
            self.bubbles.match(self.gossip.random_view(), now_us, out)
            self.bubbles.start(cycle, now_us, out)

    def _on_no_link(self, sender: NodeId, now_us: int, out: list[Action]) -> None:
        if sender in self._cover.unanswered:
            # It has no room. It is not asked again until it sends something.
            self._fail(sender, now_us, out)
        elif sender in self._links.neighbours:
            # The ends disagreed about the link. If this node still wants it, the next cover asks again.
            self._cover.forget(sender, out)

    def _on_claims(self, sender: NodeId, message: RootClaims, out: list[Action]) -> None:
        if not self.roots.take_claims((self._links,), sender, message.claims):
            out.append(Observe(PeerMisbehaved(sender, "claims what cannot be")))

    # Messages.

    def _on_message(self, sender: NodeId, message: WireMessage, now_us: int, out: list[Action]) -> None:
        if sender == self._node:
            out.append(Observe(PeerMisbehaved(sender, "has this node's id")))
            return
        neighbour = self._links.neighbours.get(sender)
        if neighbour is not None:
            neighbour.silent_turns = 0
        match message:
            case Exchange():
                self.failed.pop(sender, None)
                self.gossip.answer(sender, message, now_us, out)
            case ExchangeReply():
                self.failed.pop(sender, None)
                self.gossip.take(sender, message, now_us, out)
            case HoldRequest():
                self.failed.pop(sender, None)
                self._cover.on_hold(sender, message, now_us, out)
            case HoldOk():
                if sender in self._cover.unanswered:
                    self.failed.pop(sender, None)
                self._cover.on_hold_ok(sender, message, now_us, out)
            case ReleaseNotice():
                self._links.released(sender, out)
            case NoLink():
                self._on_no_link(sender, now_us, out)
            case FarewellNotice():
                self._fail(sender, now_us, out)
            case Bubbles():
                self.bubbles.take(message, now_us, out)
            case Match():
                self.bubbles.note(message)
            case RootClaims():
                self._on_claims(sender, message, out)
            case InterestNotice() if neighbour is not None:
                self._links.change(sender, message, now_us, out)
            case Pulse() if neighbour is not None:
                self._links.check_version(sender, message.version, now_us, out)
            case InterestNotice() | Pulse() if sender not in self._cover.unanswered:
                out.append(self._links.to((sender,), NoLink()))

    # Failures.

    def _on_pulse_due(self, now_us: int, out: list[Action]) -> None:
        for node, neighbour in list(self._links.neighbours.items()):
            # Turns are counted, not time: a node that was busy itself has not listened meanwhile.
            neighbour.silent_turns = 0 if node in self.heard else neighbour.silent_turns + 1
            if neighbour.silent_turns > self._parameters.suspect_after:
                self._fail(node, now_us, out)
        # A failed node that sends something to another part of this node, such as Cyclon, is alive too.
        self.failed = {node: at_us for node, at_us in self.failed.items() if self.heard.get(node, 0) <= at_us}
        self.heard.clear()
        if self._links.neighbours:
            out.append(self._links.to(tuple(self._links.neighbours), Pulse(self._version)))

    def _on_peer_down(self, event: PeerDown, now_us: int, out: list[Action]) -> None:
        node = event.node
        if event.hung_up:
            # The other end dropped the link on purpose. If this node still wants it, the next cover asks again.
            self._cover.forget(node, out)
        elif node in self._links.neighbours or node in self.cover or self.gossip.knows(node):
            self._fail(node, now_us, out)

    def _fail(self, node: NodeId, now_us: int, out: list[Action]) -> None:
        """A node does not answer or has left: forget it, and ignore it until it sends something."""
        self.gossip.forget(node)
        self._cover.forget(node, out)
        if node not in self.failed and len(self.failed) == FAILED_MAX:
            del self.failed[next(iter(self.failed))]
        self.failed.setdefault(node, now_us)
