"""The registry of systems: the built-in systems, each a package below this one, and third-party systems.

The registry finds built-in systems by listing the packages below this one, which works in a checkout and in the zip
file that Spark workers get. It finds third-party systems through entry points in the group `gossamer.systems`. An entry
point names a module that exports `SYSTEMS`, `DISSEMINATIONS` or both: tuples of the values in
`protocols/contract/system.py`.

    [project.entry-points."gossamer.systems"]
    star-per-topic = "star_per_topic"

A package is imported only when one of its names is looked up. A third-party package that cannot be used is left out,
and `problems` says why.
"""

import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from importlib.metadata import entry_points
from types import MappingProxyType, ModuleType
from typing import Any

import msgspec

from gossamer.model.values.errors import InputError
from gossamer.model.values.ids import NodeId
from gossamer.protocols.contract.node import NodeMachine
from gossamer.protocols.contract.parts import InterestView
from gossamer.protocols.contract.record import Header, RecordedView, StackDecoder
from gossamer.protocols.contract.system import (
    NOTHING_ASSUMED,
    Dissemination,
    LiveStart,
    StudyEntry,
    System,
    describe_parameters,
    hint,
    load,
    read_parameters,
)
from gossamer.protocols.delivery.above import parts_above
from gossamer.protocols.delivery.recovery.messages import RecoveryParameters
from gossamer.protocols.dissemination import DISSEMINATIONS as BUILDING_BLOCKS

# Everything that other rooms need to know about systems; they import it from here.
__all__ = [
    "DEFAULT_PLANNED",
    "DEFAULT_SYSTEM",
    "NOTHING_ASSUMED",
    "RECOVERY",
    "Dissemination",
    "LiveStart",
    "StudyEntry",
    "System",
    "all_disseminations",
    "all_systems",
    "check_dissemination",
    "check_recovery",
    "decoder_of",
    "describe_parameters",
    "find_dissemination",
    "find_live",
    "find_system",
    "hint",
    "live_names",
    "load",
    "machine_of",
    "make_machine",
    "module_of",
    "problems",
    "read_parameters",
]

GROUP = "gossamer.systems"
# The system that a live node, a fleet or a benchmark runs by default.
DEFAULT_SYSTEM = "spidercast"
# The live name that nodes of a plan run by default.
DEFAULT_PLANNED = "planned"


@dataclass(frozen=True)
class RecoveryLayer:
    """The optional part above a dissemination: delivery in order, requests for gaps, history."""

    name: str = "recovery"
    parameters: type[msgspec.Struct] = RecoveryParameters


RECOVERY = RecoveryLayer()


class _Registry:
    """The systems and disseminations found so far. Packages are imported one by one until a name is found."""

    def __init__(self) -> None:
        self.systems: dict[str, System] = {}
        self.disseminations: dict[str, Dissemination] = {each.name: each for each in BUILDING_BLOCKS}
        self.live: dict[str, LiveStart] = {}
        # The module that defines each third-party name; built-in names are absent.
        self.modules: dict[str, str] = {}
        # The position of each name in listings: (module, index in it). Built-in names sort first.
        self.places: dict[str, tuple[str, int]] = {}
        self.problems: list[str] = []
        self._read: set[str] = set()

    def read_ours(self, only: str | None = None) -> None:
        """Import all built-in packages, or only one of them."""
        for info in pkgutil.iter_modules(__path__):
            if info.ispkg and only in (None, info.name):
                self._take(f"{__name__}.{info.name}", "")

    def read_others(self) -> None:
        """Import the third-party packages that entry points name."""
        for entry in sorted(entry_points(group=GROUP), key=lambda each: each.name):
            self.read_module(entry.value.partition(":")[0])

    def read_module(self, module: str) -> None:
        """Import a third-party package; if it cannot be used, add a sentence to `problems`."""
        self._take(module, module)

    def _take(self, module: str, other: str) -> None:
        if module in self._read:
            return
        self._read.add(module)
        try:
            found = import_module(module)
            systems, disseminations = _values(found, module)
            values: tuple[System | Dissemination, ...] = (*systems, *disseminations)
            self._check(values)
        except Exception as error:  # third-party code may raise anything
            if not other:
                raise
            self.problems.append(f"{module} is left out: {_sentence(error)}")
            return
        for system in systems:
            self.systems[system.name] = system
        for dissemination in disseminations:
            self.disseminations[dissemination.name] = dissemination
        for place, each in enumerate(values):
            self.places[each.name] = (f"{'other ' if other else 'gossamer '}{module}", place)
            self.live |= {start.name: start for start in each.live}
            if other:
                self.modules[each.name] = other

    def _check(self, found: tuple[System | Dissemination, ...]) -> None:
        for each in found:
            taken = self.systems if isinstance(each, System) else self.disseminations
            if each.name in taken:
                raise InputError(f"its name {each.name} is taken; choose another")
            for start in each.live:
                if start.name in self.live:
                    raise InputError(f"its live name {start.name} is taken; choose another")
            for parameter in describe_parameters(each.parameters):
                if not parameter["origin"].startswith(("Paper:", "Chosen:", "Differs:")):
                    raise InputError(
                        f"parameter {parameter['name']} of {each.name} does not say where its default comes from; "
                        "describe it with a sentence that begins with Paper:, Chosen: or Differs:"
                    )


def _values(found: ModuleType, module: str) -> tuple[tuple[System, ...], tuple[Dissemination, ...]]:
    systems = tuple(getattr(found, "SYSTEMS", ()))
    disseminations = tuple(getattr(found, "DISSEMINATIONS", ()))
    if not systems and not disseminations:
        raise InputError(f"{module} exports neither SYSTEMS nor DISSEMINATIONS")
    for each, kind in (*((one, System) for one in systems), *((one, Dissemination) for one in disseminations)):
        if not isinstance(each, kind):
            raise InputError(f"it exports {each!r} where a {kind.__name__} is expected")
    return systems, disseminations


def _sentence(error: Exception) -> str:
    if isinstance(error, InputError):
        return str(error)
    return f"it fails to import with {type(error).__name__}: {error}"


_registry = _Registry()


def _look_up(table: Mapping[str, Any], name: str) -> Any | None:
    """Import as little as possible: the package of this name, then all built-in packages, then third-party packages."""
    if name not in table:
        _registry.read_ours(name)
    if name not in table:
        _registry.read_ours()
    if name not in table:
        _read_others()
    return table.get(name)


@cache
def _read_others() -> None:
    _registry.read_ours()
    _registry.read_others()


@cache
def all_systems() -> Mapping[str, System]:
    """Every system by name: built-in ones by package, then third-party ones. Look-ups do not change the order."""
    _read_others()
    return MappingProxyType(dict(sorted(_registry.systems.items(), key=lambda item: _registry.places[item[0]])))


@cache
def all_disseminations() -> Mapping[str, Dissemination]:
    """Every dissemination by name: those of `protocols/dissemination` first, then in the order of `all_systems`."""
    _read_others()
    found = _registry.disseminations.items()
    return MappingProxyType(dict(sorted(found, key=lambda item: _registry.places.get(item[0], ("", 0)))))


def live_names() -> list[str]:
    """The names that `Node(system=...)` takes."""
    _read_others()
    return sorted(_registry.live)


def problems() -> list[str]:
    """One sentence for each third-party package that cannot be used."""
    _read_others()
    return list(_registry.problems)


def find_system(name: str, module: str = "") -> System:
    """The system of this name.

    `module` is the third-party module that a run names; Spark workers need it because they have no entry points.
    """
    if module:
        _registry.read_ours()
        _registry.read_module(module)
    found: System | None = _look_up(_registry.systems, name)
    if found is None:
        known = _registry.systems
        raise InputError(f"there is no system {name!r}; there are: {', '.join(sorted(known))}{hint(name, known)}")
    return found


def find_dissemination(name: str) -> Dissemination:
    """The dissemination of this name; an InputError lists the known names."""
    found: Dissemination | None = _look_up(_registry.disseminations, name)
    if found is None:
        known = _registry.disseminations
        raise InputError(f"there is no dissemination {name!r}; there are: {', '.join(known)}{hint(name, known)}")
    return found


def find_live(name: str) -> LiveStart:
    """How a live node runs the system of this live name; an InputError lists the known names."""
    found: LiveStart | None = _look_up(_registry.live, name)
    if found is None:
        raise InputError(f"a live node runs one of {', '.join(live_names())}, not {name!r}")
    return found


def module_of(name: str) -> str:
    """The third-party module that defines this system or dissemination; empty for built-in ones."""
    return _registry.modules.get(name, "")


def make_machine(
    system: System,
    parameters: Any,
    seed: int,
    node: NodeId,
    view: InterestView | None = None,
    dissemination: str | None = None,
    settings: Mapping[str, object] | None = None,
    recovery: Mapping[str, object] | None = None,
) -> NodeMachine:
    """A node's machine: the system's parts, then the dissemination if one is named, then recovery unless it is None."""
    if system.parts is None:
        raise InputError(f"{system.name} is planned centrally: it can be built, and has no node to run or simulate")
    parts = system.parts(parameters, seed, node, view)
    if dissemination is None:
        return NodeMachine(parts)
    carried = check_dissemination(system, dissemination, settings)
    kept = None if recovery is None else check_recovery(system, dissemination, recovery)
    disseminates = partial(find_dissemination(dissemination).part, carried)
    return NodeMachine((*parts, *parts_above(parts[-1], disseminates, kept, seed, node, system.discloses)))


def machine_of(header: Header, node: NodeId, view: InterestView | None = None) -> NodeMachine:
    """A new machine of the stack that a record's header names."""
    system = find_system(header.system)
    parameters = read_parameters(system, header.parameters)
    return make_machine(
        system,
        parameters,
        header.seed,
        node,
        # Nodes that learn interests only from messages take no view from outside.
        view if system.takes_view(parameters) else None,
        header.dissemination,
        header.dissemination_parameters,
        header.recovery,
    )


def decoder_of(header: Header) -> StackDecoder:
    """A decoder for the events and messages of the stack that a record's header names."""
    return StackDecoder(machine_of(header, 0, RecordedView()).part_classes)


def check_recovery(system: System, dissemination: str | None, settings: Mapping[str, object]) -> RecoveryParameters:
    """The parameters of recovery; an InputError if this stack cannot have recovery."""
    if dissemination is None:
        raise InputError("recovery needs a dissemination; give one too")
    if not system.recovers:
        raise InputError(f"{system.name} has no recovery: its overlay does not know which neighbours hold a topic")
    parameters: RecoveryParameters = read_parameters(RECOVERY, settings)
    return parameters


def check_dissemination(system: System, dissemination: str, settings: Mapping[str, object] | None = None) -> Any:
    """The parameters of a dissemination; an InputError if this system cannot carry it."""
    found = find_dissemination(dissemination)
    if not system.carries(found):
        known = ", ".join(each.name for each in all_disseminations().values() if system.carries(each)) or "none"
        raise InputError(f"{system.name} carries no dissemination {dissemination!r}; it carries: {known}")
    return read_parameters(found, settings or {})
