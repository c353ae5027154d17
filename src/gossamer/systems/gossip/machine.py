"""Gossip over an unstructured overlay (Ferretti: Publish-subscribe systems via gossip, 2011).

A node tells its neighbours its subscriptions (Algorithm 1). It sends a new message to every neighbour that subscribes to
the topic, and to each other neighbour with probability gamma (Algorithm 2). So a message spreads even where no neighbour
subscribes to it: this is the only dissemination that relays through nodes without the topic; they never deliver. Each message is
handled once, and a time-to-live bounds its hops. With `handle_us` messages wait in a bounded buffer; if the buffer is full, a
message is dropped and reported. The paper calls a message an event, and does not treat overflow.

Differs: a new neighbour is told all subscriptions at once; the paper's neighbours never change. Differs: subscriptions that a
peer announces before its link is up here are remembered, because the two ends of a link do not come up at the same moment.
Differs: a node that receives a message with no time-to-live left delivers it, remembers it and does not relay it (the paper's
line 2 drops it, after "another software module" has seen it); so a later copy changes nothing.
"""

from collections import deque
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

from msgspec import Meta, Struct

from gossamer.model.values.draw import ITEM_FACTOR, MASK, STEPS, Purpose, draw_base, finish, unit
from gossamer.model.values.ids import NodeId, TopicId
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
    Subscribe,
    TimerFired,
    Unsubscribe,
    Validated,
)
from gossamer.protocols.contract.facts import (
    BufferFull,
    Fact,
    NeighbourDown,
    NeighbourUp,
)
from gossamer.protocols.contract.messages import (
    HOPS_MAX,
    Data,
    Timer,
    WireMessage,
)
from gossamer.protocols.contract.parts import NOTHING
from gossamer.protocols.delivery.state import DeliveryState

# Chosen: subscriptions remembered of one peer (messages on its other topics reach it by gossip alone), and peers that
# announced subscriptions without being neighbours yet.
TOPICS_MAX = 100_000
STRANGERS_MAX = 256

Topics = Annotated[tuple[TopicId, ...], Meta(max_length=TOPICS_MAX)]


class GossipParameters(Struct, frozen=True, kw_only=True):
    """How far and how often messages are relayed."""

    gamma: Annotated[
        float,
        Meta(
            ge=0,
            le=1,
            description="Paper: 0.1 (V-B). The probability that a neighbour without the topic gets a message",
        ),
    ] = 0.1
    ttl: Annotated[
        int,
        Meta(
            ge=1,
            le=1_000_000,
            description="Chosen: 64. Hops a message may take; the paper requires more than the diameter",
        ),
    ] = 64
    buffer: Annotated[
        int, Meta(ge=1, le=1_000_000, description="Chosen: 1,024. Copies that may wait, if handling takes time")
    ] = 1_024
    handle_us: Annotated[
        int, Meta(ge=0, description="Paper: 0, so the buffer is never full (IV). How long handling one copy takes")
    ] = 0


class GossipData(Data, frozen=True, array_like=True, gc=False, tag="gossip_data"):
    """A message, and the number of hops that it may still take."""

    ttl: int = 0


class Subscriptions(WireMessage, frozen=True, array_like=True, gc=False, tag="gossip_subscriptions"):
    """Topics that the sender has subscribed to, and topics that it has unsubscribed from (Algorithm 1, lines 3 and 8)."""

    added: Topics = ()
    removed: Topics = ()


class HandleDue(Timer, frozen=True, array_like=True, gc=False, tag="gossip_handle"):
    """The copy at the front of the buffer has been handled."""


class Gossip:
    """The dissemination part above any overlay that states its neighbours."""

    __slots__ = (
        "_buffer",
        "_delivery",
        "_intake",
        "_interests",
        "_neighbours",
        "_node",
        "_parameters",
        "_seed",
        "_seen",
        "_strangers",
    )

    MESSAGES: ClassVar[tuple[type[WireMessage], ...]] = (GossipData, Subscriptions)
    TIMERS: ClassVar[tuple[type[Timer], ...]] = (HandleDue,)

    def __init__(
        self, parameters: GossipParameters, seed: int, node: NodeId, delivery: DeliveryState | None = None
    ) -> None:
        self._parameters = parameters
        self._seed = seed
        self._node = node
        self._delivery = delivery or DeliveryState(node)
        self._interests = self._delivery.interests
        self._seen = self._delivery.seen
        self._intake = self._delivery.intake
        # The paper's cache: the subscriptions that each neighbour announced, and those of peers that are no neighbours yet.
        self._neighbours: dict[NodeId, dict[TopicId, None]] = {}
        self._strangers: dict[NodeId, dict[TopicId, None]] = {}
        self._buffer: deque[tuple[NodeId, GossipData]] = deque()

    def handle(self, event: Event, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """The part contract (`contract.parts.Part`)."""
        match event:
            case MessageReceived(message=Subscriptions()):
                self._on_subscriptions(event.sender, event.message)
            case MessageReceived():
                return self._put_in_buffer(event.sender, event.message, now_us, out)
            case TimerFired():
                return self._on_handle_due(now_us, out)
            case Validated():
                accepted, facts = self._intake.on_validated(event, now_us, out)
                return facts if accepted is None else self._accept(accepted.sender, accepted.data, now_us, out)
            case Publish():
                self._on_publish(event, now_us, out)
            case Subscribe() | Unsubscribe():
                self._on_interest(event, out)
        return NOTHING

    def learn(self, fact: Fact, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """Tell a new neighbour all subscriptions; keep those of a neighbour that is gone for a while."""
        if isinstance(fact, NeighbourUp):
            self._neighbours[fact.node] = self._strangers.pop(fact.node, {})
            # Ordered by id, so that the order in which links came up has no effect.
            self._neighbours = dict(sorted(self._neighbours.items()))
            mine = tuple(topic for topic in self._interests.roles if self._interests.follows(topic))
            if mine:
                out.append(Send((fact.node,), Subscriptions(mine[:TOPICS_MAX])))
        elif isinstance(fact, NeighbourDown):
            self._strangers[fact.node] = self._neighbours.pop(fact.node, {})
            self._forget_strangers()
        return NOTHING

    # Algorithm 1.

    def _on_interest(self, event: Subscribe | Unsubscribe, out: list[Action]) -> None:
        topic = event.topic
        followed = self._interests.follows(topic)
        self._delivery.set_interest(event)
        follows = self._interests.follows(topic)
        if follows != followed and self._neighbours:
            message = Subscriptions(added=(topic,)) if follows else Subscriptions(removed=(topic,))
            out.append(Send(tuple(self._neighbours), message))

    def _on_subscriptions(self, sender: NodeId, message: Subscriptions) -> None:
        known = self._neighbours.get(sender)
        if known is None:
            known = self._strangers.setdefault(sender, {})
        for topic in message.removed:
            known.pop(topic, None)
        for topic in message.added[: TOPICS_MAX - len(known)]:
            known[topic] = None
        self._forget_strangers()

    def _forget_strangers(self) -> None:
        while len(self._strangers) > STRANGERS_MAX:
            del self._strangers[next(iter(self._strangers))]

    # Algorithm 2.

    def _on_publish(self, event: Publish, now_us: int, out: list[Action]) -> None:
        data = self._delivery.own_messages.publish(event, GossipData, now_us)
        if data is not None:
            # The message is already remembered as seen; the buffer treats it like any copy.
            self._put_in_buffer(self._node, data, now_us, out)

    def _put_in_buffer(self, sender: NodeId, data: GossipData, now_us: int, out: list[Action]) -> Sequence[Fact]:
        if self._parameters.handle_us == 0:
            return self._on_event(sender, data, now_us, out)
        if len(self._buffer) >= self._parameters.buffer:
            out.append(Observe(BufferFull(data.topic, data.publisher, data.sequence)))
        else:
            self._buffer.append((sender, data))
            if len(self._buffer) == 1:
                out.append(SetTimer(now_us + self._parameters.handle_us, HandleDue()))
        return NOTHING

    def _on_handle_due(self, now_us: int, out: list[Action]) -> Sequence[Fact]:
        if not self._buffer:
            return NOTHING
        facts = self._on_event(*self._buffer.popleft(), now_us, out)
        if self._buffer:
            out.append(SetTimer(now_us + self._parameters.handle_us, HandleDue()))
        return facts

    def _on_event(self, sender: NodeId, data: GossipData, now_us: int, out: list[Action]) -> Sequence[Fact]:
        if sender == self._node:
            self._pass_on(data, data.hops, self._parameters.ttl, sender, out)
            return NOTHING
        if not self._interests.topics_of(data):
            # A node without the topic relays the message too, and remembers only its name.
            if data.hops < HOPS_MAX and self._seen.add(data.publisher, data.sequence):
                self._pass_on(data, data.hops + 1, min(data.ttl, self._parameters.ttl), sender, out)
            return NOTHING
        if self._intake.refuses(sender, data, out) or not self._seen.add(data.publisher, data.sequence):
            return NOTHING
        if self._delivery.validation.ask(sender, data, True, out):
            return NOTHING
        return self._accept(sender, data, now_us, out)

    def _accept(self, sender: NodeId, data: Any, now_us: int, out: list[Action]) -> Sequence[Fact]:
        onward, facts = self._intake.accept(data, sender, now_us, out)
        # A peer cannot give a message a longer life than this node's own messages have.
        self._pass_on(data, onward.hops, min(data.ttl, self._parameters.ttl), sender, out)
        return facts

    def _pass_on(self, data: GossipData, hops: int, ttl: int, came_from: NodeId, out: list[Action]) -> None:
        if ttl <= 0:
            return
        gamma = self._parameters.gamma
        # The draw depends on the message and the neighbour, not on the time: several messages may be handled at one time.
        counter = data.publisher * STEPS + data.sequence
        base = draw_base(self._seed, self._node, Purpose.GOSSIP, counter)
        wanted = (data.topic, *(topic for topic, _ in data.also))
        receivers = tuple(
            node
            for node, topics in self._neighbours.items()
            if node != came_from
            and (any(topic in topics for topic in wanted) or unit(finish((base + node * ITEM_FACTOR) & MASK)) < gamma)
        )
        if receivers:
            onward = GossipData(
                data.topic,
                data.publisher,
                data.sequence,
                hops,
                data.published_us,
                data.payload,
                data.previous,
                data.also,
                ttl - 1,
            )
            out.append(Send(receivers, onward))
