"""Nodes that run OMen in virtual time, one churn event after another, and what each event costs (Figure 12)."""

from collections.abc import Sequence
from typing import Any

from gossamer.model.arrays.interest import Interest
from gossamer.model.values.time import MILLISECOND_US
from gossamer.protocols.contract.actions import Action, Send
from gossamer.protocols.contract.events import Event
from gossamer.simulator.event_population import EventPopulation
from gossamer.simulator.links import LinkBook
from gossamer.simulator.measure import disconnected_topics
from gossamer.simulator.network import ConstantLatency, Network
from gossamer.systems import find_system
from gossamer.systems.omen.messages import (
    ChurnKind,
    ChurnNotice,
    DoneNotice,
    LinkCommand,
    LinkDone,
    LinkOk,
    LinkRefusal,
    LinkRequest,
    NoticeOk,
    Suspicion,
)
from gossamer.systems.omen.parameters import OmenParameters

# Chosen: the turns in which nodes that start together learn the circle and prepare, and those between two events.
FIRST_TURNS, TURNS = 30, 4
# Chosen: half the median round trip of PlanetLab.
LATENCY = ConstantLatency(40 * MILLISECOND_US)
# Messages of the repair itself. All others are gossip that goes on without events, or failure detection.
COORDINATION = (LinkCommand, LinkDone, LinkRequest, LinkOk, LinkRefusal, DoneNotice, Suspicion)


class _EventCosts:
    """A watcher: the messages of one event, the nodes that sent or got them, and when the last link was accepted."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        self.coordination = self.detection = self.gossip = 0
        self.touched: set[int] = set()
        self.last_link_us = 0

    def handled(self, at_us: int, node: int, event: Event, actions: Sequence[Action]) -> None:
        """See `engine.Watcher`."""
        for action in actions:
            if isinstance(action, Send):
                self._count(at_us, node, action)

    def gone(self, at_us: int, node: int) -> None:
        """See `engine.Watcher`."""

    def _count(self, at_us: int, node: int, action: Send) -> None:
        message = action.message
        if isinstance(message, NoticeOk) or (isinstance(message, ChurnNotice) and self._is_report(node, message)):
            # Neighbours report a crash, each to one watcher: the failure detector, which the paper does not count.
            self.detection += len(action.to)
        elif isinstance(message, (*COORDINATION, ChurnNotice)):
            self.coordination += len(action.to)
            self.touched |= {node, *action.to}
            if isinstance(message, LinkOk):
                self.last_link_us = at_us
        else:
            self.gossip += len(action.to)

    def _is_report(self, node: int, message: ChurnNotice) -> bool:
        return message.event.kind is ChurnKind.LEAVE and any(peer.node == node for peer in message.terminals)


class NodesUnderChurn:
    """A network of nodes, and what each churn event cost."""

    def __init__(self, parameters: OmenParameters, seed: int, interest: Interest, absent: Sequence[int]) -> None:
        self._parameters = parameters
        self._interest = interest
        self._links, self._costs = LinkBook(), _EventCosts()
        self._population = EventPopulation(
            find_system("omen"), parameters, seed, interest, Network(LATENCY), (self._links, self._costs)
        )
        gone = set(absent)
        self._population.start_together([node for node in range(interest.node_count) if node not in gone])
        self._wait(FIRST_TURNS)
        self.found: dict[str, list[Any]] = {}

    def change(self, node: int, is_join: bool) -> None:
        """Let a node join or crash, wait until gossip has caught up, and note what happened."""
        engine, costs = self._population.engine, self._costs
        at_us, total = engine.now_us, self._interest.node_count
        costs.begin()
        (self._population.join if is_join else self._population.crash)(node)
        self._wait(TURNS)
        present = engine.present_flags(total)
        overlay = self._links.overlay(total)
        degrees = overlay.degrees[present]
        for name, value in {
            "is_join": is_join,
            "messages": costs.coordination,
            "reports": costs.detection,
            "gossip": costs.gossip / max(len(engine.present) * TURNS, 1),
            "touched_percent": 100 * len(costs.touched) / len(engine.present),
            "repair_ms": max(costs.last_link_us - at_us, 0) / MILLISECOND_US,
            "parted": disconnected_topics(overlay, self._interest.among(present)),
            "most": int(degrees.max()),
            "mean": float(degrees.mean()),
        }.items():
            self.found.setdefault(name, []).append(value)

    def _wait(self, turns: int) -> None:
        engine = self._population.engine
        engine.run(engine.now_us + turns * self._parameters.period_us)
