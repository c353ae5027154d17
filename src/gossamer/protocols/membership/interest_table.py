"""The interest view of a node without an oracle: a bounded table, filled by a membership protocol with interests.

The table evicts the node whose last news is oldest. It answers the questions of overlay parts (`InterestView`) and
learns from the membership part below (`Heard`). A question costs one pass over the table.

Membership carries only a sample of a large interest. For each question the table estimates how many more topics a node
covers. Nodes
that may cover more than the best known one are asked for their whole interests (`InterestExchange`) before the overlay
connects to one of them. Until they have answered or timed out, `best_cover` does not return them; afterwards they count
with the topics that are known.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import chain
from typing import ClassVar

from gossamer.model.values.draw import ITEM_FACTOR, MASK, finish
from gossamer.model.values.ids import NodeId, TopicId
from gossamer.model.values.time import SECOND_US
from gossamer.protocols.contract.actions import Action
from gossamer.protocols.contract.events import Event, PeerDown
from gossamer.protocols.contract.facts import Fact, Heard
from gossamer.protocols.contract.messages import DIGEST_TOPICS, Digest, Peer, Timer, WireMessage
from gossamer.protocols.contract.parts import NOTHING
from gossamer.protocols.membership.interest_exchange import ANSWER_US, InterestExchange, InterestFetched

# Chosen: 1,000 nodes with their interests. SpiderCast needs 5% of all nodes (3.7), so this serves about 20,000.
KNOWN_MAX = 1_000
# Chosen: 300,000 topics of fetched interests in total, about 20 MB; beyond that the oldest are reduced to their
# samples.
FETCHED_MAX = 300_000
# Chosen: 4 candidates are asked for their interests after one question.
TO_FETCH_MAX = 4
# Chosen: a node counts in sizes while it was among the last ten times as many news as nodes are known. Membership tells of
# random nodes, so that one present node in 20,000 is left out; nodes that have left are soon left out.
NEWS_A_NODE = 10
# Chosen: 60 s until a node is asked again for the same version.
ASK_AGAIN_US = 60 * SECOND_US


class _Known:
    """The last news of a node."""

    __slots__ = ("address", "asked_us", "count", "density", "digest", "is_whole", "news", "sample", "topics", "version")

    def __init__(self, heard: Heard) -> None:
        sample = heard.digest.topics[:DIGEST_TOPICS]
        self.address = heard.address
        self.digest = heard.digest
        self.version = heard.digest.version
        self.count = heard.digest.count
        self.sample = frozenset(sample)
        # The topics that it certainly holds: the sample, or the whole fetched interest.
        self.topics = self.sample
        self.is_whole = self.count <= len(self.sample)
        # The share of all topics that the sample decides: the node holds no other topic with a hash below the largest.
        self.density = 1.0 if self.is_whole else max(map(finish, sample), default=0) / MASK
        self.asked_us: int | None = None
        # The number of the last news of it that membership brought.
        self.news = 0

    def is_asked_first(self, now_us: int) -> bool:
        """Whether its whole interest should be fetched before it is chosen."""
        return not self.is_whole and (self.asked_us is None or now_us < self.asked_us + ANSWER_US)

    def may_be_asked(self, now_us: int) -> bool:
        return not self.is_whole and (self.asked_us is None or now_us >= self.asked_us + ASK_AGAIN_US)

    def estimate(self, wanted: frozenset[TopicId]) -> float:
        """How many of these topics it probably holds: the known ones, and that share of the undecided ones."""
        hits = len(self.topics & wanted)
        decided = max(self.density * len(wanted), hits)
        return min(hits + (len(wanted) - decided) * (hits + 1) / (decided + 2), self.count)


class InterestTable:
    """The nodes with the most recent news, and their interests."""

    __slots__ = (
        "_exchange",
        "_fetched_count",
        "_known",
        "_most",
        "_news",
        "_node",
        "_now_us",
        "_on_news",
        "_sizes",
        "_to_fetch",
    )

    MESSAGES: ClassVar[tuple[type[WireMessage], ...]] = ()
    TIMERS: ClassVar[tuple[type[Timer], ...]] = ()

    def __init__(
        self,
        node: NodeId,
        exchange: InterestExchange,
        most: int = KNOWN_MAX,
        on_news: Callable[[int, list[Action]], None] | None = None,
    ) -> None:
        """`on_news` is called when membership tells of an unknown node or of a new interest."""
        self._node = node
        self._on_news = on_news
        self._exchange = exchange
        self._most = most
        # In the order of the last news of them.
        self._known: dict[NodeId, _Known] = {}
        self._fetched_count = 0
        # The nodes whose interests the last question would fetch.
        self._to_fetch: tuple[NodeId, ...] = ()
        # The time of the last fact; questions carry no time.
        self._now_us = 0
        # How many news membership has brought, and the holders of this node's topics, until news or interest change.
        self._news = 0
        self._sizes: tuple[int, int, dict[TopicId, int]] | None = None

    @property
    def is_full(self) -> bool:
        """Whether the table may lack nodes because it has no room for them."""
        return len(self._known) >= self._most

    def handle(self, event: Event, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """Forget a node that cannot be reached."""
        if isinstance(event, PeerDown) and not event.hung_up:
            self._forget(event.node)
        return NOTHING

    def learn(self, fact: Fact, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """Keep news of nodes and fetched interests, then start the fetches that the last question wants."""
        self._now_us = now_us
        if isinstance(fact, Heard):
            self._news += 1
            known = self._known.get(fact.node)
            is_news = known is None or fact.digest.version > known.version
            if is_news and fact.node != self._node and self._on_news is not None:
                self._on_news(now_us, out)
            self.note(fact)
            known = self._known.get(fact.node)
            if known is not None:
                known.news = self._news
        elif isinstance(fact, InterestFetched):
            self._take_in(fact)
        else:
            return NOTHING
        for node in self._to_fetch:
            known = self._known.get(node)
            if known is not None and known.may_be_asked(now_us):
                if not self._exchange.fetch(Peer(node, known.address), now_us, out):
                    break
                known.asked_us = now_us
        return NOTHING

    def note(self, heard: Heard) -> None:
        """Keep the news of a node; see `InterestLookup`."""
        if heard.node == self._node:
            return
        known = self._known.get(heard.node)
        if known is None or heard.digest.version > known.version:
            self._forget(heard.node)
            news = self._news if known is None else known.news
            known = _Known(heard)
            known.news = news
            self._sizes = None
        else:
            # Older news only shows that the node is known; it moves to the end of the order.
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
        self._sizes = None
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
            self._sizes = None
            self._unfetch(known)

    # Questions.

    def best_cover(self, topics: Sequence[TopicId], exclude: Collection[NodeId], key: int) -> Peer | None:
        """See `InterestView`."""
        wanted = frozenset(topics)

        def worth(known: _Known) -> int:
            return 0 if known.is_asked_first(self._now_us) else len(known.topics & wanted)

        best = self._pick(worth, exclude, key)
        self._note_to_fetch(wanted, 0 if best is None else worth(self._known[best.node]), exclude, key)
        return best

    def random_cover(self, topics: Sequence[TopicId], exclude: Collection[NodeId], key: int) -> Peer | None:
        """See `InterestView`."""
        wanted = frozenset(topics)
        found = self._pick(lambda known: 0 if known.topics.isdisjoint(wanted) else 1, exclude, key)
        self._note_to_fetch(wanted if found is None else frozenset(), 0, exclude, key)
        return found

    def random_peer(self, exclude: Collection[NodeId], key: int) -> Peer | None:
        """See `InterestView`."""
        return self._pick(lambda known: 1, exclude, key)

    def holder_below(self, topic: TopicId, node: NodeId, exclude: Collection[NodeId], key: int) -> Peer | None:
        """See `InterestView`."""
        above = {*exclude, *(other for other in self._known if other >= node)}
        found = self._pick(lambda known: int(topic in known.topics), above, key)
        self._note_to_fetch(frozenset((topic,) if found is None else ()), 0, above, key)
        return found

    def topics_of(self, node: NodeId) -> frozenset[TopicId]:
        """See `InterestLookup`: of a large interest that was not fetched, the sample."""
        known = self._known.get(node)
        return frozenset() if known is None else known.topics

    def digest_of(self, node: NodeId) -> Digest | None:
        """See `InterestLookup`."""
        known = self._known.get(node)
        if known is None:
            return self._exchange.digest() if node == self._node else None
        return known.digest

    def topic_size(self, topic: TopicId) -> int:
        """See `InterestLookup`: the holders in the table and this node, which is the size where the table has room."""
        if topic not in self._exchange.topics:
            return sum(topic in known.topics for known in self._recent())
        key = (self._news, self._exchange.version)
        if self._sizes is None or self._sizes[:2] != key:
            own = frozenset(self._exchange.topics)
            counts = Counter(chain.from_iterable(known.topics & own for known in self._recent()))
            self._sizes = (*key, counts)
        return self._sizes[2].get(topic, 0) + 1

    def network_size(self) -> int:
        """See `InterestLookup`: the nodes in the table and this node."""
        return sum(1 for _ in self._recent()) + 1

    def _recent(self) -> Iterator[_Known]:
        """The nodes that are probably present."""
        since = self._news - NEWS_A_NODE * len(self._known)
        return (known for known in self._known.values() if known.news >= since)

    def _pick(self, worth: Callable[[_Known], int], exclude: Collection[NodeId], key: int) -> Peer | None:
        """The node of greatest worth above 0; among equals the one with the smallest draw."""
        best: tuple[int, int, NodeId] | None = None
        for node, known in self._known.items():
            value = worth(known)
            if value and (best is None or value >= -best[0]) and node not in exclude:
                score = (-value, finish((key + node * ITEM_FACTOR) & MASK), node)
                if best is None or score < best:
                    best = score
        return None if best is None else Peer(best[2], self._known[best[2]].address)

    def _note_to_fetch(self, wanted: frozenset[TopicId], above: int, exclude: Collection[NodeId], key: int) -> None:
        """Note the nodes whose whole interests probably cover more than `above` of these topics."""
        scores = []
        for node, known in self._known.items():
            if wanted and known.may_be_asked(self._now_us) and node not in exclude:
                value = known.estimate(wanted)
                if value > above:
                    scores.append((-value, finish((key + node * ITEM_FACTOR) & MASK), node))
        if scores or wanted:
            self._to_fetch = tuple(node for _, _, node in sorted(scores)[:TO_FETCH_MAX])
