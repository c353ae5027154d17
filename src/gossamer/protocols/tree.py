"""A tree for each topic, built and mended by messages alone (SpiderCast, section 5).

The idea is that of Plumtree (Leitao, Pereira, Rodrigues, SRDS 2007): the first message on a topic floods. A copy
that was not needed makes the link it came over *lazy*: from then on only the name of a message goes over it. What
remains *eager* is a tree. A name without its message, for longer than a while, means that the tree is broken here:
the link it came over becomes eager again and the message is asked for. A node sees its neighbours and nothing
beyond them.

Differs: links are lazy by topic, on the overlay that all topics share. Differs: Plumtree also swaps a tree link for
a shorter one (its optimisation); we leave that out.
"""

from collections.abc import Sequence
from typing import ClassVar

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.model.values.time import MILLISECOND_US
from gossamer.protocols.held import Held
from gossamer.protocols.interface import (
    NOTHING,
    Action,
    Data,
    Event,
    Fact,
    Message,
    MessageReceived,
    NeighbourDown,
    Observe,
    Overlay,
    PeerMisbehaved,
    Publish,
    Send,
    SetTimer,
    Subscribe,
    Timer,
    TimerFired,
    Unsubscribe,
)

# Chosen: several hops of a slow network; a message that was announced is given so long to come over the tree.
MISSING_AFTER_US = 500 * MILLISECOND_US
# Chosen: about a round trip of a slow network, before the next who announced it is asked.
ASK_AGAIN_US = 300 * MILLISECOND_US
# Chosen: messages kept for those who ask, and announced messages waited for; the oldest go first.
KEPT_MAX = 1_024
MISSING_MAX = 4_096
# Chosen: how many announcers of one missing message are remembered.
ANNOUNCERS_MAX = 16

Name = tuple[NodeId, int]


class TreeData(Data, frozen=True, array_like=True, gc=False, tag="tree_data"):
    """Application data on its way along a tree."""


class Announce(Message, frozen=True, array_like=True, gc=False, tag="tree_announce"):
    """I have this message, should you miss it."""

    topic: TopicId
    publisher: NodeId
    sequence: int


class Graft(Message, frozen=True, array_like=True, gc=False, tag="tree_graft"):
    """Send me this message, and those to come."""

    topic: TopicId
    publisher: NodeId
    sequence: int


class Prune(Message, frozen=True, array_like=True, gc=False, tag="tree_prune"):
    """I get this topic from another; announce it to me from now on."""

    topic: TopicId


class MissingDue(Timer, frozen=True, array_like=True, gc=False, tag="tree_missing"):
    """An announced message ought to have come by now."""

    publisher: NodeId
    sequence: int


class Tree:
    """The dissemination part above an overlay that knows its neighbours' interests."""

    __slots__ = ("_held", "_kept", "_lazy", "_missing", "_node", "_overlay")

    MESSAGES: ClassVar[tuple[type[Message], ...]] = (TreeData, Announce, Graft, Prune)
    TIMERS: ClassVar[tuple[type[Timer], ...]] = (MissingDue,)

    def __init__(self, overlay: Overlay, node: NodeId) -> None:
        self._overlay = overlay
        self._node = node
        self._held = Held(node)
        # By topic: neighbours who get names only. All others get messages.
        self._lazy: dict[TopicId, dict[NodeId, None]] = {}
        self._kept: dict[Name, TreeData] = {}
        # Announced and not come: the topic, and who announced it.
        self._missing: dict[Name, tuple[TopicId, list[NodeId]]] = {}

    def handle(self, event: Event, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """The part contract (`interface.Part`)."""
        match event:
            case MessageReceived():
                self._on_message(event.sender, event.message, now_us, out)
            case TimerFired():
                self._on_missing_due((event.timer.publisher, event.timer.sequence), now_us, out)
            case Publish():
                data = self._held.publish(event, TreeData, now_us)
                if data is not None:
                    self._pass_on(data, self._node, out)
            case Subscribe() | Unsubscribe():
                self._held.set_interest(event)
                if isinstance(event, Unsubscribe):
                    self._lazy.pop(event.topic, None)
        return NOTHING

    def learn(self, fact: Fact, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """A neighbour that is gone is lazy no longer: should it return, its link starts eager."""
        if isinstance(fact, NeighbourDown):
            for lazy in self._lazy.values():
                lazy.pop(fact.node, None)
        return NOTHING

    def _on_message(self, sender: NodeId, message: Message, now_us: int, out: list[Action]) -> None:
        topic: TopicId = message.topic  # type: ignore[attr-defined]
        if topic not in self._held.roles:
            out.append(Observe(PeerMisbehaved(sender, "sent a topic that this node does not hold")))
            return
        match message:
            case TreeData():
                self._on_data(sender, message, out)
            case Announce():
                self._on_announce(sender, message, now_us, out)
            case Graft():
                self._on_graft(sender, message, out)
            case Prune():
                self._lazy.setdefault(topic, {})[sender] = None

    def _on_data(self, sender: NodeId, data: TreeData, out: list[Action]) -> None:
        lazy = self._lazy.setdefault(data.topic, {})
        if not self._held.add(data.publisher, data.sequence):
            # A copy that was not needed: this link is no part of the tree. One that was asked for and came twice
            # says nothing of the kind, but the next graft mends that.
            lazy[sender] = None
            out.append(Send((sender,), Prune(data.topic)))
            return
        lazy.pop(sender, None)
        self._missing.pop((data.publisher, data.sequence), None)
        self._pass_on(self._held.take_in(data, out), sender, out)

    def _pass_on(self, data: TreeData, came_from: NodeId, out: list[Action]) -> None:
        self._kept[data.publisher, data.sequence] = data
        if len(self._kept) > KEPT_MAX:
            del self._kept[next(iter(self._kept))]
        lazy = self._lazy.get(data.topic, {})
        others = [node for node in self._overlay.neighbours_on(data.topic) if node != came_from]
        eager = tuple(node for node in others if node not in lazy)
        told = tuple(node for node in others if node in lazy)
        if eager:
            out.append(Send(eager, data))
        if told:
            out.append(Send(told, Announce(data.topic, data.publisher, data.sequence)))

    def _on_announce(self, sender: NodeId, message: Announce, now_us: int, out: list[Action]) -> None:
        name = (message.publisher, message.sequence)
        if self._held.knows(*name):
            return
        if name in self._missing:
            announcers = self._missing[name][1]
            if sender not in announcers and len(announcers) < ANNOUNCERS_MAX:
                announcers.append(sender)
            return
        if len(self._missing) >= MISSING_MAX:
            del self._missing[next(iter(self._missing))]
        self._missing[name] = (message.topic, [sender])
        out.append(SetTimer(now_us + MISSING_AFTER_US, MissingDue(*name)))

    def _on_missing_due(self, name: Name, now_us: int, out: list[Action]) -> None:
        if name not in self._missing:
            return
        topic, announcers = self._missing[name]
        if not announcers:
            del self._missing[name]
            return
        # The tree is broken here: mend it over the link that still brings news.
        node = announcers.pop(0)
        self._lazy.setdefault(topic, {}).pop(node, None)
        out.append(Send((node,), Graft(topic, *name)))
        out.append(SetTimer(now_us + ASK_AGAIN_US, MissingDue(*name)))

    def _on_graft(self, sender: NodeId, message: Graft, out: list[Action]) -> None:
        self._lazy.setdefault(message.topic, {}).pop(sender, None)
        data = self._kept.get((message.publisher, message.sequence))
        if data is not None and data.topic == message.topic:
            out.append(Send((sender,), data))
