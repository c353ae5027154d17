"""Telling other nodes this node's interest, and fetching theirs, in frames of bounded size.

The idea: an interest has a version that grows with every change. Membership spreads a *digest* of it (version, number of
topics, a bounded sample); neighbours tell each other changes; a node that needs a whole interest asks its owner for
it, one bounded part after another. One frame with every topic is a known failure of other systems (go-libp2p-pubsub #402).

The sample is a bottom-k sample: the topics whose hashes are smallest. All nodes that hold a topic with a small hash have
it in their samples, so that samples can be compared. A small interest is sent whole.

A peer is asked for one part at a time, few peers are asked at once, and there are no timers: a fetch that got no answer
continues when the interest is wanted again. Answers are limited per second, for each peer and in total.
"""

from collections.abc import Sequence
from heapq import nsmallest
from typing import Annotated, ClassVar

from msgspec import Meta

from gossamer.model.values.draw import finish
from gossamer.model.values.ids import NodeId, TopicId
from gossamer.model.values.time import SECOND_US
from gossamer.protocols.contract.actions import Action, Observe, Send
from gossamer.protocols.contract.events import (
    Event,
    MessageReceived,
    PeerDown,
    Restarted,
    Started,
    Subscribe,
    Unsubscribe,
)
from gossamer.protocols.contract.facts import Fact, PeerMisbehaved
from gossamer.protocols.contract.messages import DIGEST_TOPICS, Address, Digest, Peer, Timer, WireMessage
from gossamer.protocols.contract.parts import NOTHING

# Chosen: 1,000 topics in a frame, 9 kB.
PART_TOPICS = 1_000
# Chosen: 100,000 topics, the largest interest that is accepted from a peer.
TOPICS_MAX = 100_000
# Chosen: 8 fetches at the same time.
FETCHES_MAX = 8
# Chosen: 2 s to wait for an answer, several round trips.
ANSWER_US = 2 * SECOND_US
# Chosen: parts sent in one second, to one peer (a little more than the largest interest) and in total (4.6 MB).
ANSWERS_A_PEER, ANSWERS_MAX = 128, 512

# Topics in one frame; the decoder refuses longer ones.
SomeTopics = Annotated[tuple[TopicId, ...], Meta(max_length=PART_TOPICS)]


class InterestAsk(WireMessage, frozen=True, array_like=True, gc=False, tag="interest_ask"):
    """Request for part `index` of an interest; if its version is another, for the first part."""

    version: int
    index: int
    address: Address = b""


class InterestPart(WireMessage, frozen=True, array_like=True, gc=False, tag="interest_part"):
    """Part `index` of `of` of the sender's interest."""

    version: int
    index: int
    of: int
    topics: SomeTopics


class InterestFetched(Fact, frozen=True, array_like=True, gc=False, tag="interest_fetched"):
    """The whole interest of a peer has arrived."""

    node: NodeId
    version: int
    topics: tuple[TopicId, ...]


class _Fetch:
    """An interest of which some parts have arrived."""

    __slots__ = ("peer", "topics", "until_us", "version", "wanted")

    def __init__(self) -> None:
        self.peer = Peer(0)
        self.until_us = 0
        self.version = 0
        # The index of the next part.
        self.wanted = 0
        self.topics: list[TopicId] = []


class InterestExchange:
    """The part below all others that send or request interests. `topics` is this node's interest, oldest first."""

    __slots__ = (
        "_address",
        "_answers",
        "_answers_us",
        "_counts_versions",
        "_digest",
        "_fetches",
        "_recent",
        "_whole",
        "topics",
        "version",
    )

    MESSAGES: ClassVar[tuple[type[WireMessage], ...]] = (InterestAsk, InterestPart)
    TIMERS: ClassVar[tuple[type[Timer], ...]] = ()

    def __init__(self) -> None:
        self.topics: dict[TopicId, None] = {}
        self.version = 0
        # Whether each change adds one to the version (`Restarted`).
        self._counts_versions = False
        self._address = b""
        # The interest and its digest, computed when needed and dropped after a change.
        self._whole: tuple[TopicId, ...] | None = None
        self._digest: Digest | None = None
        self._fetches: dict[NodeId, _Fetch] = {}
        # The last fetched interests: a peer is often fetched just before it becomes a neighbour.
        self._recent: dict[NodeId, InterestFetched] = {}
        # Parts sent to each peer in the second that began at `_answers_us`.
        self._answers: dict[NodeId, int] = {}
        self._answers_us = 0

    def digest(self) -> Digest:
        """The digest of this node's interest, which membership spreads."""
        if self._digest is None:
            self._digest = Digest(self.version, len(self.topics), bottom(self.topics))
        return self._digest

    def first(self) -> tuple[TopicId, ...]:
        """As many topics as fit one frame."""
        return self._all_topics()[:PART_TOPICS]

    def recall(self, node: NodeId, version: int) -> tuple[TopicId, ...] | None:
        """The interest of a peer at this version, if it was fetched a moment ago."""
        fetched = self._recent.get(node)
        return fetched.topics if fetched is not None and fetched.version == version else None

    def handle(self, event: Event, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """See `Part`."""
        match event:
            case MessageReceived():
                if isinstance(event.message, InterestAsk):
                    self._on_ask(event.sender, event.message, now_us, out)
                    return NOTHING
                return self._on_part(event.sender, event.message, now_us, out)
            case Subscribe() | Unsubscribe():
                self._on_interest(event, now_us)
            case PeerDown():
                self._fetches.pop(event.node, None)
            case Restarted():
                self._address = event.address
                self._counts_versions = True
                self.version = event.version
                self._whole = self._digest = None
            case Started():
                self._address = event.address
                self._changed(now_us)
        return NOTHING

    def learn(self, fact: Fact, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """No part below states facts."""
        return NOTHING

    def _on_interest(self, event: Subscribe | Unsubscribe, now_us: int) -> None:
        if (event.topic in self.topics) == isinstance(event, Subscribe):
            return
        if isinstance(event, Subscribe):
            self.topics[event.topic] = None
        else:
            del self.topics[event.topic]
        self._changed(now_us)

    def _changed(self, now_us: int) -> None:
        # Versions start at the current time, so that they also grow across restarts, after which the address may be new. A
        # driver whose clock may go back between runs gives the first version instead, and must be able to tell the last.
        self.version = self.version + 1 if self._counts_versions else max(self.version + 1, now_us)
        self._whole = self._digest = None

    def _all_topics(self) -> tuple[TopicId, ...]:
        if self._whole is None:
            self._whole = tuple(self.topics)
        return self._whole

    # Answering requests.

    def _on_ask(self, sender: NodeId, message: InterestAsk, now_us: int, out: list[Action]) -> None:
        if now_us >= self._answers_us + SECOND_US:
            self._answers_us = now_us
            self._answers = {}
        given = self._answers.get(sender, 0)
        if given >= ANSWERS_A_PEER or sum(self._answers.values()) >= ANSWERS_MAX:
            return
        self._answers[sender] = given + 1
        topics = self._all_topics()[:TOPICS_MAX]
        of = max(_parts(len(topics)), 1)
        index = message.index if message.version == self.version and 0 <= message.index < of else 0
        part = topics[index * PART_TOPICS : (index + 1) * PART_TOPICS]
        addresses = (message.address,) if message.address else ()
        out.append(Send((sender,), InterestPart(self.version, index, of, part), addresses))

    # Fetching.

    def fetch(self, peer: Peer, now_us: int, out: list[Action]) -> bool:
        """Fetch the interest of a peer; `InterestFetched` follows if it answers. Returns whether a fetch is under way."""
        fetch = self._fetches.get(peer.node)
        if fetch is not None and now_us < fetch.until_us:
            return True
        if fetch is None and len(self._fetches) >= FETCHES_MAX:
            silent = next((node for node, other in self._fetches.items() if other.until_us <= now_us), None)
            if silent is None:
                return False
            del self._fetches[silent]
        if fetch is None:
            fetch = self._fetches[peer.node] = _Fetch()
        # A fetch that got no answer continues with the part that is missing.
        fetch.peer = peer
        fetch.until_us = now_us + ANSWER_US
        self._ask(fetch, out)
        return True

    def _ask(self, fetch: _Fetch, out: list[Action]) -> None:
        peer, ask = fetch.peer, InterestAsk(fetch.version, fetch.wanted, self._address)
        out.append(Send((peer.node,), ask, (peer.address,) if peer.address else ()))

    def _on_part(self, sender: NodeId, message: InterestPart, now_us: int, out: list[Action]) -> Sequence[Fact]:
        fetch = self._fetches.get(sender)
        if fetch is None:
            return NOTHING
        if message.of > _parts(TOPICS_MAX):
            del self._fetches[sender]
            out.append(Observe(PeerMisbehaved(sender, f"claims more than {TOPICS_MAX} topics")))
            return NOTHING
        begins_anew = message.index == 0 and message.version != fetch.version
        if not begins_anew and (message.version, message.index) != (fetch.version, fetch.wanted):
            return NOTHING
        if begins_anew:
            # A peer that changes its interest during the fetch gets no more time for it.
            fetch.until_us = fetch.until_us if fetch.version else now_us + ANSWER_US
            fetch.version, fetch.topics = message.version, []
        else:
            fetch.until_us = now_us + ANSWER_US
        fetch.wanted = message.index + 1
        fetch.topics += message.topics[:PART_TOPICS]
        if fetch.wanted < message.of:
            self._ask(fetch, out)
            return NOTHING
        del self._fetches[sender]
        fetched = InterestFetched(sender, fetch.version, tuple(fetch.topics))
        self._recent.pop(sender, None)
        self._recent[sender] = fetched
        if len(self._recent) > FETCHES_MAX:
            del self._recent[next(iter(self._recent))]
        return (fetched,)


def bottom(topics: dict[TopicId, None]) -> tuple[TopicId, ...]:
    """The sample of an interest: all topics in their order if they fit, else those with the smallest hashes."""
    if len(topics) <= DIGEST_TOPICS:
        return tuple(topics)
    return tuple(nsmallest(DIGEST_TOPICS, topics, key=finish))


def _parts(count: int) -> int:
    return -(-count // PART_TOPICS)
