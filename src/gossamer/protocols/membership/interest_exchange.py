"""What this node holds, and how others learn it without one large frame.

The idea: an interest has a version that grows with every change. Membership spreads a *digest* of it (version, count, a
bounded sample); neighbours tell each other changes; whoever needs the whole and cannot reach it from what it has asks the
node itself, one bounded part after another. A frame with every topic is how others break (go-libp2p-pubsub #402).

The sample is a bottom-k sample: the topics whose mix is smallest. The same topics are in the samples of all nodes that
hold them, so samples can be compared. An interest that fits the sample travels whole.

Nothing is asked twice at a time, few are asked at once, and there are no timers: what is not answered goes on when it is wanted
again. Answers are counted, so that a peer that asks without end is answered so many times a second and no more.
"""

from collections.abc import Sequence
from heapq import nsmallest
from typing import Annotated, ClassVar

from msgspec import Meta

from gossamer.model.values.draw import finish
from gossamer.model.values.ids import NodeId, TopicId
from gossamer.model.values.time import SECOND_US
from gossamer.protocols.contract.actions import Action, Observe, Send
from gossamer.protocols.contract.events import Event, MessageReceived, PeerDown, Started, Subscribe, Unsubscribe
from gossamer.protocols.contract.facts import Fact, PeerMisbehaved
from gossamer.protocols.contract.messages import DIGEST_TOPICS, Address, Digest, Message, Peer, Timer
from gossamer.protocols.contract.parts import NOTHING

# Chosen: 1,000 topics in a frame, 9 kB.
PART_TOPICS = 1_000
# Chosen: 100,000 topics that one peer may claim to hold.
TOPICS_MAX = 100_000
# Chosen: 8 peers asked at a time.
FETCHES_MAX = 8
# Chosen: 2 s for an answer, several round trips.
ANSWER_US = 2 * SECOND_US
# Chosen: parts that one peer, and all together, are given in a second: the largest interest there may be, and 4.6 MB.
ANSWERS_A_PEER, ANSWERS_MAX = 128, 512

# Topics of one frame; more are refused where it is decoded.
SomeTopics = Annotated[tuple[TopicId, ...], Meta(max_length=PART_TOPICS)]


class InterestAsk(Message, frozen=True, array_like=True, gc=False, tag="interest_ask"):
    """Tell me this part of what you hold; the first one, if it has changed since this version."""

    version: int
    index: int
    address: Address = b""


class InterestPart(Message, frozen=True, array_like=True, gc=False, tag="interest_part"):
    """Part `index` of `of` of what I hold."""

    version: int
    index: int
    of: int
    topics: SomeTopics


class InterestFetched(Fact, frozen=True, array_like=True, gc=False, tag="interest_fetched"):
    """A peer has told all that it holds."""

    node: NodeId
    version: int
    topics: tuple[TopicId, ...]


class _Fetch:
    """A peer that is telling its interest, part by part."""

    __slots__ = ("peer", "topics", "until_us", "version", "wanted")

    def __init__(self) -> None:
        self.peer = Peer(0)
        self.until_us = 0
        self.version = 0
        # The part that is to come.
        self.wanted = 0
        self.topics: list[TopicId] = []


class InterestExchange:
    """The part below all others that tell or ask for interests. `topics` is what this node holds, oldest first."""

    __slots__ = ("_address", "_answers", "_answers_us", "_digest", "_fetches", "_held", "_recent", "topics", "version")

    MESSAGES: ClassVar[tuple[type[Message], ...]] = (InterestAsk, InterestPart)
    TIMERS: ClassVar[tuple[type[Timer], ...]] = ()

    def __init__(self) -> None:
        self.topics: dict[TopicId, None] = {}
        self.version = 0
        self._address = b""
        # Both made when they are asked for, and void after a change.
        self._held: tuple[TopicId, ...] | None = None
        self._digest: Digest | None = None
        self._fetches: dict[NodeId, _Fetch] = {}
        # What was fetched last: whoever is connected to next has often just told.
        self._recent: dict[NodeId, InterestFetched] = {}
        # Whom parts were given to within the second that began then.
        self._answers: dict[NodeId, int] = {}
        self._answers_us = 0

    def digest(self) -> Digest:
        """What membership spreads of this node."""
        if self._digest is None:
            self._digest = Digest(self.version, len(self.topics), bottom(self.topics))
        return self._digest

    def first(self) -> tuple[TopicId, ...]:
        """As many topics as fit a frame."""
        return self._whole()[:PART_TOPICS]

    def recall(self, node: NodeId, version: int) -> tuple[TopicId, ...] | None:
        """What a peer told a moment ago, if it told of this version."""
        fetched = self._recent.get(node)
        return fetched.topics if fetched is not None and fetched.version == version else None

    def handle(self, event: Event, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """The part contract (`interface.Part`)."""
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
            case Started():
                self._address = event.address
                self._changed(now_us)
        return NOTHING

    def learn(self, fact: Fact, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """There is nobody below to learn from."""
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
        # The time makes versions grow over restarts too; a new address is a new version for the same reason.
        self.version = max(self.version + 1, now_us)
        self._held = self._digest = None

    def _whole(self) -> tuple[TopicId, ...]:
        if self._held is None:
            self._held = tuple(self.topics)
        return self._held

    # Answering.

    def _on_ask(self, sender: NodeId, message: InterestAsk, now_us: int, out: list[Action]) -> None:
        if now_us >= self._answers_us + SECOND_US:
            self._answers_us = now_us
            self._answers = {}
        given = self._answers.get(sender, 0)
        if given >= ANSWERS_A_PEER or sum(self._answers.values()) >= ANSWERS_MAX:
            return
        self._answers[sender] = given + 1
        held = self._whole()[:TOPICS_MAX]
        of = max(_parts(len(held)), 1)
        index = message.index if message.version == self.version and 0 <= message.index < of else 0
        topics = held[index * PART_TOPICS : (index + 1) * PART_TOPICS]
        addresses = (message.address,) if message.address else ()
        out.append(Send((sender,), InterestPart(self.version, index, of, topics), addresses))

    # Asking.

    def want(self, peer: Peer, now_us: int, out: list[Action]) -> bool:
        """Fetch what a peer holds; `InterestFetched` follows if it answers. Says whether it is being asked."""
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
        # One that fell silent goes on where it was.
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
            # One that changes its mind all the time gets no more time for it.
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
    """The sample of an interest: all of it, in its order, where it fits."""
    if len(topics) <= DIGEST_TOPICS:
        return tuple(topics)
    return tuple(nsmallest(DIGEST_TOPICS, topics, key=finish))


def _parts(count: int) -> int:
    return -(-count // PART_TOPICS)
