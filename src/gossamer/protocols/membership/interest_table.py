"""The interest view that a node fills by itself: whatever a membership protocol that carries interests brings.

The table is bounded and forgets whom it has not heard of for longest. It answers overlay parts (`InterestView`) and
learns from the membership part below (`Heard`). Cost of a question: the table's size.

Of a node with a large interest only a sample is heard. What the rest may be worth is estimated; those that may be worth
more than the best that is known are asked for all they hold (`InterestExchange`), before anybody is connected to for
their sake. Until they have told, or did not answer, they are not offered as the best; later they count with what is known.
"""

from collections.abc import Callable, Collection, Sequence
from typing import ClassVar

from gossamer.model.values.draw import ITEM_FACTOR, MASK, finish
from gossamer.model.values.ids import NodeId, TopicId
from gossamer.model.values.time import SECOND_US
from gossamer.protocols.contract.actions import Action
from gossamer.protocols.contract.events import Event, PeerDown
from gossamer.protocols.contract.facts import Fact, Heard
from gossamer.protocols.contract.messages import DIGEST_TOPICS, Message, Peer, Timer
from gossamer.protocols.contract.parts import NOTHING
from gossamer.protocols.membership.interest_exchange import ANSWER_US, InterestExchange, InterestFetched

# Chosen: 1,000 nodes with their interests; SpiderCast needs 5% of the nodes (3.7), so this serves some 20,000.
KNOWN_MAX = 1_000
# Chosen: 300,000 topics of fetched interests in all, some 20 MB; beyond it the oldest go back to their samples.
FETCHED_MAX = 300_000
# Chosen: 4 candidates asked for the sake of one question.
WISHES_MAX = 4
# Chosen: 60 s before a node is asked again for the same version.
ASK_AGAIN_US = 60 * SECOND_US


class _Known:
    """A node as it was last heard of."""

    __slots__ = ("address", "asked_us", "count", "density", "is_whole", "sample", "topics", "version")

    def __init__(self, heard: Heard) -> None:
        sample = heard.digest.topics[:DIGEST_TOPICS]
        self.address = heard.address
        self.version = heard.digest.version
        self.count = heard.digest.count
        self.sample = frozenset(sample)
        # What it holds for certain: the sample, or all that it told.
        self.topics = self.sample
        self.is_whole = self.count <= len(self.sample)
        # The share of all topics that the sample speaks of: it holds no other whose mix is as small.
        self.density = 1.0 if self.is_whole else max(map(finish, sample), default=0) / MASK
        self.asked_us: int | None = None

    def is_asked_first(self, now_us: int) -> bool:
        """Whether it should tell what it holds before it is chosen."""
        return not self.is_whole and (self.asked_us is None or now_us < self.asked_us + ANSWER_US)

    def may_be_asked(self, now_us: int) -> bool:
        return not self.is_whole and (self.asked_us is None or now_us >= self.asked_us + ASK_AGAIN_US)

    def estimate(self, wanted: frozenset[TopicId]) -> float:
        """How many of these topics it holds: those known, and of those that the sample is silent on its usual share."""
        hits = len(self.topics & wanted)
        spoken_of = max(self.density * len(wanted), hits)
        return min(hits + (len(wanted) - spoken_of) * (hits + 1) / (spoken_of + 2), self.count)


class InterestTable:
    """Nodes heard of lately, with their interests."""

    __slots__ = ("_exchange", "_fetched_count", "_known", "_most", "_node", "_now_us", "_wishes")

    MESSAGES: ClassVar[tuple[type[Message], ...]] = ()
    TIMERS: ClassVar[tuple[type[Timer], ...]] = ()

    def __init__(self, node: NodeId, exchange: InterestExchange, most: int = KNOWN_MAX) -> None:
        self._node = node
        self._exchange = exchange
        self._most = most
        # In the order in which they were last heard of.
        self._known: dict[NodeId, _Known] = {}
        self._fetched_count = 0
        # Whom the last question would ask.
        self._wishes: tuple[NodeId, ...] = ()
        # When something was last learnt: questions come without a time.
        self._now_us = 0

    def handle(self, event: Event, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """Who cannot be reached is forgotten."""
        if isinstance(event, PeerDown) and not event.hung_up:
            self._forget(event.node)
        return NOTHING

    def learn(self, fact: Fact, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """Remember who was heard of; nobody further up needs to know. What questions wished for is asked now."""
        self._now_us = now_us
        if isinstance(fact, Heard):
            self._hear(fact)
        elif isinstance(fact, InterestFetched):
            self._take_in(fact)
        else:
            return NOTHING
        for node in self._wishes:
            known = self._known.get(node)
            if known is not None and known.may_be_asked(now_us):
                if not self._exchange.want(Peer(node, known.address), now_us, out):
                    break
                known.asked_us = now_us
        return NOTHING

    def _hear(self, heard: Heard) -> None:
        if heard.node == self._node:
            return
        known = self._known.get(heard.node)
        if known is None or heard.digest.version > known.version:
            self._forget(heard.node)
            known = _Known(heard)
        else:
            # An older entry that is still about says no more than that the node was there.
            del self._known[heard.node]
        self._known[heard.node] = known
        if len(self._known) > self._most:
            self._forget(next(iter(self._known)))

    def _take_in(self, fetched: InterestFetched) -> None:
        known = self._known.get(fetched.node)
        if known is None or fetched.version < known.version:
            return
        self._unfetch(known)
        known.version, known.count = fetched.version, len(fetched.topics)
        known.topics = frozenset(fetched.topics)
        known.is_whole = True
        self._fetched_count += len(known.topics)
        for other in self._known.values():
            if self._fetched_count <= FETCHED_MAX:
                break
            if other is not known:
                self._unfetch(other)

    def _unfetch(self, known: _Known) -> None:
        if known.topics is not known.sample:
            self._fetched_count -= len(known.topics)
            known.topics, known.is_whole = known.sample, False

    def _forget(self, node: NodeId) -> None:
        known = self._known.pop(node, None)
        if known is not None:
            self._unfetch(known)

    # Questions.

    def best_cover(self, topics: Sequence[TopicId], exclude: Collection[NodeId], key: int) -> Peer | None:
        """See `InterestView`."""
        wanted = frozenset(topics)

        def worth(known: _Known) -> int:
            return 0 if known.is_asked_first(self._now_us) else len(known.topics & wanted)

        best = self._pick(worth, exclude, key)
        self._wish(wanted, 0 if best is None else worth(self._known[best.node]), exclude, key)
        return best

    def random_cover(self, topics: Sequence[TopicId], exclude: Collection[NodeId], key: int) -> Peer | None:
        """See `InterestView`."""
        wanted = frozenset(topics)
        found = self._pick(lambda known: 0 if known.topics.isdisjoint(wanted) else 1, exclude, key)
        self._wish(wanted if found is None else frozenset(), 0, exclude, key)
        return found

    def random_peer(self, exclude: Collection[NodeId], key: int) -> Peer | None:
        """See `InterestView`."""
        return self._pick(lambda known: 1, exclude, key)

    def holder_below(self, topic: TopicId, node: NodeId, exclude: Collection[NodeId], key: int) -> Peer | None:
        """See `InterestView`."""
        above = {*exclude, *(other for other in self._known if other >= node)}
        found = self._pick(lambda known: int(topic in known.topics), above, key)
        self._wish(frozenset((topic,) if found is None else ()), 0, above, key)
        return found

    def _pick(self, worth: Callable[[_Known], int], exclude: Collection[NodeId], key: int) -> Peer | None:
        """The known node of greatest worth, above nothing; the smallest draw among equals."""
        best: tuple[int, int, NodeId] | None = None
        for node, known in self._known.items():
            value = worth(known)
            if value and (best is None or value >= -best[0]) and node not in exclude:
                score = (-value, finish((key + node * ITEM_FACTOR) & MASK), node)
                if best is None or score < best:
                    best = score
        return None if best is None else Peer(best[2], self._known[best[2]].address)

    def _wish(self, wanted: frozenset[TopicId], above: int, exclude: Collection[NodeId], key: int) -> None:
        """Note whose whole interest may be worth more than so much."""
        scores = []
        for node, known in self._known.items():
            if wanted and known.may_be_asked(self._now_us) and node not in exclude:
                value = known.estimate(wanted)
                if value > above:
                    scores.append((-value, finish((key + node * ITEM_FACTOR) & MASK), node))
        if scores or wanted:
            self._wishes = tuple(node for _, _, node in sorted(scores)[:WISHES_MAX])
