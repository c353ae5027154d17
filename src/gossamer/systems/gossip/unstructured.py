"""An unstructured overlay: a node keeps the links that it was given, whatever the interests of the nodes.

Ferretti's gossip paper (2011, section II-A): "the overlay can be generated using any kind of algorithm"; its links "do not
depend on the contents". Here the contacts of `Started` are the neighbours: a simulation draws them from a degree
distribution (`systems/gossip/wiring.py`), a deployment reads them from a plan. Both ends count a link while its connection
is open. A given neighbour that cannot be reached is dialled again after a while.

Differs: the paper does not say what happens when neighbours leave and return.
"""

from collections.abc import Sequence
from typing import ClassVar

from gossamer.model.values.ids import NodeId
from gossamer.protocols.contract.actions import Action, Connect, Disconnect, Observe, SetTimer
from gossamer.protocols.contract.events import Event, PeerDown, PeerUp, Started, TimerFired
from gossamer.protocols.contract.facts import Fact, NeighbourDown, NeighbourUp, PeerMisbehaved
from gossamer.protocols.contract.messages import Peer, Timer, WireMessage
from gossamer.protocols.contract.parts import NOTHING
from gossamer.systems.gossip.parameters import UnstructuredParameters


class RedialDue(Timer, frozen=True, array_like=True, gc=False, tag="unstructured_redial"):
    """Dial a given neighbour again."""

    node: NodeId


class Unstructured:
    """The overlay part: the neighbours are the peers with an open connection."""

    __slots__ = ("_given", "_neighbours", "_node", "_parameters")

    MESSAGES: ClassVar[tuple[type[WireMessage], ...]] = ()
    TIMERS: ClassVar[tuple[type[Timer], ...]] = (RedialDue,)

    def __init__(self, parameters: UnstructuredParameters, node: NodeId) -> None:
        self._parameters = parameters
        self._node = node
        self._given: dict[NodeId, Peer] = {}
        self._neighbours: dict[NodeId, None] = {}

    def handle(self, event: Event, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """See `Part`."""
        match event:
            case Started():
                self._given = {peer.node: peer for peer in event.contacts if peer.node != self._node}
                out.extend(map(Connect, self._given.values()))
            case PeerUp():
                return self._on_up(event.node, out)
            case PeerDown():
                return self._on_down(event.node, now_us, out)
            case TimerFired():
                node = event.timer.node
                if node in self._given and node not in self._neighbours:
                    out.append(Connect(self._given[node]))
        return NOTHING

    def learn(self, fact: Fact, now_us: int, out: list[Action]) -> Sequence[Fact]:
        """No fact of a lower part is needed."""
        return NOTHING

    def _on_up(self, node: NodeId, out: list[Action]) -> Sequence[Fact]:
        if node in self._neighbours or node == self._node:
            return NOTHING
        if len(self._neighbours) >= self._parameters.degree_max:
            out += [Disconnect(node), Observe(PeerMisbehaved(node, "came when there was no room for a link"))]
            return NOTHING
        self._neighbours[node] = None
        out.append(Observe(NeighbourUp(node)))
        return (NeighbourUp(node),)

    def _on_down(self, node: NodeId, now_us: int, out: list[Action]) -> Sequence[Fact]:
        if node in self._given:
            out.append(SetTimer(now_us + self._parameters.redial_us, RedialDue(node)))
        if node not in self._neighbours:
            return NOTHING
        del self._neighbours[node]
        out.append(Observe(NeighbourDown(node)))
        return (NeighbourDown(node),)
