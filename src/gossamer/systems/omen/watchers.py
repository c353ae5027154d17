"""The successors that watch this node: they get its state, and answer that they are alive."""

from collections.abc import Container
from dataclasses import dataclass

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.actions import Action
from gossamer.protocols.contract.messages import Peer
from gossamer.protocols.membership.interest_exchange import PART_TOPICS, InterestExchange
from gossamer.systems.omen.circle import Circle
from gossamer.systems.omen.links import OmenLinks
from gossamer.systems.omen.messages import NODES_MAX, WatchEnd, WatchPulse, WatchState, send
from gossamer.systems.omen.parameters import OmenParameters

# An incarnation is the version of the interest at the start, which grows over restarts, and a count of refuted
# suspicions below it.
REFUTED_BITS = 10
REFUTED_MAX = (1 << REFUTED_BITS) - 1


@dataclass
class _Watcher:
    peer: Peer
    silent_turns: int = 0


class Watchers:
    """The watchers of one node."""

    __slots__ = (
        "_address",
        "_circle",
        "_exchange",
        "_linked",
        "_links",
        "_parameters",
        "_state",
        "_told",
        "_turns",
        "_watchers",
        "incarnation",
    )

    def __init__(
        self, parameters: OmenParameters, circle: Circle, links: OmenLinks, exchange: InterestExchange
    ) -> None:
        self._parameters = parameters
        self._circle = circle
        self._links = links
        self._exchange = exchange
        self._watchers: dict[NodeId, _Watcher] = {}
        self._address = b""
        self.incarnation = 0
        # The version of this node's state, and the versions of links and interest that it stands for.
        self._state = 0
        self._told = (-1, -1, -1)
        self._turns = 0
        # The turn in which each topic of this node last had a neighbour.
        self._linked: dict[TopicId, int] = {}

    def start(self, address: bytes) -> None:
        """The node starts."""
        self._address = address
        self._state = self._exchange.version
        self.incarnation = max(self._exchange.version, 1) << REFUTED_BITS

    def peers(self) -> list[Peer]:
        """The watchers, the first successor first."""
        return [each.peer for each in self._watchers.values()]

    def silent(self, heard: Container[NodeId]) -> list[NodeId]:
        """Watchers that have not answered for too long; called once a turn."""
        found = []
        for node, watcher in self._watchers.items():
            watcher.silent_turns = 0 if node in heard else watcher.silent_turns + 1
            if watcher.silent_turns > self._parameters.suspect_after:
                found.append(node)
        return found

    def turn(self, out: list[Action]) -> None:
        """Tell the watchers that this node is alive; nodes that are no longer among the nearest stop watching."""
        self._turns += 1
        lonely = set(self._links.lonely())
        for topic in self._exchange.topics:
            if topic not in lonely:
                self._linked[topic] = self._turns
        if len(self._linked) > len(self._exchange.topics):
            self._linked = {topic: turn for topic, turn in self._linked.items() if topic in self._exchange.topics}
        self._pulse(self._renew(out), out)

    def refresh(self, out: list[Action]) -> None:
        """The circle has changed: tell new watchers at once."""
        known = set(self._watchers)
        self._pulse([peer for peer in self._renew(out) if peer.node not in known], out)

    def _renew(self, out: list[Action]) -> list[Peer]:
        successors = {peer.node: peer for peer in self._circle.successors()}
        for node, watcher in self._watchers.items():
            if node not in successors:
                out.append(send(watcher.peer, WatchEnd()))
        known = self._watchers
        self._watchers = {
            node: _Watcher(peer, known[node].silent_turns if node in known else 0) for node, peer in successors.items()
        }
        return self.peers()

    def told(self, sender: NodeId, state: int, out: list[Action]) -> None:
        """A watcher knows this version of the state; it gets the present one."""
        watcher = self._watchers.get(sender)
        if watcher is not None and state != self._current():
            out.append(send(watcher.peer, self._message()))

    def refute(self, sender: NodeId, incarnation: int, out: list[Action]) -> bool:
        """Another node takes this one for dead: go on with a higher incarnation (hole 8)."""
        if not self.incarnation <= incarnation <= self.incarnation + REFUTED_MAX:
            return False
        self.incarnation = incarnation + 1
        self._pulse(self.peers(), out)
        if sender not in self._watchers:
            peer = self._circle.peer(sender)
            self._pulse([peer], out)
            out.append(send(peer, WatchEnd()))
        return True

    def forget(self, node: NodeId) -> None:
        """A watcher is gone."""
        self._watchers.pop(node, None)

    def _pulse(self, peers: list[Peer], out: list[Action]) -> None:
        pulse = WatchPulse(self.incarnation, self._current(), self._address)
        out += [send(peer, pulse) for peer in peers]

    def _lonely(self) -> list[TopicId]:
        """The topics for which this node wants a neighbour.

        A topic that had one waits: if the neighbour is gone, its own event is repaired first.
        """
        if self._turns <= self._parameters.first_turns:
            return []
        since = self._turns - self._parameters.deadline_turns - 1
        return [topic for topic in self._links.lonely() if self._linked.get(topic, since) <= since]

    def _current(self) -> int:
        versions = (self._links.version, self._exchange.version, len(self._lonely()))
        if versions != self._told:
            self._told = versions
            self._state += 1
        return self._state

    def _message(self) -> WatchState:
        exchange, links = self._exchange, self._links
        return WatchState(
            self.incarnation,
            self._current(),
            exchange.version,
            len(exchange.topics),
            exchange.first(),
            tuple(map(links.peer, links.neighbours))[:NODES_MAX],
            tuple(self._lonely())[:PART_TOPICS],
            self._address,
        )
