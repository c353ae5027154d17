"""Push and pull (Karp, Schindelhauer, Shenker, Vöcking: Randomized rumor spreading, FOCS 2000), on a topic overlay.

In each round every node of a topic calls one random neighbour on the topic. The caller *pushes* its young messages, and
*pulls*: the neighbour answers with its own young messages. Pushes inform most nodes, and the nodes that pushes miss pull the
message soon, because nearly every neighbour has it. A message is young up to the age log3 n + O(ln ln n) in rounds; then
nodes stop passing it on, so each message is sent O(ln ln n) times per node. Ma, Wang, Sun (2014, section 4.4) disseminate in this way:
"each informed subscriber pushes and pulls unless the age of the message is higher than log3 n + O(ln ln n)".

Differs: the paper's nodes form a complete graph; here a node calls one of its neighbours on the topic.
Differs: the paper's rounds are the same for all nodes. Here each node has rounds of its own, and the age of a message is the
time since its publication in periods. Messages carry that time, so clocks need not agree; the time on a link does not count.
Differs: a call names the messages that the caller has, and the answer leaves them out. The paper's answer sends all.
Differs: a node does not push a message to a neighbour that it knows to have it: one that sent it, named it, or got it from this
node. On a sparse overlay this halves the copies. `repeat_pushes=true` is the paper's rule.
Differs: a publisher pushes a new message at once, to one neighbour, instead of in its next round: the publication then waits
for slow links, and the message is not lost if its publisher leaves before that round.
Differs: the paper's nodes call in every round, for ever. Here nobody calls on a topic some rounds after its last message has
become old. Its next message wakes its nodes: each sends `Wake` to its neighbours on the topic. `quiet_calls=true` is the
paper's rule.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

from msgspec.structs import replace

from gossamer.model.values.draw import Purpose, below, draw
from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.actions import Action, Observe, Send, SetTimer
from gossamer.protocols.contract.events import (
    Event,
    MessageReceived,
    Publish,
    PublishBurst,
    Started,
    Subscribe,
    TimerFired,
    Unsubscribe,
    Validated,
)
from gossamer.protocols.contract.facts import Fact, NeighbourDown, PeerMisbehaved
from gossamer.protocols.contract.messages import Data, Timer, WireMessage
from gossamer.protocols.contract.parts import NOTHING, TopicNeighbours, TopicSizes
from gossamer.protocols.delivery.intake import NOT_HELD
from gossamer.protocols.delivery.state import DeliveryState
from gossamer.systems.push_pull.messages import Call, PushPullBurst, PushPullData, RoundDue, Wake
from gossamer.systems.push_pull.packing import NameSet, frames_of, spans_of
from gossamer.systems.push_pull.parameters import PushPullParameters, linger_rounds, rounds_limit
from gossamer.systems.push_pull.spreading import NEVER_US, NOBODY, Spreading, SpreadingMessage, SpreadingTopic

# Chosen: rounds for which an old message is still named in calls, because other nodes may count it as young.
MARGIN_ROUNDS = 2
# Chosen: calls of one neighbour that are answered between two rounds of this node. Two, because rounds are not regular.
ANSWERS_MAX = 2


class PushPull:
    """The dissemination part above an overlay that knows its neighbours' interests."""

    __slots__ = (
        "_awake_until_us",
        "_delivery",
        "_intake",
        "_interests",
        "_is_due",
        "_node",
        "_overlay",
        "_own_messages",
        "_parameters",
        "_round_us",
        "_seed",
        "_seen",
        "_sizes",
        "_spreading",
        "_validation",
    )

    MESSAGES: ClassVar[tuple[type[WireMessage], ...]] = (PushPullData, PushPullBurst, Call, Wake)
    TIMERS: ClassVar[tuple[type[Timer], ...]] = (RoundDue,)

    def __init__(
        self,
        parameters: PushPullParameters,
        overlay: TopicNeighbours,
        seed: int,
        node: NodeId,
        delivery: DeliveryState | None = None,
    ) -> None:
        self._parameters = parameters
        self._overlay = overlay
        self._sizes: TopicSizes | None = overlay if isinstance(overlay, TopicSizes) else None
        self._seed = seed
        self._node = node
        self._delivery = delivery or DeliveryState(node)
        self._interests = self._delivery.interests
        self._seen = self._delivery.seen
        self._validation = self._delivery.validation
        self._intake = self._delivery.intake
        self._own_messages = self._delivery.own_messages
        self._spreading = Spreading(parameters.kept, parameters.kept_bytes)
        # When the last round was, whether the timer of the next one is set, and until when rounds are needed.
        self._round_us = 0
        self._is_due = False
        self._awake_until_us = 0

    def handle(self, event: Event, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """The part contract (`contract.parts.Part`)."""
        match event:
            case MessageReceived():
                return self._on_message(event.sender, event.message, now_us, out)
            case TimerFired():
                self._on_round(now_us, out)
            case Publish():
                data = self._own_messages.publish(event, PushPullData, now_us)
                if data is not None:
                    self._send_own(data, (data,), now_us, out)
            case PublishBurst():
                burst = self._own_messages.publish_burst(event, PushPullBurst, now_us)
                if burst is not None:
                    self._send_own(burst, burst.messages, now_us, out)
            case Validated():
                accepted, facts = self._intake.on_validated(event, now_us, out)
                return facts if accepted is None else self._on_accepted(accepted.sender, accepted.data, now_us, out)
            case Started():
                phase_us = below(draw(self._seed, self._node, Purpose.PUSH_PULL_PHASE, 0), self._parameters.period_us)
                self._round_us = now_us - phase_us
            case Subscribe() | Unsubscribe():
                self._delivery.set_interest(event)
                if isinstance(event, Unsubscribe):
                    self._spreading.drop(event.topic)
                self._set_timer(now_us, out)
        return NOTHING

    def learn(self, fact: Fact, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """Forget which messages a neighbour had that is gone."""
        if isinstance(fact, NeighbourDown):
            self._spreading.lose(fact.node)
        return NOTHING

    def _on_message(self, sender: NodeId, message: Any, now_us: int, out: list[Action]) -> Sequence[Fact]:
        match message:
            case PushPullData():
                return self._on_data(sender, message, now_us, out)
            case PushPullBurst():
                return self._on_burst(sender, message, now_us, out)
            case _ if message.topic not in self._interests.roles:
                out.append(Observe(PeerMisbehaved(sender, NOT_HELD)))
            case _ if sender not in self._overlay.neighbours_on(message.topic):
                # Only neighbours on the topic may call and wake: other nodes must get no messages.
                pass
            case Call():
                self._on_call(sender, message, now_us, out)
            case Wake():
                self._on_wake(sender, message, now_us, out)
        return NOTHING

    # A round: one call for each topic.

    def _on_round(self, now_us: int, out: list[Action]) -> None:
        self._round_us = now_us
        self._is_due = False
        self._spreading.forget(now_us)
        for topic in self._interests.roles:
            state = self._spreading.topics.get(topic)
            if state is not None:
                state.answered.clear()
            if self._parameters.quiet_calls or (state is not None and now_us < state.active_until_us):
                self._call(topic, state, now_us, out)
        self._set_timer(now_us, out)

    def _call(self, topic: TopicId, state: SpreadingTopic | None, now_us: int, out: list[Action]) -> None:
        """Push the young messages of a topic to a random neighbour, and pull from it."""
        callee = self._random_neighbour(topic, Purpose.PUSH_PULL_CALL, now_us)
        if callee is None:
            return
        if state is None or not state.messages:
            out.append(Send((callee,), Call(topic)))
            return
        skip = NOBODY if self._parameters.repeat_pushes else callee
        young = state.young(now_us, self._parameters.call_bytes, to=skip)
        self._pass_on(young, callee, now_us, out)
        out.append(Send((callee,), Call(topic, spans_of(state.messages))))

    def _on_call(self, sender: NodeId, call: Call, now_us: int, out: list[Action]) -> None:
        """Answer with the young messages that the caller lacks."""
        state = self._spreading.topics.get(call.topic)
        if state is None or not state.messages:
            return
        answers = state.answered.get(sender, 0)
        if answers >= ANSWERS_MAX:
            return
        state.answered[sender] = answers + 1
        named = NameSet(call.names)
        for message in state.messages.values():
            if message.name in named:
                message.note(sender)
        self._pass_on(state.young(now_us, self._parameters.call_bytes, without=named), sender, now_us, out)

    def _pass_on(self, young: list[SpreadingMessage], to: NodeId, now_us: int, out: list[Action]) -> None:
        for message in young:
            message.note(to)
        out += [Send((to,), frame) for frame in frames_of(young, now_us)]

    # Messages.

    def _send_own(
        self, frame: PushPullData | PushPullBurst, messages: Sequence[Data], now_us: int, out: list[Action]
    ) -> None:
        # The age counts from this node's last round, so that all messages between two rounds have the same age and
        # travel in bursts.
        born_us = now_us - (now_us - self._round_us) % self._parameters.period_us
        drawn = [
            self._random_neighbour(topic, Purpose.PUSH_PULL_FIRST, now_us) for topic in self._interests.topics_of(frame)
        ]
        receivers = tuple([node for node in dict.fromkeys(drawn) if node is not None])
        for data in messages:
            self._spread(data, born_us, (self._node, *receivers), now_us, out)
        if receivers:
            out.append(Send(receivers, replace(frame, age_us=now_us - born_us)))

    def _on_data(self, sender: NodeId, data: PushPullData, now_us: int, out: list[Action]) -> Sequence[Fact]:
        if self._intake.refuses(sender, data, out):
            return NOTHING
        if not self._seen.add(data.publisher, data.sequence, sender):
            fetched = self._intake.fetched_copy(data, sender)
            if fetched is not None:
                self._spread(fetched, now_us - data.age_us, (sender,), now_us, out)
            elif (known := self._find(data)) is not None:
                known.note(sender)
            return NOTHING
        if self._interests.validated and self._validation.ask(sender, data, True, out):
            # Its name goes into calls at once, so that neighbours do not send it again while the validator works.
            self._keep(data, None, now_us - data.age_us, (sender,), now_us, out)
            return NOTHING
        onward, facts = self._intake.accept(data, sender, now_us, out)
        self._spread(onward, now_us - data.age_us, (sender,), now_us, out)
        return facts

    def _on_burst(self, sender: NodeId, burst: PushPullBurst, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """Handle a burst as a whole if all its messages are new and none is validated; else message by message."""
        if self._intake.refuses(sender, burst, out):
            return NOTHING
        if burst.topic in self._interests.validated or not self._seen.add_all(
            burst.publisher, burst.sequence, burst.count, sender
        ):
            facts: list[Fact] = []
            for data in burst.messages:
                assert isinstance(data, PushPullData)
                facts += self._on_data(sender, data, now_us, out)
            return facts
        onward, arrived = self._intake.accept_burst(burst, sender, now_us, out)
        for data in onward.messages:
            self._spread(data, now_us - burst.age_us, (sender,), now_us, out)
        return arrived

    def _on_accepted(self, sender: NodeId, data: Data, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """The validator accepted a message. It is passed on unless it has become old meanwhile."""
        onward, facts = self._intake.accept(data, sender, now_us, out)
        waiting = self._find(data)
        if waiting is not None:
            self._spreading.accept(waiting, onward, now_us, out)
            self._activate_all(waiting, sender, now_us, out)
        return facts

    def _find(self, data: Data) -> SpreadingMessage | None:
        return self._spreading.find(self._interests.topics_of(data), (data.publisher, data.sequence))

    def _spread(self, data: Data, born_us: int, known: Sequence[NodeId], now_us: int, out: list[Action]) -> None:
        """Pass a message on from now on, unless it is old. `known`: nodes that have it, its sender first."""
        message = self._keep(data, data, born_us, known, now_us, out)
        if message is not None:
            self._activate_all(message, known[0], now_us, out)

    def _keep(
        self,
        named: Data,
        data: Data | None,
        born_us: int,
        known: Sequence[NodeId],
        now_us: int,
        out: list[Action],
    ) -> SpreadingMessage | None:
        topics = tuple(self._interests.topics_of(named))
        period_us = self._parameters.period_us
        old_us = max((self._old_us(topic, born_us) for topic in topics), default=0)
        forget_us = old_us if old_us == NEVER_US else old_us + MARGIN_ROUNDS * period_us
        if forget_us <= now_us:
            return None
        name = (named.publisher, named.sequence)
        message = SpreadingMessage(name, topics, data, born_us, now_us, old_us, forget_us)
        message.known.update(known)
        self._spreading.add(message, out)
        self._awake_until_us = max(self._awake_until_us, forget_us)
        self._set_timer(now_us, out)
        return message

    def _old_us(self, topic: TopicId, born_us: int) -> int:
        """The time from which a message on this topic is old."""
        if not self._parameters.age_rule:
            return NEVER_US
        return born_us + (self._limit(topic) + 1) * self._parameters.period_us

    def _limit(self, topic: TopicId) -> int:
        """The largest age, in whole rounds, at which a message on this topic is passed on."""
        size = None if self._sizes is None else self._sizes.topic_size(topic)
        return rounds_limit(size or self._parameters.topic_size, self._parameters.spare_rounds)

    # Quiet topics.

    def _activate_all(self, message: SpreadingMessage, sender: NodeId, now_us: int, out: list[Action]) -> None:
        for topic in message.topics:
            self._activate(topic, message.born_us, 0, sender, now_us, out)

    def _on_wake(self, sender: NodeId, wake: Wake, now_us: int, out: list[Action]) -> None:
        self._activate(wake.topic, now_us - wake.age_us, wake.hops, sender, now_us, out)

    def _activate(
        self, topic: TopicId, born_us: int, hops: int, sender: NodeId, now_us: int, out: list[Action]
    ) -> None:
        """There is a message on this topic that was published at `born_us`: call until it is old, and some rounds more.

        If this node would have stopped earlier, its neighbours would have too: wake them. A message crosses at most one
        link in a round, so nodes that are further away than that need not be woken.
        """
        old_us = self._old_us(topic, born_us)
        state = self._spreading.topic(topic)
        if old_us <= now_us or old_us <= state.active_until_us:
            return
        limit = self._limit(topic)
        if old_us == NEVER_US:
            state.active_until_us = NEVER_US
        else:
            state.active_until_us = old_us + linger_rounds(limit) * self._parameters.period_us
        self._awake_until_us = max(self._awake_until_us, state.active_until_us)
        self._set_timer(now_us, out)
        if hops <= limit and not self._parameters.quiet_calls:
            others = tuple([node for node in self._overlay.neighbours_on(topic) if node != sender])
            if others:
                out.append(Send(others, Wake(topic, now_us - born_us, hops + 1)))

    # The timer and the draw.

    def _set_timer(self, now_us: int, out: list[Action]) -> None:
        """Set the timer of the next round, if there is something to do then."""
        is_needed = now_us < self._awake_until_us or (self._parameters.quiet_calls and self._interests.roles)
        if is_needed and not self._is_due:
            self._is_due = True
            period_us = self._parameters.period_us
            out.append(SetTimer(now_us + period_us - (now_us - self._round_us) % period_us, RoundDue()))

    def _random_neighbour(self, topic: TopicId, purpose: Purpose, now_us: int) -> NodeId | None:
        # The neighbours are ordered by id, so a place in this order can be drawn.
        neighbours = self._overlay.neighbours_on(topic)
        if not neighbours:
            return None
        return neighbours[below(draw(self._seed, self._node, purpose, now_us, topic), len(neighbours))]
