"""How a late subscriber asks a few neighbours for the history of a topic, and for how long it waits."""

from collections.abc import Mapping

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.actions import Action, Send, SetTimer
from gossamer.protocols.contract.events import Subscribe
from gossamer.protocols.contract.facts import Arrived
from gossamer.protocols.delivery.recovery.answers import NEVER_US, AnswerCheck
from gossamer.protocols.delivery.recovery.asks import Asks
from gossamer.protocols.delivery.recovery.catch_up import CatchUp
from gossamer.protocols.delivery.recovery.messages import AskHistory, CatchUpDue, Past, RecoveryParameters
from gossamer.protocols.delivery.recovery.stream import HeldTopic
from gossamer.protocols.delivery.seen import FETCHED
from gossamer.protocols.delivery.state import DeliveryState

# Chosen: how many neighbours are asked. A message that one of them has lost is probably kept by another.
ASKED_MAX = 3


class CatchUps:
    """The catch-ups in progress. Its methods return whether the catch-up has ended, so that its messages can be delivered."""

    __slots__ = ("_asks", "_check", "_history", "_intake", "_node", "_parameters", "_seen", "_topics", "_validation")

    def __init__(
        self,
        parameters: RecoveryParameters,
        delivery: DeliveryState,
        topics: Mapping[TopicId, HeldTopic],
        asks: Asks,
        check: AnswerCheck,
        node: NodeId,
    ) -> None:
        self._parameters = parameters
        self._history = delivery.require_history()
        self._seen, self._validation, self._intake = delivery.seen, delivery.validation, delivery.intake
        self._topics = topics
        self._asks = asks
        self._check = check
        self._node = node

    def begin(self, event: Subscribe, now_us: int, out: list[Action]) -> bool:
        """Begin a catch-up for a subscription that wants the history."""
        since_us = max(now_us - event.last_us, 0) if event.last_us > 0 else NEVER_US
        catch_up = CatchUp(max(event.last, 0), since_us, now_us + self._parameters.catch_up_wait_us)
        self._topics[event.topic].catch_up = catch_up
        # If the node has only published on the topic so far, it has relayed and kept messages without delivering them.
        for at_us, data in self._history.latest(event.topic, catch_up.count, since_us):
            if data.publisher != self._node:
                catch_up.add(Arrived(data, self._node), at_us, past=True)
        return self.on_due(event.topic, now_us, out)

    def on_due(self, topic: TopicId, now_us: int, out: list[Action]) -> bool:
        """Look for neighbours to ask, or stop waiting for their answers."""
        catch_up = self._catch_up(topic)
        if catch_up is None:
            return False
        if catch_up.wait_until_us is not None:
            return now_us >= catch_up.wait_until_us
        nodes = self._asks.in_turn(topic, self._node)[:ASKED_MAX]
        if nodes:
            catch_up.asked = dict.fromkeys(nodes, False)
            catch_up.wait_until_us = now_us + self._parameters.catch_up_hold_us
            age_us = 0 if catch_up.since_us == NEVER_US else now_us - catch_up.since_us
            out.append(Send(tuple(nodes), AskHistory(topic, catch_up.count, age_us)))
            out.append(SetTimer(catch_up.wait_until_us, CatchUpDue(topic)))
            return False
        if now_us >= catch_up.look_until_us:
            return True
        out.append(SetTimer(now_us + self._parameters.ask_again_us, CatchUpDue(topic)))
        return False

    def on_past(self, sender: NodeId, message: Past, now_us: int, out: list[Action]) -> bool:
        """Keep the history that a neighbour sent, if it was asked."""
        catch_up = self._catch_up(message.topic)
        if catch_up is None or catch_up.asked.get(sender, True):
            return False
        has_room = True
        ages_us = (*message.ages_us, *(0,) * len(message.messages))
        for data, age_us in zip(message.messages, ages_us, strict=False):
            if not self._check.accepts(sender, message.topic, data, out):
                catch_up.asked[sender] = True
                break
            at_us = now_us - max(age_us, 0)
            if data.publisher != self._node and self._seen.add(data.publisher, data.sequence, FETCHED):
                if self._validation.ask(sender, data, False, out):
                    catch_up.unvalidated[data.publisher, data.sequence] = at_us
                else:
                    for arrived in self._intake.accept(data, sender, at_us, out)[1]:
                        has_room = catch_up.add(arrived, at_us, past=True)
        if not message.more:
            catch_up.asked[sender] = True
        return catch_up.complete or not has_room

    def _catch_up(self, topic: TopicId) -> CatchUp | None:
        held = self._topics.get(topic)
        return None if held is None else held.catch_up
