"""GossipSample: the similar view, kept by exchanges with similar nodes (Algorithms 1 and 2)."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from gossamer.model.values.draw import Purpose, below, draw, draw_base
from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.actions import Action
from gossamer.protocols.contract.facts import Heard
from gossamer.protocols.contract.messages import Peer
from gossamer.protocols.contract.parts import InterestLookup
from gossamer.protocols.membership.cyclon import Cyclon
from gossamer.systems.feverfew.bubbles import BubbleSample, TopicCover
from gossamer.systems.feverfew.estimates import SizeEstimates
from gossamer.systems.feverfew.messages import AGE_MAX, Exchange, ExchangeReply, SimilarEntry, send
from gossamer.systems.feverfew.parameters import FeverfewParameters
from gossamer.systems.feverfew.views import Utility, ViewCandidate, merged, most_similar

# Chosen: exchanges of one node that are answered in a period. A node starts one in a period; delays let two of them, or
# three, arrive within one period of the receiver.
EXCHANGES_MAX = 4


class GossipSample:
    """The similar view, and the exchanges that have no answer yet."""

    __slots__ = (
        "_answered",
        "_bubbles",
        "_lookup",
        "_may_be_chosen",
        "_membership",
        "_node",
        "_parameters",
        "_seed",
        "_sizes",
        "_topics",
        "_utility",
        "address",
        "asked",
        "similar",
    )

    def __init__(
        self,
        parameters: FeverfewParameters,
        seed: int,
        node: NodeId,
        membership: Cyclon,
        lookup: InterestLookup,
        sizes: SizeEstimates | None,
        topics: Mapping[TopicId, TopicCover],
        utility: Utility,
        bubbles: BubbleSample,
        may_be_chosen: Callable[[NodeId], bool],
    ) -> None:
        self._parameters = parameters
        self._seed = seed
        self._node = node
        self._membership = membership
        self._lookup = lookup
        self._sizes = sizes
        self._topics = topics
        self._utility = utility
        self._bubbles = bubbles
        self._may_be_chosen = may_be_chosen
        self.address = b""
        self.similar: list[ViewCandidate] = []
        # Nodes that owe an ExchangeReply, and for how many turns.
        self.asked: dict[NodeId, int] = {}
        # How many exchanges of each node were answered since this node's last turn.
        self._answered: Counter[NodeId] = Counter()

    def overdue(self) -> list[NodeId]:
        """Begin a turn, and take out the nodes that have owed a reply for too many turns."""
        self.asked = {node: turns + 1 for node, turns in self.asked.items()}
        late = [node for node, turns in self.asked.items() if turns >= self._parameters.answer_cycles]
        for node in late:
            del self.asked[node]
        return late

    def start(self, now_us: int, out: list[Action]) -> None:
        """Algorithm 1, lines 1 to 4."""
        self._answered.clear()
        self.similar = [
            ViewCandidate(each.node, each.age + 1, each.address)
            for each in self.similar
            if each.age < self._parameters.age_max
        ]
        partner = self._partner(now_us)
        if partner is None:
            return
        self.asked[partner.node] = 0
        exchange = Exchange(self._entries(partner.node))
        if self._sizes is not None:
            exchange = Exchange(exchange.entries, *self._sizes.offer(self._lookup.topics_of(partner.node)))
        out.append(send(Peer(partner.node, partner.address), exchange))

    def _partner(self, now_us: int) -> ViewCandidate | None:
        """Reading: with an empty similar view, a node of the random view."""
        choice = [each for each in self.similar or self.random_view() if each.node not in self.asked]
        if not choice:
            return None
        return choice[below(draw(self._seed, self._node, Purpose.SIMILAR_PARTNER, now_us), len(choice))]

    def answer(self, sender: NodeId, message: Exchange, now_us: int, out: list[Action]) -> None:
        """Algorithm 2."""
        self._answered[sender] += 1
        if self._answered[sender] > EXCHANGES_MAX:
            return
        address = next((each.address for each in message.entries if each.node == sender), b"")
        reply = ExchangeReply(self._entries(sender))
        if self._sizes is not None:
            reply = ExchangeReply(reply.entries, *self._sizes.answer(message.count, message.shares))
        out.append(send(Peer(sender, address), reply))
        self._merge(message.entries, now_us, out)

    def take(self, sender: NodeId, message: ExchangeReply, now_us: int, out: list[Action]) -> None:
        """Algorithm 1, lines 5 to 8."""
        if self.asked.pop(sender, None) is not None:
            if self._sizes is not None:
                self._sizes.take(message.count, message.shares)
            self._merge(message.entries, now_us, out)

    def forget(self, node: NodeId) -> None:
        """A node does not answer or has left."""
        self.similar = [each for each in self.similar if each.node != node]
        self.asked.pop(node, None)

    def knows(self, node: NodeId) -> bool:
        """Whether a node is in the similar view or owes a reply."""
        return node in self.asked or any(each.node == node for each in self.similar)

    def random_view(self) -> list[ViewCandidate]:
        """Cyclon's view."""
        return [ViewCandidate(each.node, each.age, each.address) for each in self._membership.view()]

    def _merge(self, entries: Sequence[SimilarEntry], now_us: int, out: list[Action]) -> None:
        for each in entries:
            if each.digest is not None and each.node != self._node:
                self._lookup.note(Heard(each.node, each.address, each.digest))
        told = [ViewCandidate(each.node, each.age, each.address) for each in entries]
        self._bubbles.compare(told, out)
        candidates = merged(self._buffer(), told)
        rest = {topic for topic, cover in self._topics.items() if cover.missing > 0}
        key = draw_base(self._seed, self._node, Purpose.SIMILAR_TIE, now_us)
        allowed = (each for each in candidates.values() if self._may_be_chosen(each.node))
        self.similar = most_similar(allowed, rest, self._utility, key, self._parameters.similar_size)

    def _buffer(self) -> Iterable[ViewCandidate]:
        return merged([ViewCandidate(self._node, 0, self.address)], self.random_view(), self.similar).values()

    def _entries(self, peer: NodeId) -> tuple[SimilarEntry, ...]:
        """What to send to a peer; if not all entries, this node and those that share most topics with the peer."""
        entries = list(self._buffer())
        if 0 < self._parameters.exchange_size < len(entries):
            topics = self._lookup.topics_of(peer)
            entries[1:] = sorted(entries[1:], key=lambda each: -len(topics & self._lookup.topics_of(each.node)))
            entries = entries[: self._parameters.exchange_size]
        # Ages in the random view come from other nodes without a bound.
        return tuple(
            SimilarEntry(each.node, min(max(each.age, 0), AGE_MAX), each.address, self._lookup.digest_of(each.node))
            for each in entries
        )
