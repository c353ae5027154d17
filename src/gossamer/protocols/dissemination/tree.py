"""A tree for each topic, built and mended by messages alone (SpiderCast, section 5).

The idea is Plumtree's (Leitao, Pereira, Rodrigues, SRDS 2007). The first message on a topic floods. A redundant copy makes
its link *lazy*: from then on the link carries at most the names of messages (`delivery/announcements.py`). The links that remain
*eager* form a tree. If a message was announced but does not arrive for a while, the tree is broken here: the link that announced
it becomes eager again, and the message is requested over it (`mending.py`). A node knows nothing beyond its neighbours.

Differs: a link is lazy for one topic, on the overlay that all topics share, and each node decides for itself which neighbour
supplies it (`branch.py`). Differs: a node listens to one of its lazy neighbours (`tellers.py`); in Plumtree all announce. Differs: a message of several topics travels along all their trees, over each link once. Redundant
copies of such a message say nothing about any one tree, so they prune nothing.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, cast

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.model.values.time import MILLISECOND_US, SECOND_US
from gossamer.protocols.contract.actions import Action, Observe, Send
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
from gossamer.protocols.contract.facts import Fact, NeighbourDown, NeighbourTopicsChanged, PeerMisbehaved
from gossamer.protocols.contract.messages import HOPS_MAX, Burst, Data, Timer, WireMessage
from gossamer.protocols.contract.parts import NOTHING, TopicNeighbours
from gossamer.protocols.delivery.announcements import Announced, MessageRun
from gossamer.protocols.delivery.intake import NOT_HELD, recast
from gossamer.protocols.delivery.state import DeliveryState
from gossamer.protocols.dissemination.branch import Branch
from gossamer.protocols.dissemination.mending import Mending
from gossamer.protocols.dissemination.tellers import Tellers
from gossamer.protocols.dissemination.tree_messages import (
    Graft,
    MissingDue,
    Prune,
    TellersDue,
    TreeBurst,
    TreeData,
)

# Chosen: announced messages that are older do not show that the tree is broken now; recovery asks for them.
FRESH_US = 20 * SECOND_US
# Chosen: a neighbour that has lost its supplier is sent the messages of the last half second, and not more than this number.
RECENT_US, RECENT_MAX = 500 * MILLISECOND_US, 32


class Tree:
    """The dissemination part above an overlay that knows its neighbours' interests."""

    __slots__ = (
        "_announcements",
        "_branches",
        "_delivery",
        "_history",
        "_intake",
        "_interests",
        "_mending",
        "_node",
        "_overlay",
        "_own_messages",
        "_seen",
        "_since_us",
        "_tellers",
        "_validation",
    )

    MESSAGES: ClassVar[tuple[type[WireMessage], ...]] = (TreeData, TreeBurst, Graft, Prune)
    TIMERS: ClassVar[tuple[type[Timer], ...]] = (MissingDue, TellersDue)

    def __init__(self, overlay: TopicNeighbours, node: NodeId, delivery: DeliveryState | None = None) -> None:
        self._overlay = overlay
        self._node = node
        self._delivery = delivery or DeliveryState(node)
        # Neighbours may request messages with `Graft`, so the tree needs a history.
        self._history = self._delivery.require_history()
        self._interests = self._delivery.interests
        self._seen = self._delivery.seen
        self._validation = self._delivery.validation
        self._own_messages = self._delivery.own_messages
        self._intake = self._delivery.intake
        # One branch for each topic that this node holds and that has had messages.
        self._branches: dict[TopicId, Branch] = {}
        # When this node took up each topic.
        self._since_us: dict[TopicId, int] = {}
        self._announcements = self._delivery.require_announcements(overlay)
        self._announcements.relays_announce = True
        self._tellers = Tellers(overlay, self._branches)
        self._mending = Mending(self._interests, self._seen, self._branches, self._tellers)

    def handle(self, event: Event, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """The part contract (`contract.parts.Part`). The most frequent event comes first."""
        if type(event) is MessageReceived:
            if type(event.message) is TreeData:
                return self._on_data(event.sender, event.message, now_us, out)
            if type(event.message) is TreeBurst:
                return self._on_burst(event.sender, event.message, now_us, out)
            self._on_control(event.sender, event.message, now_us, out)
            return NOTHING
        match event:
            case Publish():
                data = self._own_messages.publish(event, TreeData, now_us)
                if data is not None:
                    self._send_own(data, now_us, out)
            case PublishBurst():
                burst = self._own_messages.publish_burst(event, TreeBurst, now_us)
                if burst is not None:
                    self._send_own(burst, now_us, out)
            case TimerFired(timer=TellersDue()):
                self._tellers.on_due(now_us, out)
            case TimerFired():
                self._mending.on_missing_due(now_us, out)
            case Validated():
                accepted, facts = self._intake.on_validated(event, now_us, out)
                return facts if accepted is None else self._accept(accepted.sender, accepted.data, now_us, out)
            case Subscribe() | Unsubscribe():
                self._delivery.set_interest(event)
                if isinstance(event, Unsubscribe):
                    self._branches.pop(event.topic, None)
                    self._since_us.pop(event.topic, None)
                else:
                    self._since_us.setdefault(event.topic, now_us)
        return NOTHING

    def learn(self, fact: Fact, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """Forget a neighbour that is gone, or mend the tree if an announced message does not arrive.

        If the neighbour was the supplier of a topic, graft all neighbours that were pruned on the topic.
        """
        if isinstance(fact, NeighbourDown):
            for topic, branch in self._branches.items():
                self._lose(topic, branch, fact.node, now_us, out)
        elif isinstance(fact, NeighbourTopicsChanged):
            for topic, branch in self._branches.items():
                if fact.node not in self._overlay.neighbours_on(topic):
                    self._lose(topic, branch, fact.node, now_us, out)
        elif isinstance(fact, Announced):
            has = self._seen.has
            # Most messages that are announced have arrived.
            runs = [run for run in fact.runs if run.count > 1 or not has(run.publisher, run.last)]
            fresh = [run for run in runs if self._is_fresh(run, now_us)]
            if fresh:
                self._mending.on_announced(fact.sender, fresh, now_us, out)
        return NOTHING

    def _lose(self, topic: TopicId, branch: Branch, gone: NodeId, now_us: int, out: list[Action]) -> None:
        """A node is no longer a neighbour on a topic."""
        if gone == branch.supplier:
            self._announcements.hurry(topic, now_us, out)
        for node in branch.lose(gone):
            out.append(Send((node,), Graft(topic, ())))
        self._tellers.keep(topic, branch, now_us, out)

    def _is_fresh(self, run: MessageRun, now_us: int) -> bool:
        """Whether announced messages travel along the tree, just now and since this node took up their topic."""
        age_us = run.age_ms * MILLISECOND_US
        return run.relayed and age_us <= FRESH_US and now_us - age_us >= self._since_us[run.topic]

    # Messages.

    def _on_data(self, sender: NodeId, data: TreeData, now_us: int, out: list[Action]) -> Sequence[Fact]:
        topic, publisher = data.topic, data.publisher
        # The condition repeats the common case of `refuses`: the call alone would cost as much as these comparisons.
        if (
            data.also or topic not in self._interests.roles or data.previous >= data.sequence or data.hops >= HOPS_MAX
        ) and self._intake.refuses(sender, data, out):
            return NOTHING
        is_new = self._seen.add(publisher, data.sequence, sender)
        fetched = None if is_new else self._intake.fetched_copy(data, sender)
        if not data.also:
            branch = self._branches.get(topic)
            if branch is None or publisher != branch.reference:
                branch = self._branch(data, now_us)
            elif is_new:
                branch.reference_us = now_us
            if sender == branch.supplier:
                branch.heard_us = now_us
            if not is_new and fetched is None:
                self._on_redundant_copy(branch, sender, data, now_us, out)
            elif publisher == branch.reference and (
                sender != branch.supplier or data.hops != branch.hops or branch.substitute is not None
            ):
                self._on_first_copy(branch, sender, data, now_us, out)
        if not is_new:
            if fetched is not None:
                self._relay(recast(fetched, TreeData), sender, now_us, out)
            return NOTHING
        if self._interests.validated and self._validation.ask(sender, data, True, out):
            return NOTHING
        # As `_accept`; that call would cost about 2% of the time that a relayed message takes.
        onward, facts = self._intake.accept(data, sender, now_us, out)
        self._relay(onward, sender, now_us, out)
        return facts

    def _on_burst(self, sender: NodeId, burst: TreeBurst, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """Handle a burst as a whole if all its messages are new and none is validated; else message by message."""
        # Measured: a relayed burst of one takes 4.9 us through the whole node, and a single message 2.4 us; so both paths stay.
        if self._intake.refuses(sender, burst, out):
            return NOTHING
        if burst.topic in self._interests.validated or not self._seen.add_all(
            burst.publisher, burst.sequence, burst.count, sender
        ):
            facts: list[Fact] = []
            for data in burst.messages:
                facts += self._on_data(sender, cast(TreeData, data), now_us, out)
            return facts
        branch = self._branch(burst, now_us)
        was_supplier = sender == branch.supplier
        if burst.publisher == branch.reference:
            self._on_first_copy(branch, sender, burst, now_us, out)
        # As in `_on_data`: the first message may make its sender the supplier, and the second is heard from the supplier.
        if was_supplier or (burst.count > 1 and sender == branch.supplier):
            branch.heard_us = now_us
        onward, arrived = self._intake.accept_burst(burst, sender, now_us, out)
        self._relay(onward, sender, now_us, out)
        return arrived

    def _accept(self, sender: NodeId, data: Data, now_us: int, out: list[Action]) -> Sequence[Fact]:
        onward, facts = self._intake.accept(data, sender, now_us, out)
        self._relay(onward, sender, now_us, out)
        return facts

    def _send_own(self, data: TreeData | TreeBurst, now_us: int, out: list[Action]) -> None:
        branch = self._branches.get(data.topic)
        if branch is None or self._node != branch.reference:
            self._branch(data, now_us)
        else:
            branch.reference_us = now_us
        self._relay(data, self._node, now_us, out)

    def _relay(self, data: Data | Burst, came_from: NodeId, now_us: int, out: list[Action]) -> None:
        if data.also:
            self._relay_on_several(data, came_from, now_us, out)
            return
        topic = data.topic
        neighbours = self._overlay.neighbours_on(topic)
        branch = self._branches.get(topic)
        if branch is None:
            branch = self._branches[topic] = Branch(None, now_us)
        elif branch.substitute is not None:
            self._graft(topic, branch, branch.replace_supplier(now_us), now_us, out)
        eager, listeners = branch.route(came_from, neighbours)
        self._announcements.add(topic, data, listeners, eager, came_from, now_us, out)
        if eager:
            out.append(Send(eager, data))

    def _relay_on_several(self, data: Data | Burst, came_from: NodeId, now_us: int, out: list[Action]) -> None:
        """Send a message of several topics over each link that is eager on one of them; announce it once over the others."""
        eager: dict[NodeId, None] = {}
        listeners: dict[NodeId, TopicId] = {}
        for topic in self._interests.topics_of(data):
            branch = self._branches.get(topic)
            for node in self._overlay.neighbours_on(topic):
                if branch is None or not branch.is_lazy(node):
                    eager[node] = None
                elif branch.lazy[node]:
                    listeners.setdefault(node, topic)
        eager.pop(came_from, None)
        listeners.pop(came_from, None)
        if eager:
            out.append(Send(tuple(sorted(eager)), data))
        for topic in self._interests.topics_of(data):
            mine = tuple([node for node in listeners if listeners[node] == topic and node not in eager])
            self._announcements.add(topic, data, mine, tuple(eager), came_from, now_us, out)

    # The shape of the tree.

    def _branch(self, data: Data | Burst, now_us: int) -> Branch:
        """The branch of a message's topic. A publisher with a lower id becomes the reference, or any if the reference is silent."""
        branch = self._branches.get(data.topic)
        if branch is None:
            branch = self._branches[data.topic] = Branch(data.publisher, now_us)
        elif data.publisher == branch.reference:
            branch.reference_us = now_us
        elif not data.also and branch.may_adopt(data.publisher, now_us):
            branch.adopt(data.publisher, now_us)
        return branch

    def _on_first_copy(
        self, branch: Branch, sender: NodeId, data: Data | Burst, now_us: int, out: list[Action]
    ) -> None:
        """A message of the reference arrived that was new, or that this node had only fetched so far."""
        if sender in self._overlay.neighbours_on(data.topic):
            self._graft(data.topic, branch, branch.on_first_copy(sender, data.hops, now_us), now_us, out)

    def _graft(self, topic: TopicId, branch: Branch, supplier: NodeId | None, now_us: int, out: list[Action]) -> None:
        """Graft a new supplier that was pruned so far, if there is one."""
        if supplier is not None:
            out.append(Send((supplier,), Graft(topic, ())))
            self._tellers.keep(topic, branch, now_us, out)

    def _on_redundant_copy(
        self, branch: Branch, sender: NodeId, data: TreeData, now_us: int, out: list[Action]
    ) -> None:
        topic = data.topic
        neighbours = self._overlay.neighbours_on(topic)
        if data.publisher != branch.reference or sender not in neighbours:
            return
        first = self._seen.first_sender(data.publisher, data.sequence)
        is_own = data.publisher == self._node
        if not is_own and first not in neighbours:
            # The message was fetched, or its first sender is gone: it says nothing about the tree.
            return
        graft, prune = branch.on_further_copy(sender, data.hops, None if is_own else first, now_us)
        if graft is not None:
            out.append(Send((graft,), Graft(topic, ())))
        if prune is not None:
            self._tellers.prune(topic, branch, prune, now_us, out)
        self._tellers.keep(topic, branch, now_us, out)

    def _on_control(self, sender: NodeId, message: Any, now_us: int, out: list[Action]) -> None:
        if message.topic not in self._interests.roles:
            out.append(Observe(PeerMisbehaved(sender, NOT_HELD)))
        elif sender not in self._overlay.neighbours_on(message.topic):
            # Only neighbours on the topic may graft and prune: other nodes must get no messages and must not make the
            # branch grow.
            return
        elif type(message) is Graft:
            self._on_graft(sender, message, now_us, out)
        else:
            self._branches.setdefault(message.topic, Branch(None, now_us)).set_lazy(sender, message.listens)

    def _on_graft(self, sender: NodeId, message: Graft, now_us: int, out: list[Action]) -> None:
        if message.topic in self._branches:
            self._branches[message.topic].set_eager(sender)
        wanted: Sequence[Data] = self._history.named(message.topic, frozenset(message.names))
        if not message.names:
            # The sender has lost its supplier, and perhaps messages that its supplier did not pass on.
            recent = self._history.latest(message.topic, 0, now_us - RECENT_US)
            wanted = [data for _, data in recent[-RECENT_MAX:]]
        for data in wanted:
            # Recovery keeps the messages that it fetched as plain `Data`.
            out.append(Send((sender,), data if type(data) is TreeData else recast(data, TreeData)))
