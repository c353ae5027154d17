"""A tree for each topic, built and mended by messages alone (SpiderCast, section 5).

The idea is that of Plumtree (Leitao, Pereira, Rodrigues, SRDS 2007): the first message on a topic floods. A copy
that was not needed makes the link it came over *lazy*: from then on only the name of a message goes over it. What
remains *eager* is a tree. A name without its message, for longer than a while, means that the tree is broken here:
the link it came over becomes eager again and the message is asked for. A node sees its neighbours and nothing
beyond them.

Differs: links are lazy by topic, on the overlay that all topics share, and each node decides for itself who supplies it
(`branch.py`). Differs: a message of several topics goes along all their trees, over each link once; copies of it that were
not needed say nothing about one tree, so that they prune nothing.
"""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, cast

from msgspec import Meta

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.model.values.time import MILLISECOND_US
from gossamer.protocols.contract.actions import (
    Action,
    Observe,
    Send,
    SetTimer,
)
from gossamer.protocols.contract.events import (
    Event,
    MessageReceived,
    Publish,
    PublishBurst,
    Subscribe,
    TimerFired,
    Unsubscribe,
    Validated,
)
from gossamer.protocols.contract.facts import (
    Fact,
    NeighbourDown,
    PeerMisbehaved,
)
from gossamer.protocols.contract.messages import (
    HOPS_MAX,
    Burst,
    Data,
    Message,
    Number,
    Timer,
    Value,
)
from gossamer.protocols.contract.parts import NOTHING, Overlay
from gossamer.protocols.delivery.held import Held
from gossamer.protocols.delivery.history import History, Name
from gossamer.protocols.delivery.intake import NOT_HELD, recast
from gossamer.protocols.delivery.missing import Missing
from gossamer.protocols.delivery.seen import FETCHED
from gossamer.protocols.dissemination.branch import Branch

# Chosen: names of all topics are gathered for so long, so that a lazy link carries few frames. Mending begins that much later.
ANNOUNCE_EVERY_US = 100 * MILLISECOND_US
# Chosen: several hops of a slow network; a message that was announced is given so long to come over the tree.
MISSING_AFTER_US = 500 * MILLISECOND_US
# Chosen: six times as long where the supplier still brings messages: a path under pressure is slow, not broken.
PATIENCE = 6
# Chosen: about a round trip of a slow network, before the next who announced it is asked.
ASK_AGAIN_US = 300 * MILLISECOND_US
# Chosen: how finely one timer looks after all that is missing.
LOOK_AGAIN_US = 20 * MILLISECOND_US
# Chosen: names in one frame, and names that wait to be announced; when that many wait, they go at once.
NAMES_MAX = 256
GATHERED_MAX = 4_096
# Chosen: messages whose numbers follow each other and that are named together, and those that one frame may name.
RUN_MAX = 4_096
NAMED_MAX = 16_384

Names = Annotated[tuple[tuple[NodeId, Number], ...], Meta(max_length=NAMES_MAX)]


class TreeData(Data, frozen=True, array_like=True, gc=False, tag="tree_data"):
    """Application data on its way along a tree."""


class TreeBurst(Burst, frozen=True, array_like=True, gc=False, tag="tree_burst"):
    """Application data on its way along a tree, several messages as one."""

    KIND: ClassVar[type[Data]] = TreeData


class Named(Value, frozen=True, array_like=True, gc=False):
    """The name of a message on a topic, and of so many whose numbers follow it."""

    topic: TopicId
    publisher: NodeId
    sequence: Number
    count: Annotated[int, Meta(ge=1, le=RUN_MAX)] = 1


class Announce(Message, frozen=True, array_like=True, gc=False, tag="tree_announce"):
    """I have these messages, on topics that we share, should you miss one."""

    names: Annotated[tuple[Named, ...], Meta(max_length=NAMES_MAX)]


class Graft(Message, frozen=True, array_like=True, gc=False, tag="tree_graft"):
    """Send me these messages, and those to come."""

    topic: TopicId
    names: Names


class Prune(Message, frozen=True, array_like=True, gc=False, tag="tree_prune"):
    """I get this topic from another; announce it to me from now on."""

    topic: TopicId


class AnnounceDue(Timer, frozen=True, array_like=True, gc=False, tag="tree_announce_due"):
    """Names have been gathered for long enough."""


class MissingDue(Timer, frozen=True, array_like=True, gc=False, tag="tree_missing"):
    """An announced message ought to have come by now."""


class Run:
    """Messages to be announced whose numbers follow each other, and to whom."""

    __slots__ = ("count", "first", "publisher", "told", "topic")

    def __init__(self, topic: TopicId, publisher: NodeId, first: int, count: int, told: tuple[NodeId, ...]) -> None:
        self.topic = topic
        self.publisher = publisher
        self.first = first
        self.count = count
        self.told = told


class Tree:
    """The dissemination part above an overlay that knows its neighbours' interests."""

    __slots__ = (
        "_branches",
        "_gathered",
        "_held",
        "_history",
        "_intake",
        "_interests",
        "_looking",
        "_missing",
        "_node",
        "_overlay",
        "_runs",
        "_seen",
    )

    MESSAGES: ClassVar[tuple[type[Message], ...]] = (TreeData, TreeBurst, Announce, Graft, Prune)
    TIMERS: ClassVar[tuple[type[Timer], ...]] = (AnnounceDue, MissingDue)

    def __init__(self, overlay: Overlay, node: NodeId, held: Held | None = None) -> None:
        self._overlay = overlay
        self._node = node
        self._held = held or Held(node)
        self._history: History = self._held.require_history()
        self._interests = self._held.interests
        self._seen = self._held.seen
        self._intake = self._held.intake
        # By topic; of topics that this node holds.
        self._branches: dict[TopicId, Branch] = {}
        # Names to announce, and to whom.
        self._gathered: list[Run] = []
        # The last of them by topic and publisher.
        self._runs: dict[tuple[TopicId, NodeId], Run] = {}
        self._missing = Missing(self._seen.not_seen, PATIENCE)
        # Whether a timer looks after what is missing.
        self._looking = False

    def handle(self, event: Event, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """The part contract (`interface.Part`). The commonest event first."""
        if type(event) is MessageReceived:
            if type(event.message) is TreeData:
                return self._on_data(event.sender, event.message, now_us, out)
            if type(event.message) is TreeBurst:
                return self._on_burst(event.sender, event.message, now_us, out)
            self._on_control(event.sender, event.message, now_us, out)
            return NOTHING
        match event:
            case Publish():
                data = self._held.own_messages.publish(event, TreeData, now_us)
                if data is not None:
                    branch = self._branches.get(data.topic)
                    if branch is None or self._node != branch.reference:
                        self._branch(data, now_us)
                    self._pass_on(data, self._node, now_us, out)
            case PublishBurst():
                burst = self._held.own_messages.publish_burst(event, TreeBurst, now_us)
                if burst is not None:
                    self._branch(burst, now_us)
                    self._pass_on(burst, self._node, now_us, out)
            case TimerFired(timer=AnnounceDue()):
                self._announce(out)
            case TimerFired():
                self._on_missing_due(now_us, out)
            case Validated():
                accepted, facts = self._intake.on_validated(event, out)
                return facts if accepted is None else self._accept(accepted.sender, accepted.data, now_us, out)
            case Subscribe() | Unsubscribe():
                self._held.set_interest(event)
                if isinstance(event, Unsubscribe):
                    self._branches.pop(event.topic, None)
                    self._gathered = [run for run in self._gathered if run.topic != event.topic]
                    self._runs = {key: run for key, run in self._runs.items() if run.topic != event.topic}
        return NOTHING

    def learn(self, fact: Fact, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """A neighbour that is gone: should it return, its link starts eager. Whoever it supplied asks others at once."""
        if isinstance(fact, NeighbourDown):
            for topic, branch in self._branches.items():
                for node in branch.lose(fact.node):
                    out.append(Send((node,), Graft(topic, ())))
        return NOTHING

    def _on_control(self, sender: NodeId, message: Any, now_us: int, out: list[Action]) -> None:
        if type(message) is Announce:
            self._on_announce(sender, message, now_us, out)
        elif message.topic not in self._interests.roles:
            out.append(Observe(PeerMisbehaved(sender, NOT_HELD)))
        elif type(message) is Graft:
            self._on_graft(sender, message, out)
        elif sender in self._overlay.neighbours_on(message.topic):
            # Of neighbours only: what others send must not make this grow.
            self._branches.setdefault(message.topic, Branch(None, now_us)).set_lazy(sender, True)

    def _branch(self, data: Data | Burst, now_us: int) -> Branch:
        """The branch of a message's topic, with the lowest publisher as its reference."""
        branch = self._branches.get(data.topic)
        if branch is None:
            branch = self._branches[data.topic] = Branch(data.publisher, now_us)
        elif branch.reference is None or (data.publisher < branch.reference and not data.also):
            branch.adopt(data.publisher, now_us)
        return branch

    def _on_data(self, sender: NodeId, data: TreeData, now_us: int, out: list[Action]) -> Sequence[Fact]:
        interests = self._interests
        topic, publisher = data.topic, data.publisher
        # What is refused is rare, and the call costs as much as what is asked here.
        if (
            data.also or topic not in interests.roles or data.previous >= data.sequence or data.hops >= HOPS_MAX
        ) and self._intake.refuses(sender, data, out):
            return NOTHING
        is_new = self._seen.add(publisher, data.sequence, sender)
        fetched = None if is_new else self._intake.fetched_copy(data, sender)
        if not data.also:
            branch = self._branches.get(topic)
            if branch is None or publisher != branch.reference:
                branch = self._branch(data, now_us)
            if sender == branch.supplier:
                branch.heard_us = now_us
            if is_new or fetched is not None:
                if publisher == branch.reference and (sender != branch.supplier or data.hops != branch.hops):
                    node = branch.take_first(sender, data.hops)
                    if node is not None:
                        out.append(Send((node,), Graft(topic, ())))
            elif sender in self._overlay.neighbours_on(topic):
                self._on_copy(branch, sender, data, now_us, out)
        if not is_new:
            if fetched is not None:
                self._pass_on(recast(fetched, TreeData), sender, now_us, out)
            return NOTHING
        if interests.validated and self._held.validation.ask(sender, data, True, out):
            return NOTHING
        # As `_accept`, which is a call more for every message.
        onward, facts = self._intake.accept(data, sender, out)
        self._pass_on(onward, sender, now_us, out)
        return facts

    def _on_burst(self, sender: NodeId, burst: TreeBurst, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """As `_on_data`, message by message; at once where all are new and nobody judges them, which is the common case."""
        topic, publisher = burst.topic, burst.publisher
        if self._intake.refuses(sender, burst, out):
            return NOTHING
        if topic in self._interests.validated or not self._seen.add_all(publisher, burst.sequence, burst.count, sender):
            facts: list[Fact] = []
            for data in burst.messages:
                facts += self._on_data(sender, cast(TreeData, data), now_us, out)
            return facts
        branch = self._branch(burst, now_us)
        if sender == branch.supplier:
            branch.heard_us = now_us
        if publisher == branch.reference and (sender != branch.supplier or burst.hops != branch.hops):
            node = branch.take_first(sender, burst.hops)
            if node is not None:
                out.append(Send((node,), Graft(topic, ())))
        onward, arrived = self._intake.accept_burst(burst, sender, out)
        self._pass_on(onward, sender, now_us, out)
        return arrived

    def _on_copy(self, branch: Branch, sender: NodeId, data: TreeData, now_us: int, out: list[Action]) -> None:
        topic = data.topic
        if data.publisher != branch.reference:
            if branch.is_stray(now_us):
                branch.adopt(data.publisher, now_us)
            return
        first = self._seen.first_sender(data.publisher, data.sequence)
        if first == FETCHED:
            # It says nothing about the tree.
            return
        graft, prune = branch.take_copy(sender, data.hops, first, now_us)
        if graft is not None:
            out.append(Send((graft,), Graft(topic, ())))
        if prune is not None and prune in self._overlay.neighbours_on(topic):
            out.append(Send((prune,), Prune(topic)))

    def _accept(self, sender: NodeId, data: Data, now_us: int, out: list[Action]) -> Sequence[Fact]:
        onward, facts = self._intake.accept(data, sender, out)
        self._pass_on(onward, sender, now_us, out)
        return facts

    def _pass_on(self, data: Data | Burst, came_from: NodeId, now_us: int, out: list[Action]) -> None:
        if data.also:
            self._pass_on_several(data, came_from, now_us, out)
            return
        topic = data.topic
        neighbours = self._overlay.neighbours_on(topic)
        branch = self._branches.get(topic)
        if branch is None:
            branch = self._branches[topic] = Branch(None, now_us)
        eager, told = branch.route(came_from, neighbours)
        if told:
            self._gather(topic, data, told, now_us, out)
        if eager:
            out.append(Send(eager, data))

    def _pass_on_several(self, data: Data | Burst, came_from: NodeId, now_us: int, out: list[Action]) -> None:
        """A link that is eager in one topic of the message carries it; one that is lazy in all carries its name once."""
        eager: dict[NodeId, None] = {}
        lazy: dict[NodeId, TopicId] = {}
        for topic in self._interests.topics_of(data):
            branch = self._branches.get(topic)
            for node in self._overlay.neighbours_on(topic):
                if branch is not None and branch.is_lazy(node):
                    lazy.setdefault(node, topic)
                elif node != came_from:
                    eager[node] = None
        if eager:
            out.append(Send(tuple(sorted(eager)), data))
        for node, topic in lazy.items():
            if node not in eager and node != came_from:
                self._gather(topic, data, (node,), now_us, out)

    # Announcing.

    def _gather(
        self, topic: TopicId, data: Data | Burst, told: tuple[NodeId, ...], now_us: int, out: list[Action]
    ) -> None:
        if not self._gathered:
            out.append(SetTimer(now_us + ANNOUNCE_EVERY_US, AnnounceDue()))
        # By publisher and topic: where several publish at once, their messages come mixed.
        run = self._runs.get((topic, data.publisher))
        if (
            run is not None
            and run.first + run.count == data.sequence
            and run.told == told
            and run.count + data.count <= RUN_MAX
        ):
            run.count += data.count
            return
        run = self._runs[topic, data.publisher] = Run(topic, data.publisher, data.sequence, data.count, told)
        self._gathered.append(run)
        if len(self._gathered) >= GATHERED_MAX:
            self._announce(out)

    def _announce(self, out: list[Action]) -> None:
        names: dict[NodeId, list[Named]] = {}
        for run in self._gathered:
            name = Named(run.topic, run.publisher, run.first, run.count)
            for node in run.told:
                names.setdefault(node, []).append(name)
        self._gathered, self._runs = [], {}
        for node, mine in names.items():
            first = count = 0
            for place, name in enumerate(mine):
                if place - first == NAMES_MAX or count + name.count > NAMED_MAX:
                    out.append(Send((node,), Announce(tuple(mine[first:place]))))
                    first, count = place, 0
                count += name.count
            out.append(Send((node,), Announce(tuple(mine[first:]))))

    def _on_announce(self, sender: NodeId, message: Announce, now_us: int, out: list[Action]) -> None:
        strange = False
        count = 0
        for named in message.names:
            count += named.count
            if named.topic not in self._interests.roles or count > NAMED_MAX:
                strange = True
                continue
            due_us = now_us + MISSING_AFTER_US
            self._missing.announced(sender, named.topic, named.publisher, named.sequence, named.count, now_us, due_us)
        self._look_again(now_us, out)
        if strange:
            out.append(Observe(PeerMisbehaved(sender, NOT_HELD)))

    # Mending.

    def _look_again(self, now_us: int, out: list[Action]) -> None:
        soonest_us = None if self._looking else self._missing.soonest_us
        if soonest_us is not None:
            self._looking = True
            out.append(SetTimer(max(soonest_us, now_us + LOOK_AGAIN_US), MissingDue()))

    def _on_missing_due(self, now_us: int, out: list[Action]) -> None:
        self._looking = False
        wanted: dict[tuple[NodeId, TopicId], list[Name]] = {}
        for span, numbers in self._missing.due(now_us):
            if not span.announcers or span.topic not in self._interests.roles:
                self._missing.drop(span)
                continue
            branch = self._branches.get(span.topic)
            if branch is not None and span.patience and now_us - branch.heard_us < MISSING_AFTER_US:
                # The supplier is behind, and not gone: what comes from another would only come out of order.
                span.patience -= 1
                span.due_us = now_us + MISSING_AFTER_US
                continue
            # The tree is broken here: mend it over the link that still brings news.
            node = span.announcers.pop(0)
            span.due_us = now_us + ASK_AGAIN_US
            wanted.setdefault((node, span.topic), []).extend((span.publisher, number) for number in numbers)
        for (node, topic), names in wanted.items():
            if topic in self._branches:
                self._branches[topic].ask(node)
            for place in range(0, len(names), NAMES_MAX):
                out.append(Send((node,), Graft(topic, tuple(names[place : place + NAMES_MAX]))))
        self._look_again(now_us, out)

    def _on_graft(self, sender: NodeId, message: Graft, out: list[Action]) -> None:
        if message.topic in self._branches:
            self._branches[message.topic].set_lazy(sender, False)
        for data in self._history.named(message.topic, frozenset(message.names)):
            # What recovery brought is of the common class.
            out.append(Send((sender,), data if type(data) is TreeData else recast(data, TreeData)))
