"""A rendezvous on the circle for topics of which no other holder is known.

Differs: the paper does not say how a newcomer finds holders of a rare topic. Here the first node after the topic's place on
the circle remembers the last nodes that asked for the topic, and names one of them to the next. A request travels from
node to node, each time to the known node that is nearest to the place.
"""

from collections.abc import Iterable

from gossamer.model.values.draw import finish
from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.actions import Action
from gossamer.protocols.contract.messages import Peer
from gossamer.systems.omen.circle import clockwise, place_of_topic
from gossamer.systems.omen.messages import HOPS_MAX, RendezvousAnswer, RendezvousAsk, send

# Chosen: topics that a node remembers, holders of each, and turns for which it does.
TOPICS_MAX = 10_000
HOLDERS_MAX = 4
KEPT_TURNS = 128
# Chosen: turns between requests for a topic: doubled after each, up to this many.
PAUSE_MAX = 32


class Rendezvous:
    """What one node asks, forwards and remembers."""

    __slots__ = ("_holders", "_node", "_pauses", "_turn")

    def __init__(self, node: NodeId) -> None:
        self._node = node
        self._turn = 0
        # By topic, the holders that asked, and when; the last one last.
        self._holders: dict[TopicId, dict[NodeId, tuple[Peer, int]]] = {}
        # By lonely topic: the turn of the next request, and the pause after it.
        self._pauses: dict[TopicId, tuple[int, int]] = {}

    def turn(self, lonely: Iterable[TopicId], after: int) -> list[TopicId]:
        """A turn has passed; returns the lonely topics to look for now. A new one waits `after` turns."""
        self._turn += 1
        wanted = dict.fromkeys(lonely)
        self._pauses = {topic: pause for topic, pause in self._pauses.items() if topic in wanted}
        due = []
        for topic in wanted:
            at, pause = self._pauses.setdefault(topic, (self._turn + after, 1))
            if self._turn >= at:
                due.append(topic)
                self._pauses[topic] = (self._turn + pause, min(2 * pause, PAUSE_MAX))
        return due

    def ask(self, topic: TopicId, me: Peer, known: Iterable[Peer], out: list[Action]) -> Peer | None:
        """Look for another holder; returns one that this node remembers itself."""
        return self.forward(RendezvousAsk(topic, me, HOPS_MAX), known, out)

    def forward(self, message: RendezvousAsk, known: Iterable[Peer], out: list[Action]) -> Peer | None:
        """Pass a request on, or answer it; returns the answer if this node itself asked."""
        place = place_of_topic(message.topic)
        best, least = None, clockwise(place, finish(self._node))
        for peer in known:
            distance = clockwise(place, finish(peer.node))
            if distance < least and peer.node != message.peer.node:
                best, least = peer, distance
        if best is not None:
            if message.hops:
                out.append(send(best, RendezvousAsk(message.topic, message.peer, message.hops - 1)))
            return None
        return self._answer(message, out)

    def _answer(self, message: RendezvousAsk, out: list[Action]) -> Peer | None:
        holders = self._holders.pop(message.topic, {})
        since = self._turn - KEPT_TURNS
        holders = {node: held for node, held in holders.items() if held[1] >= since and node != message.peer.node}
        found = next(reversed(holders.values()), None)
        holders[message.peer.node] = (message.peer, self._turn)
        while len(holders) > HOLDERS_MAX:
            del holders[next(iter(holders))]
        self._holders[message.topic] = holders
        if len(self._holders) > TOPICS_MAX:
            del self._holders[next(iter(self._holders))]
        if found is None:
            return None
        if message.peer.node == self._node:
            return found[0]
        out.append(send(message.peer, RendezvousAnswer(message.topic, found[0])))
        return None
