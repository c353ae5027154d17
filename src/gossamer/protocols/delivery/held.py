"""What every dissemination keeps: the topics a node holds, what it has published, what it has seen, what is being judged."""

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from gossamer.model.values.errors import MachineMisuse
from gossamer.model.values.ids import NodeId, Role, TopicId
from gossamer.protocols.contract.actions import (
    Action,
    Deliver,
    Observe,
    Validate,
)
from gossamer.protocols.contract.events import (
    Outcome,
    Publish,
    PublishBurst,
    Subscribe,
    Unsubscribe,
    Validated,
)
from gossamer.protocols.contract.facts import Arrived, Fact, PeerMisbehaved
from gossamer.protocols.contract.messages import HOPS_MAX, Burst, Data
from gossamer.protocols.contract.parts import NOTHING
from gossamer.protocols.delivery.history import EACH_BYTES, History

# Chosen: 65,536 messages remembered by name, the oldest forgotten first. A copy that comes later than that would
# be taken for new.
SEEN_MAX = 65_536
# Chosen: messages that wait for the application's judgement, and their bytes; the oldest go first. A driver reads on only when few
# wait, so that this holds what one read brings.
JUDGED_MAX = 65_536
JUDGED_BYTES_MAX = 8 * 2**20

# In place of who first brought a message: it was asked for. No node has this id.
ASKED_FOR = -1
NOT_HELD = "sent a topic that this node does not hold"
# Plain numbers: an enum's arithmetic costs more than all else here.
FOLLOWS = int(Role.FOLLOWS)

AnyData = TypeVar("AnyData", bound=Data)
AnyBurst = TypeVar("AnyBurst", bound=Burst)


def recast(data: Data, kind: type[AnyData]) -> AnyData:
    """The same message in another class."""
    return kind(
        data.topic,
        data.publisher,
        data.sequence,
        data.hops,
        data.published_us,
        data.payload,
        data.previous,
        data.also,
    )


class NotJudged(Fact, frozen=True, array_like=True, gc=False, tag="not_judged"):
    """A message was dropped, because too many waited for the application's validator."""

    topic: TopicId
    publisher: NodeId
    sequence: int


class Run:
    """Messages of a publisher whose numbers follow each other, in the order in which they came: first to end - 1."""

    __slots__ = ("end", "first", "publisher")

    def __init__(self, publisher: NodeId, first: int, end: int) -> None:
        self.publisher = publisher
        self.first = first
        self.end = end


class Judged(NamedTuple):
    """A message that waits for the application's judgement. `relay`: it came to be passed on, not because it was asked for."""

    sender: NodeId
    data: Data
    relay: bool


class Held:
    """A node's topics, its own sequence, and the names of messages up to a bound."""

    __slots__ = (
        "_discloses",
        "_judged",
        "_judged_bytes",
        "_most",
        "_name_count",
        "_names",
        "_node",
        "_runs",
        "_sequence",
        "_ticket",
        "history",
        "published",
        "recovers",
        "roles",
        "validated",
    )

    def __init__(
        self,
        node: NodeId,
        most: int = SEEN_MAX,
        history: History | None = None,
        recovers: bool = False,
        discloses: bool = True,
    ) -> None:
        self._node = node
        self._most = most
        self._discloses = discloses
        self._sequence = 0
        # Names (publisher, number) and who first brought each, and a queue to forget by: the front of a dict that loses its
        # first entries is slow to find.
        self._names: dict[NodeId, dict[int, NodeId]] = {}
        self._name_count = 0
        self._runs: deque[Run] = deque()
        # The number of one's own last message on each topic.
        self.published: dict[TopicId, int] = {}
        # Topics whose messages the application judges.
        self.validated: dict[TopicId, None] = {}
        self._judged: dict[int, Judged] = {}
        self._judged_bytes = 0
        self._ticket = 0
        self.roles: dict[TopicId, int] = {}
        # Where messages are kept for those who ask; none is kept where nobody may.
        self.history = history
        # Whether recovery stands above and delivers.
        self.recovers = recovers

    # Topics.

    def set_interest(self, event: Subscribe | Unsubscribe) -> None:
        """The node holds a topic, or holds it no longer."""
        topic = event.topic
        if isinstance(event, Subscribe):
            self.roles[topic] = int(event.role)
            if event.validates:
                self.validated[topic] = None
            else:
                self.validated.pop(topic, None)
        else:
            self.roles.pop(topic, None)
            self.validated.pop(topic, None)
            self.published.pop(topic, None)
            if self.history is not None:
                self.history.drop(topic)

    def topics_of(self, data: Data | Burst) -> list[TopicId]:
        """The topics of a message that this node holds, in the message's order."""
        roles = self.roles
        return [topic for topic in data.topics if topic in roles]

    # Names.

    def knows(self, publisher: NodeId, sequence: int) -> bool:
        """Whether a message is remembered."""
        return sequence in self._names.get(publisher, ())

    def add(self, publisher: NodeId, sequence: int, sender: NodeId = 0) -> bool:
        """Remember a message and who brought it; says whether it was new."""
        brought = self._names.get(publisher)
        if brought is None:
            brought = self._names[publisher] = {}
        elif sequence in brought:
            return False
        brought[sequence] = sender
        runs = self._runs
        if runs and (run := runs[-1]).end == sequence and run.publisher == publisher:
            run.end = sequence + 1
        else:
            runs.append(Run(publisher, sequence, sequence + 1))
        self._name_count += 1
        if self._name_count > self._most:
            self._forget_names()
        return True

    def add_all(self, publisher: NodeId, first: int, count: int, sender: NodeId) -> bool:
        """As `add`, of messages whose numbers follow each other, if all are new; says whether they were."""
        end = first + count
        brought = self._names.get(publisher)
        if brought is None:
            brought = self._names[publisher] = {}
        elif not brought.keys().isdisjoint(range(first, end)):
            return False
        brought.update(dict.fromkeys(range(first, end), sender))
        runs = self._runs
        if runs and (run := runs[-1]).end == first and run.publisher == publisher:
            run.end = end
        else:
            runs.append(Run(publisher, first, end))
        self._name_count += count
        if self._name_count > self._most:
            self._forget_names()
        return True

    def _forget_names(self) -> None:
        while self._name_count > self._most:
            run = self._runs[0]
            brought = self._names[run.publisher]
            end = min(run.end, run.first + self._name_count - self._most)
            for number in range(run.first, end):
                del brought[number]
            if not brought:
                del self._names[run.publisher]
            self._name_count -= end - run.first
            run.first = end
            if end == run.end:
                self._runs.popleft()

    def taken_over(self, data: Data, sender: NodeId) -> Data | None:
        """A message that was asked for, and so went to nobody, now comes by itself: as this node has it, it goes on from here.

        Those behind this node wait for it. What the validator refused is not kept, and goes nowhere.
        """
        brought = self._names[data.publisher]
        if brought[data.sequence] != ASKED_FOR or self.history is None:
            return None
        name = (data.publisher, data.sequence)
        kept = next((one for topic in self.topics_of(data) for one in self.history.named(topic, (name,))), None)
        if kept is not None:
            brought[data.sequence] = sender
        return kept

    def lacking(self, publisher: NodeId, first: int, count: int) -> list[int]:
        """Those numbers of a run that are not remembered."""
        brought = self._names.get(publisher, ())
        return [number for number in range(first, first + count) if number not in brought]

    def brought_by(self, publisher: NodeId, sequence: int) -> NodeId:
        """Who first brought a message that is remembered."""
        return self._names[publisher][sequence]

    # Messages.

    def publish(self, event: Publish, kind: type[AnyData], now_us: int) -> AnyData | None:
        """A message of one's own, with the next number; none where one holds none of its topics."""
        topic, also = event.topic, event.also
        if also:
            if not self._discloses:
                raise MachineMisuse("this system tells nobody which topics a node holds: publish on one at a time")
            held = [one for one in dict.fromkeys((topic, *also)) if one in self.roles]
            if not held:
                return None
            topic, also = held[0], tuple(held[1:])
        elif topic not in self.roles:
            return None
        # See `interface.Publish`.
        sequence = event.sequence or (self._sequence or now_us) + 1
        if sequence <= self._sequence:
            raise MachineMisuse(f"a message was to have number {sequence} after number {self._sequence}")
        self._sequence = sequence
        self.add(self._node, sequence)
        previous = self.published
        data = kind(
            topic,
            self._node,
            sequence,
            0,
            event.published_us or now_us,
            event.payload,
            previous.get(topic, 0),
            tuple((one, previous.get(one, 0)) for one in also) if also else (),
        )
        previous[topic] = sequence
        if also:
            for one in also:
                previous[one] = sequence
            self.keep(data)
        elif self.history is not None:
            self.history.put(topic, (data,))
        return data

    def publish_all(self, event: PublishBurst, kind: type[AnyBurst], now_us: int) -> AnyBurst | None:
        """As `publish`, of a burst."""
        topic, count = event.topic, len(event.items)
        if topic not in self.roles:
            return None
        first = event.sequence or (self._sequence or now_us) + 1
        if first <= self._sequence:
            raise MachineMisuse(f"a message was to have number {first} after number {self._sequence}")
        self._sequence = first + count - 1
        if not self.add_all(self._node, first, count, 0):
            # Somebody has published under this node's name.
            for number in range(first, first + count):
                self.add(self._node, number)
        burst = kind(topic, self._node, first, 0, event.items, self.published.get(topic, 0))
        self.published[topic] = self._sequence
        if self.history is not None:
            self.history.put(topic, burst.messages)
        return burst

    def refuses(self, sender: NodeId, data: Data | Burst, out: list[Action]) -> bool:
        """Whether a message may neither be delivered nor passed on; says why."""
        if data.topic in self.roles and data.previous < data.sequence and data.hops < HOPS_MAX and not data.also:
            # The common case.
            return False
        if data.topic not in self.roles and not (data.also and self.topics_of(data)):
            # An interest that has just changed, or a peer that does not care; never relayed, never delivered.
            reason = NOT_HELD
        elif data.previous >= data.sequence or (
            data.also and any(previous >= data.sequence for _, previous in data.also)
        ):
            reason = "sent a message that follows itself"
        elif data.hops >= HOPS_MAX:
            reason = "sent a message that has come too far"
        elif data.also and not self._discloses:
            reason = "sent a message that shows topics to those who may not know them"
        else:
            return False
        out.append(Observe(PeerMisbehaved(sender, reason)))
        return True

    def take_in(self, data: AnyData, out: list[Action]) -> AnyData:
        """Keep a new message and, where nobody above does, deliver it; returns it as it goes on, a hop further."""
        onward = type(data)(
            data.topic,
            data.publisher,
            data.sequence,
            data.hops + 1,
            data.published_us,
            data.payload,
            data.previous,
            data.also,
        )
        if self.history is not None:
            if data.also:
                self.keep(onward)
            else:
                self.history.put(data.topic, (onward,))
        if not self.recovers:
            self.deliver(onward, out)
        return onward

    def take_in_all(self, burst: AnyBurst, out: list[Action]) -> AnyBurst:
        """As `take_in`, of a burst."""
        onward = type(burst)(burst.topic, burst.publisher, burst.sequence, burst.hops + 1, burst.items, burst.previous)
        if self.history is not None:
            self.history.put(burst.topic, onward.messages)
        if not self.recovers:
            self.deliver_all(onward, out)
        return onward

    def keep(self, data: Data) -> None:
        """Keep a message for those who ask."""
        if self.history is not None:
            if not data.also:
                self.history.put(data.topic, (data,))
            else:
                for topic in self.topics_of(data):
                    self.history.put(topic, (data,))

    def deliver(self, data: Data, out: list[Action]) -> None:
        """Hand a message to the application, where it follows one of its topics."""
        topic = data.topic
        also: tuple[TopicId, ...] = ()
        if data.also:
            followed = [one for one in self.topics_of(data) if self.roles[one] & FOLLOWS]
            if not followed:
                return
            topic, also = followed[0], tuple(followed[1:])
        elif not self.roles.get(topic, 0) & FOLLOWS:
            return
        out.append(Deliver(topic, data.payload, data.publisher, data.sequence, data.hops, data.published_us, also))

    def deliver_all(self, burst: Burst, out: list[Action]) -> None:
        """As `deliver`, of a burst."""
        topic, publisher, hops = burst.topic, burst.publisher, burst.hops
        if self.roles.get(topic, 0) & FOLLOWS:
            out += [
                Deliver(topic, payload, publisher, number, hops, published_us)
                for number, (published_us, payload) in enumerate(burst.items, burst.sequence)
            ]

    # Judgement.

    def judges(self, sender: NodeId, data: Data, relay: bool, out: list[Action]) -> bool:
        """Where a topic of the message validates: ask the application, and have the message wait."""
        if not self.validated:
            return False
        topic = next((one for one in self.topics_of(data) if one in self.validated), None)
        if topic is None:
            return False
        self._ticket += 1
        self._judged[self._ticket] = Judged(sender, data, relay)
        self._judged_bytes += len(data.payload) + EACH_BYTES
        out.append(Validate(self._ticket, topic, data.payload, data.publisher, data.sequence, data.published_us))
        while len(self._judged) > JUDGED_MAX or self._judged_bytes > JUDGED_BYTES_MAX:
            dropped = self._pop_judged(next(iter(self._judged)))
            if dropped is not None:
                out.append(Observe(NotJudged(dropped.data.topic, dropped.data.publisher, dropped.data.sequence)))
        return True

    def settle(self, event: Validated, out: list[Action]) -> tuple[Judged | None, Sequence[Fact]]:
        """What the application judged: a message to deliver and pass on, or what became of one that is not to be passed on."""
        judged = self._pop_judged(event.ticket)
        if judged is None or not self.topics_of(judged.data):
            return None, NOTHING
        if event.outcome == Outcome.REJECT:
            # Whatever follows it waits, and is told that it is lost: a rejected message may be anybody's.
            out.append(Observe(PeerMisbehaved(judged.sender, "sent a message that the validator rejects")))
        elif event.outcome == Outcome.IGNORE:
            return None, (Arrived(judged.data, judged.sender, wanted=False),) if self.recovers else NOTHING
        elif judged.relay:
            return judged, NOTHING
        else:
            return None, (Arrived(self.take_in(judged.data, out), judged.sender),)
        return None, NOTHING

    def _pop_judged(self, ticket: int) -> Judged | None:
        judged = self._judged.pop(ticket, None)
        if judged is not None:
            self._judged_bytes -= len(judged.data.payload) + EACH_BYTES
        return judged
