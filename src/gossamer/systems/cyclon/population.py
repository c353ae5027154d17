"""The population of Cyclon for the cycle engine: the kernel with its state."""

from collections.abc import Sequence

import numpy as np

from gossamer.kernels import cyclon as kernel
from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.overlay import Overlay
from gossamer.model.values.errors import InputError
from gossamer.protocols.membership.cyclon import CyclonParameters
from gossamer.simulator.cycle import Population
from gossamer.simulator.population import CycleChanges, introducer

U64 = np.uint64


class CyclonPopulation:
    """Nodes that start at the same time, and the state of the kernel."""

    def __init__(self, parameters: CyclonParameters, seed: int, node_count: int, absent: Sequence[int] = ()) -> None:
        self._parameters = parameters
        self._seed = U64(seed)
        self._counts = np.zeros(len(kernel.KINDS), np.int64)
        self._cycle_count = 0
        self.state = kernel.cyclon_state(node_count, parameters.view_size)
        kernel.start_together(self._seed, self.state)
        for node in absent:
            kernel.leave(self.state, node)

    def cycle(self, changes: CycleChanges | None = None) -> None:
        """See `Population`."""
        self._cycle_count += 1
        now_us = U64(self._cycle_count * self._parameters.period_us)
        if changes is not None:
            self._apply(changes, now_us)
        parameters = self._parameters
        kernel.cyclon_cycle(
            self._seed, now_us, parameters.shuffle_length, parameters.walk_length, self.state, self._counts
        )

    def fingerprint(self) -> int:
        """See `Population`."""
        return int(kernel.cyclon_fingerprint(self.state))

    def overlay(self) -> Overlay:
        """See `Population`."""
        state = self.state
        node_count, view_size = state.nodes.shape
        used = np.arange(view_size) < state.sizes[:, None]
        owners, columns = np.nonzero(used)
        peers = state.nodes[owners, columns]
        both = state.present[peers]
        return Overlay.from_links(owners[both], peers[both], node_count)

    def views(self) -> None:
        """See `Population`: Cyclon has no views by topic."""

    def messages(self) -> dict[str, int]:
        """See `Population`."""
        return {kind: int(count) for kind, count in zip(kernel.KINDS, self._counts, strict=True)}

    def _apply(self, changes: CycleChanges, now_us: np.uint64) -> None:
        for node in sorted((*changes.leavers, *changes.crashes)):
            kernel.leave(self.state, node)
        present = np.flatnonzero(self.state.present)
        for node in sorted(changes.joiners):
            contact = introducer(int(self._seed), node, int(now_us), present)
            kernel.arrive(
                self._seed,
                now_us,
                self._parameters.walk_length,
                self.state,
                node,
                node if contact is None else contact,
                self._counts,
            )


def cyclon_population(
    parameters: CyclonParameters, seed: int, interest: Interest, absent: Sequence[int], room: int
) -> Population:
    """Cyclon's population (`System.population`)."""
    if parameters.rejoin_us:
        raise InputError("cyclon with rejoin_us has no kernel; use engine='event'")
    return CyclonPopulation(parameters, seed, interest.node_count, absent)
