"""Passing on requests for messages from before this node subscribed.

After a partition the only link between two halves of a topic may belong to a node that started during the partition.
It does not have the messages that the halves missed from each other before its start, but its own neighbours do. It therefore
asks them, one after another, and passes their answers on. It does not deliver or keep these messages.
"""

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.actions import Action, Send
from gossamer.protocols.contract.parts import TopicNeighbours
from gossamer.protocols.delivery.recovery.messages import Answer, Ask

# Chosen: errands at the same time, as many as gaps that one neighbour may reveal.
ERRANDS_MAX = 1_024


class Errand:
    """The last request that this node passes on, the neighbours that wait for the answer, and the neighbours asked."""

    __slots__ = ("ask", "asked", "askers", "source", "tried", "until_us")

    def __init__(self) -> None:
        self.ask: Ask | None = None
        self.until_us = 0
        self.askers: dict[NodeId, None] = {}
        # The neighbours asked so far, those asked for this very request, and the one that last sent messages.
        self.asked: dict[NodeId, None] = {}
        self.tried: dict[NodeId, None] = {}
        self.source: NodeId | None = None


class Errands:
    """The open errands, one for each publisher on a topic. A request that goes in a circle ends: it is known already."""

    __slots__ = ("_errands", "_overlay", "_wait_us")

    def __init__(self, overlay: TopicNeighbours, wait_us: int) -> None:
        self._overlay = overlay
        self._wait_us = wait_us
        self._errands: dict[tuple[TopicId, NodeId], Errand] = {}

    def take(self, sender: NodeId, ask: Ask, now_us: int, out: list[Action]) -> bool:
        """Pass a neighbour's request on; returns whether an answer may follow."""
        key = (ask.topic, ask.publisher)
        errand = self._errands.get(key)
        if errand is None or now_us >= errand.until_us:
            self._make_room(now_us)
            if len(self._errands) >= ERRANDS_MAX:
                return False
            errand = self._errands[key] = Errand()
        errand.askers[sender] = None
        if errand.ask != ask:
            errand.ask, errand.tried, errand.until_us = ask, {}, now_us + self._wait_us
        self._ask_next(errand, out)
        return bool(errand.tried)

    def on_answer(self, sender: NodeId, answer: Answer, now_us: int, out: list[Action]) -> tuple[NodeId, ...]:
        """A neighbour answered; returns the neighbours that wait for its messages. If it has none, the next one is asked."""
        errand = self._errands.get((answer.topic, answer.publisher))
        if errand is None or sender not in errand.asked or now_us >= errand.until_us:
            return ()
        if not answer.messages:
            self._ask_next(errand, out)
            return ()
        errand.source = sender
        return tuple(node for node in errand.askers if node != sender)

    def _ask_next(self, errand: Errand, out: list[Action]) -> None:
        """Ask the next neighbour that was not asked yet and does not wait itself; first the one that had messages."""
        ask = errand.ask
        if ask is None:
            return
        nodes = self._overlay.neighbours_on(ask.topic)
        for node in sorted(nodes, key=lambda node: node != errand.source):
            if node not in errand.tried and node not in errand.askers:
                errand.tried[node] = errand.asked[node] = None
                out.append(Send((node,), ask))
                return

    def _make_room(self, now_us: int) -> None:
        if len(self._errands) >= ERRANDS_MAX:
            self._errands = {key: errand for key, errand in self._errands.items() if now_us < errand.until_us}
