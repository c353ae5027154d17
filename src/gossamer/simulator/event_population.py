"""The nodes of one system in the event engine: which are present, their topics and their interest views."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
import numpy as np

from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.overlay import Overlay
from gossamer.protocols.contract.events import Subscribe
from gossamer.protocols.contract.facts import Heard
from gossamer.protocols.contract.messages import Digest, Peer
from gossamer.protocols.contract.parts import InterestView, Machine
from gossamer.protocols.contract.record import Answer, packed_topics
from gossamer.protocols.contract.system import System
from gossamer.simulator.disks import SimulatedDisks
from gossamer.simulator.engine import EventEngine, Watcher
from gossamer.simulator.network import Network
from gossamer.simulator.population import (
    FirstPeers,
    GivenLinks,
    first_peers,
    newcomer,
    planned_start,
    together_among,
    with_links,
)
from gossamer.simulator.views import InterestOracle
from gossamer.systems import make_machine


class EventPopulation:
    """Starts and stops nodes, and updates the oracle that answers their interest views."""

    def __init__(
        self,
        system: System,
        parameters: Any,
        seed: int,
        interest: Interest,
        network: Network,
        watchers: Sequence[Watcher] = (),
        answers: list[Answer] | None = None,
        dissemination: str | None = None,
        settings: Mapping[str, object] | None = None,
        recovery: Mapping[str, object] | None = None,
        disks: SimulatedDisks | None = None,
        links: Overlay | None = None,
    ) -> None:
        """`links` are an overlay that the nodes start with; the system must be one that takes a plan."""
        self._system = system
        self._parameters = parameters
        self._seed = seed
        self._interest = interest
        self._network = network
        self._answers = answers
        self._dissemination = dissemination
        self._settings = settings
        self._recovery = recovery
        self._oracle = InterestOracle(interest.node_count)
        self._first_peers: FirstPeers | None = (
            first_peers(system, parameters, seed, self._oracle) if links is None else GivenLinks(links, interest)
        )
        self._disks = disks
        # Nodes that were started at least once.
        self.known = np.zeros(interest.node_count, np.bool_)
        self.engine = EventEngine(self._machine, network, seed, watchers, disks)

    def start_together(self, nodes: Sequence[int]) -> None:
        """Start nodes at the same time, with the first contacts that the system asks for, or with its planned links."""
        contacts = self._system.contact_count(self._parameters)
        up = np.zeros(self._interest.node_count, np.bool_)
        up[list(nodes)] = True
        interest = self._interest.among(up)
        planned = planned_start(self._system, self._parameters, self._seed, interest)
        for node in nodes:
            self._oracle.put(node, self._interest.topics_of(node).tolist())
        if self._first_peers is not None:
            self._first_peers.start_together(interest)
        for place, node in enumerate(nodes):
            started = together_among(self._seed, place, nodes, contacts)
            self.engine.start(node, started if planned is None else with_links(planned, node))
            self._subscribe(node, together=True)

    def join(self, node: int, last: int = 0, last_us: int = 0) -> None:
        """Start a node that joins or returns. A node that is present introduces it.

        `last` and `last_us` ask for earlier messages of its topics (`events.Subscribe`).
        """
        event = newcomer(self._seed, node, self.engine.now_us, self.engine.present)
        self._oracle.put(node, self._interest.topics_of(node).tolist())
        self.engine.start(node, event)
        self._subscribe(node, last=last, last_us=last_us)

    def leave(self, node: int) -> None:
        """Let a node leave; it tells its neighbours."""
        self._oracle.drop(node)
        self.engine.stop(node)

    def crash(self, node: int) -> None:
        """Let a node crash; it sends nothing."""
        self._oracle.drop(node)
        self.engine.crash(node)

    def _machine(self, node: int) -> Machine:
        view: InterestView | None = None
        if self._system.takes_view(self._parameters):
            distance_us = partial(self._network.typical_us, node)
            view = self._oracle.view_for(self._parameters, self._seed, node, distance_us)
            if self._answers is not None:
                view = RecordingView(view, self._answers)
        return make_machine(
            self._system, self._parameters, self._seed, node, view, self._dissemination, self._settings, self._recovery
        )

    def _subscribe(self, node: int, together: bool = False, last: int = 0, last_us: int = 0) -> None:
        interest = self._interest
        self.known[node] = True
        row = slice(interest.node_starts[node], interest.node_starts[node + 1])
        for topic, role in zip(interest.node_topics[row].tolist(), interest.roles[row].tolist(), strict=True):
            event = Subscribe(topic, role)
            if self._first_peers is not None and together:
                event = self._first_peers.together(node, topic, role)
            elif self._first_peers is not None:
                event = self._first_peers.joining(node, topic, role, self.engine.now_us)
            if last or last_us:
                event = msgspec.structs.replace(event, last=last, last_us=last_us)
            if self._disks is not None:
                event = self._disks.resume(node, event, self.engine.now_us)
            self.engine.give(node, event)


class RecordingView:
    """A view that records all of its answers, so that a replay needs no oracle."""

    def __init__(self, view: InterestView, answers: list[Answer]) -> None:
        self._view = view
        self._answers = answers

    def best_cover(self, topics: Sequence[int], exclude: Any, key: int) -> Peer | None:
        """See `InterestView`."""
        return self._noted(self._view.best_cover, topics, exclude, key)

    def random_cover(self, topics: Sequence[int], exclude: Any, key: int) -> Peer | None:
        """See `InterestView`."""
        return self._noted(self._view.random_cover, topics, exclude, key)

    def random_peer(self, exclude: Any, key: int) -> Peer | None:
        """See `InterestView`."""
        return self._noted(self._view.random_peer, exclude, key)

    def holder_below(self, topic: int, node: int, exclude: Any, key: int) -> Peer | None:
        """See `InterestView`."""
        return self._noted(self._view.holder_below, topic, node, exclude, key)

    def topics_of(self, node: int) -> frozenset[int]:
        """See `InterestLookup`."""
        topics = self._view.topics_of(node)
        self._answers.append(packed_topics(topics))
        return topics

    def digest_of(self, node: int) -> Digest | None:
        """See `InterestLookup`."""
        return self._view.digest_of(node)

    def note(self, heard: Heard) -> None:
        """See `InterestLookup`."""
        self._view.note(heard)

    def topic_size(self, topic: int) -> int:
        """See `InterestLookup`."""
        self._answers.append(self._view.topic_size(topic))
        return self._view.topic_size(topic)

    def network_size(self) -> int:
        """See `InterestLookup`."""
        self._answers.append(self._view.network_size())
        return self._view.network_size()

    def _noted(self, ask: Callable[..., Peer | None], *question: Any) -> Peer | None:
        answer = ask(*question)
        self._answers.append(answer)
        return answer
