"""Evidence that missing messages are lost: what the neighbours answered, and how long this node waited for each of them.

A wait is counted in this node's own running time: a timer that fires late counts as one that fired in time, so that a
process without CPU does not mistake its own delay for its neighbours' silence.
"""

from gossamer.model.values.ids import NodeId
from gossamer.protocols.delivery.recovery.asks import Asks
from gossamer.protocols.delivery.recovery.limits import Gaps
from gossamer.protocols.delivery.recovery.messages import AgedAnswer, Answer, RecoveryParameters
from gossamer.protocols.delivery.recovery.stream import NOTHING_MORE, STILL_LOOKING, UNANSWERED, Asked, Stream


class Evidence:
    """Judges whether any neighbour may still send the missing messages of a stream."""

    __slots__ = ("_asks", "_changed_us", "_heard_us", "_parameters", "_unresponsive")

    def __init__(self, parameters: RecoveryParameters, asks: Asks, gaps: Gaps) -> None:
        self._parameters = parameters
        self._asks = asks
        self._heard_us = gaps.heard_us
        # When a neighbour last came or went.
        self._changed_us = 0
        # Neighbours that left a request unanswered for too long and have answered none since.
        self._unresponsive: set[NodeId] = set()

    def on_change(self, now_us: int) -> None:
        """A neighbour came or went; others may follow."""
        self._changed_us = now_us

    def forget(self, node: NodeId) -> None:
        """Forget a neighbour that is gone."""
        self._heard_us.pop(node, None)
        self._unresponsive.discard(node)

    def on_answer(self, sender: NodeId) -> None:
        """A neighbour answered, also if the answer is of no use any more."""
        self._unresponsive.discard(sender)

    def count_turn(self, stream: Stream, now_us: int) -> None:
        """Count the time since the last turn of a stream, without the time by which this turn is late."""
        step_us = max(min(now_us, stream.due_us) - stream.looked_us, 0)
        stream.waited_us += step_us
        for node, asked in stream.asked.items():
            heard_us = self._heard_us.setdefault(node, -1)
            if not asked.is_promised and (asked.answer == STILL_LOOKING or heard_us >= stream.looked_us):
                asked.running_us += step_us
        stream.looked_us = now_us

    def take(self, stream: Stream, sender: NodeId, answer: Answer) -> None:
        """Note what a neighbour answered. An answer to an earlier question says nothing about the present one."""
        asked = stream.asked.get(sender)
        if asked is None:
            return
        asked.is_promised = isinstance(answer, AgedAnswer) and answer.later
        if asked.is_promised:
            # It has a queue of requests; its answer must not count as "nothing".
            asked.answer, asked.pause_us = UNANSWERED, self._parameters.ask_again_us
        elif answer.messages:
            # This may be one of several frames, so the neighbour is asked again.
            asked.answer, asked.again_us = UNANSWERED, 0
        elif answer.before == asked.before:
            asked.answer = STILL_LOOKING if answer.more else NOTHING_MORE
            asked.pause_us = self._parameters.ask_again_us

    def answer_of(self, stream: Stream, node: NodeId) -> int:
        """What a neighbour answered to the present question of a stream."""
        asked = self._asked(stream, node)
        return UNANSWERED if asked is None else asked.answer

    def is_lost(self, stream: Stream) -> bool:
        """Whether no neighbour will send the missing messages.

        Each has said that it has nothing more; or it was waited for as long as it demonstrably ran and did not send them; or
        the whole wait is too long. If the node has no neighbour, or some came or went lately, others may come soon.
        """
        nodes, give_up_us = self._asks.candidates(stream), self._parameters.give_up_us
        is_settled = bool(nodes) and stream.began_us - self._changed_us >= give_up_us
        if not is_settled and stream.waited_us < give_up_us:
            return False
        return stream.waited_us >= self._parameters.answer_us or all(self._is_done(stream, node) for node in nodes)

    def _is_done(self, stream: Stream, node: NodeId) -> bool:
        asked = self._asked(stream, node)
        if asked is None:
            return False
        if asked.answer == UNANSWERED and node in self._unresponsive:
            return True
        return asked.answer == NOTHING_MORE or asked.running_us >= self._parameters.give_up_us

    def give_up(self, stream: Stream) -> None:
        """The missing messages are given up: wait no longer for neighbours that have not answered, until they answer."""
        for node in self._asks.candidates(stream):
            if self.answer_of(stream, node) == UNANSWERED:
                self._unresponsive.add(node)

    def _asked(self, stream: Stream, node: NodeId) -> Asked | None:
        """The state of a neighbour that was asked the present question."""
        asked = stream.asked.get(node)
        return asked if asked is not None and asked.before == stream.before else None
