"""Reports of crashed neighbours to those who watched them.

Differs: the paper does not say how a coordinator learns of a crash. Here each neighbour of the dead node reports it, and
itself, to the first of the dead node's watchers, and to the next one if that does not answer (hole 4): the neighbours
that the watchers know may be out of date.
"""

from dataclasses import dataclass

from gossamer.model.values.ids import NodeId
from gossamer.protocols.contract.actions import Action
from gossamer.protocols.contract.messages import Peer
from gossamer.systems.omen.circle import Circle
from gossamer.systems.omen.messages import ChurnEvent, ChurnNotice, send

# Chosen: how often all watchers are tried.
ROUNDS = 3


@dataclass
class _Report:
    watchers: tuple[Peer, ...]
    me: Peer
    tries: int = 0

    @property
    def target(self) -> Peer:
        return self.watchers[self.tries % len(self.watchers)]


class Reports:
    """The reports of one node that no watcher has acknowledged."""

    __slots__ = ("_circle", "_node", "_open")

    def __init__(self, node: NodeId, circle: Circle) -> None:
        self._node = node
        self._circle = circle
        self._open: dict[ChurnEvent, _Report] = {}

    def open(self, event: ChurnEvent, watchers: tuple[Peer, ...], me: Peer, out: list[Action]) -> None:
        """A neighbour has crashed."""
        others = tuple(peer for peer in watchers if peer.node not in (self._node, event.node))
        if others:
            report = self._open[event] = _Report(others, me)
            # Watchers that are known to be dead come last.
            alive = [peer for peer in others if not self._circle.is_failed(peer.node)]
            report.watchers = (*alive, *(peer for peer in others if peer not in alive))
            self._send(event, report, out)

    def close(self, event: ChurnEvent) -> None:
        """A watcher has the report."""
        self._open.pop(event, None)

    def watcher_failed(self, node: NodeId, out: list[Action]) -> None:
        """A watcher cannot be reached: its reports go to the next one."""
        for event, report in list(self._open.items()):
            if report.target.node == node:
                self._try_next(event, report, out)

    def turn(self, out: list[Action]) -> None:
        """A turn has passed without an answer."""
        for event, report in list(self._open.items()):
            self._try_next(event, report, out)

    def _try_next(self, event: ChurnEvent, report: _Report, out: list[Action]) -> None:
        report.tries += 1
        if report.tries >= ROUNDS * len(report.watchers):
            del self._open[event]
        else:
            self._send(event, report, out)

    def _send(self, event: ChurnEvent, report: _Report, out: list[Action]) -> None:
        out.append(send(report.target, ChurnNotice(event, (report.me,))))
