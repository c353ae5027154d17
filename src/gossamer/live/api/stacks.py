"""The stack of a live node: which parts run under each live name, with which settings."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from gossamer.protocols.contract.record import Header
from gossamer.protocols.contract.system import System, read_parameters
from gossamer.systems import check_dissemination, find_dissemination, find_live, find_system


@dataclass(frozen=True)
class Stack:
    """The parts of a node's machine and their settings. Greetings name the stack, and records contain it."""

    system: System
    parameters: Any
    dissemination: str
    dissemination_settings: Mapping[str, object] = field(default_factory=dict)
    recovers: bool = True
    takes_plan: bool = False
    # Whether the node has a history on disk.
    stores: bool = False

    @property
    def recovery(self) -> dict[str, object] | None:
        """The parameters of recovery that are not the default; None if the stack has no recovery."""
        if not self.recovers:
            return None
        return {"stores": True} if self.stores else {}

    @property
    def names(self) -> tuple[str, ...]:
        """The names that must be equal at both ends of a connection."""
        names = (self.system.name, self.dissemination)
        return names if self.discloses else (*names, "labels")

    def header(self, seed: int, content: bool = True) -> Header:
        """The header for a record of a node with this stack."""
        return Header(
            system=self.system.name,
            parameters=msgspec.to_builtins(self.parameters),
            seed=seed if content else 0,
            dissemination=self.dissemination,
            dissemination_parameters=dict(self.dissemination_settings),
            recovery=self.recovery,
            content=content,
        )

    @property
    def discloses(self) -> bool:
        """Whether nodes tell other nodes which topics they hold."""
        return self.system.discloses


def find_stack(
    system: str,
    settings: Mapping[str, object] | None = None,
    dissemination: str | None = None,
    dissemination_settings: Mapping[str, object] | None = None,
    stores: bool = False,
) -> Stack:
    """The stack of a live node that runs the system of this live name; an InputError lists the known names."""
    start = find_live(system)
    found = find_system(start.system)
    carried = dissemination or start.dissemination
    check_dissemination(found, carried, dissemination_settings)
    parameters = read_parameters(found, {**start.settings, **(settings or {})})
    # Gossip loses messages by design, so its stacks have no recovery.
    recovers = found.recovers and not find_dissemination(carried).relays_without_topic
    return Stack(found, parameters, carried, dict(dissemination_settings or {}), recovers, start.takes_plan, stores)
