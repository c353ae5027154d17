"""The population of OMen for the cycle engine: churn events one after another, each repaired at once."""

from collections.abc import Sequence

import numpy as np

from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.overlay import Overlay
from gossamer.model.values.draw import Purpose, draw, finish
from gossamer.model.values.errors import InputError
from gossamer.planners.greedy import lowoda, plan
from gossamer.simulator.cycle import Population
from gossamer.simulator.population import CycleChanges
from gossamer.systems.omen.parameters import OmenParameters
from gossamer.systems.omen.sequential import MendedOverlay


class OmenPopulation:
    """Nodes that start from a plan or, with `start=joins`, join one by one in the first cycle.

    A cycle is long enough for every event of it to be repaired before the next one.
    """

    def __init__(self, parameters: OmenParameters, seed: int, interest: Interest, absent: Sequence[int]) -> None:
        gone = set(absent)
        self._seed = seed
        self._waiting: list[int] = []
        if parameters.start == "joins":
            self._waiting = [node for node in range(interest.node_count) if node not in gone]
            gone |= set(self._waiting)
        present = np.ones(interest.node_count, np.bool_)
        present[list(gone)] = False
        overlay = plan(interest.among(present), lowoda(parameters.rho))
        self.mended = MendedOverlay(parameters, seed, interest, overlay, gone, keeps_sets=False)

    def cycle(self, changes: CycleChanges | None = None) -> None:
        """See `Population`."""
        order = sorted(self._waiting, key=lambda node: (draw(self._seed, node, Purpose.ORDER, 0), node))
        self._waiting = []
        for node in order:
            self.mended.join(node)
        if changes is not None:
            for node in sorted((*changes.leavers, *changes.crashes)):
                self.mended.leave(node)
            for node in sorted(changes.joiners):
                self.mended.join(node, changes.interests.get(node))
            for node, topics in sorted(changes.interests.items()):
                if node not in changes.joiners and self.mended.present[node]:
                    self.mended.leave(node)
                    self.mended.join(node, topics)

    def fingerprint(self) -> int:
        """See `Population`."""
        found = 0
        for node, others in enumerate(self.mended.neighbours):
            for other in others:
                if node < other:
                    found ^= finish((node << 32) + other)
        return found

    def overlay(self) -> Overlay:
        """See `Population`."""
        return self.mended.overlay()

    def views(self) -> None:
        """See `Population`: OMen has no views by topic."""

    def messages(self) -> dict[str, int]:
        """See `Population`: a repair is computed here, and nothing is sent."""
        return {}


def omen_population(
    parameters: OmenParameters, seed: int, interest: Interest, absent: Sequence[int], room: int
) -> Population:
    """OMen's population (`System.population`)."""
    if parameters.choices > 1 or parameters.backups != "primal-dual" or parameters.drops:
        raise InputError(
            "the kernel of omen takes any random holder as a backup and drops no links; set choices=1, "
            "backups=primal-dual and drops=false, or use engine='event'"
        )
    return OmenPopulation(parameters, seed, interest, absent)
