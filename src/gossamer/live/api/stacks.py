"""Which machine a live node runs under each name, and with which settings."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from gossamer.model.values.errors import InputError
from gossamer.model.values.time import SECOND_US
from gossamer.protocols.contract.record import Header
from gossamer.systems import (
    DISSEMINATIONS,
    SYSTEMS,
    System,
    check_dissemination,
    read_parameters,
)


@dataclass(frozen=True)
class Stack:
    """All that a node's machine is made of, as a greeting names it and a record keeps it."""

    system: System
    parameters: Any
    dissemination: str
    dissemination_settings: Mapping[str, object] = field(default_factory=dict)
    recovers: bool = True

    @property
    def names(self) -> tuple[str, ...]:
        """What both ends of a link must agree on."""
        return (self.system.name, self.dissemination)

    def header(self, seed: int) -> Header:
        """How a record of a node with this stack begins."""
        return Header(
            system=self.system.name,
            parameters=msgspec.to_builtins(self.parameters),
            seed=seed,
            dissemination=self.dissemination,
            dissemination_parameters=dict(self.dissemination_settings),
            recovery={} if self.recovers else None,
        )

    @property
    def discloses(self) -> bool:
        """Whether nodes tell others what they hold."""
        return self.system.discloses


# Live nodes learn of each other by Cyclon, and look for topics in parts twice a second. Chosen: nine looks without a change
# build a bridge, so that a topic that fell apart is whole again within some five seconds; at rest a look says nothing.
_SETTINGS: Mapping[str, tuple[str, Mapping[str, object]]] = {
    "spidercast": ("spidercast", {"membership": "cyclon", "mend_us": SECOND_US // 2, "part_uncovered": True}),
    # A plan connects every topic with few links. They stay; one other link covers a topic that lost its own.
    "planned": (
        "spidercast",
        {"membership": "cyclon", "mend_us": SECOND_US // 2, "greedy_coverage": 0, "random_coverage": 1},
    ),
    "stan": ("stan", {"membership": "cyclon"}),
    # Chosen: six random links, as many as gossipsub keeps for each topic.
    "gossip": ("random", {"membership": "cyclon", "links": 6}),
}
# Named by the design and not built yet.
_TO_COME = {"feverfew", "omen", "push-pull"}


def find_stack(
    system: str,
    settings: Mapping[str, object] | None = None,
    dissemination: str | None = None,
    dissemination_settings: Mapping[str, object] | None = None,
) -> Stack:
    """The stack of a live node; an InputError says what there is."""
    for name in (system, dissemination):
        if name in _TO_COME:
            raise InputError(f"{name} is not built yet; there are: {', '.join(_SETTINGS)}")
    if system not in _SETTINGS:
        raise InputError(f"a live node runs one of {', '.join(_SETTINGS)}, not {system!r}")
    name, defaults = _SETTINGS[system]
    found = SYSTEMS[name]
    carried = dissemination or ("gossip" if system == "gossip" else "tree")
    if carried not in DISSEMINATIONS:
        raise InputError(f"there is no dissemination {carried!r}; there are: {', '.join(DISSEMINATIONS)}")
    check_dissemination(found, carried, dissemination_settings)
    parameters = read_parameters(found, {**defaults, **(settings or {})})
    # Gossip reaches whom it reaches, by its paper; what it misses is not asked for.
    recovers = not DISSEMINATIONS[carried].relays_without_topic
    return Stack(found, parameters, carried, dict(dissemination_settings or {}), recovers)
