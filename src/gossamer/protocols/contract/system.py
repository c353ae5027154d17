"""The values that describe a system and a dissemination: everything that the rest of the package knows about them.

A system's folder exports `SYSTEMS`, a tuple of `System`, and may export `DISSEMINATIONS`, a tuple of `Dissemination`.
The simulator, live nodes, the pipeline, reports and commands read these values; none of them knows a system by name.

Code that needs numpy, numba or matplotlib is given as a dotted name, `package.module:attribute`. `load` imports it on
demand, so a live node never loads it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import IntEnum
from importlib import import_module
from typing import Any

import msgspec

from gossamer.model.values.errors import InputError
from gossamer.model.values.ids import NodeId
from gossamer.model.values.run import CYCLE_LIMIT
from gossamer.protocols.contract.messages import Timer
from gossamer.protocols.contract.parts import InterestView, Part


class Knows(IntEnum):
    """What an overlay part knows about the neighbours of its node; each level includes the levels before it."""

    # Directed views: the peer does not know that it is in the view.
    VIEWS = 0
    # Links: both ends know the link.
    LINKS = 1
    # Also which neighbours hold a topic (`contract.parts.TopicNeighbours`).
    TOPICS = 2


@dataclass(frozen=True)
class LockstepTimer:
    """A timer that the lockstep driver fires at every node.

    `every_cycles` computes from the parameters after how many cycles the timer fires again; 0 means never.
    """

    timer: Timer
    every_cycles: Callable[[Any], int] = lambda parameters: 1


@dataclass(frozen=True)
class LiveStart:
    """A name under which live nodes run a system, with the parameters that differ from the defaults of simulations."""

    name: str
    system: str
    settings: Mapping[str, object] = field(default_factory=dict)
    dissemination: str = "tree"
    # Whether the node starts from the links of a plan and therefore requires a plan.
    takes_plan: bool = False


@dataclass(frozen=True)
class StudyEntry:
    """How the default study runs a system: its parameters, and the label that the report shows."""

    parameters: Mapping[str, object] = field(default_factory=dict)
    label: str = ""
    # Under churn: the disseminations to run instead of the study's own, with their parameters.
    disseminations: tuple[str, ...] = ()
    dissemination_parameters: Mapping[str, object] = field(default_factory=dict)
    # The cycles after which a build ends; for systems whose links never stop changing.
    cycle_limit: int = CYCLE_LIMIT


# What a system assumes that needs no more than a live node has.
NOTHING_ASSUMED = "nodes learn of others from messages, as live nodes do"


@dataclass(frozen=True)
class System:
    """One system: its parameters, how to construct a node that runs it, and where its other files are."""

    name: str
    summary: str
    paper: str
    parameters: type[msgspec.Struct]

    # (parameters, seed, node, interest view) -> the parts up to the overlay, bottom up. None for a system that is
    # planned centrally, which no node runs.
    parts: Callable[[Any, int, NodeId, InterestView | None], tuple[Part, ...]] | None = None
    knows: Knows = Knows.VIEWS
    # Whether the overlay connects the nodes of every topic. If not, recovery can miss messages that other nodes have.
    connects_topics: bool = True
    # Whether nodes tell other nodes which topics they hold. If not, a checker verifies this in every simulation.
    discloses: bool = True
    # Whether nodes keep a directed view for each topic.
    keeps_views: bool = False
    # Whether a seed changes the result. False for planners that draw nothing.
    needs_seed: bool = True
    # Message kinds that only keep links alive; counts of control messages exclude them.
    keep_alive_kinds: tuple[str, ...] = ()

    # Lockstep (docs/lockstep.md): the timers in the order in which they fire, whether the nodes of a cycle act in a
    # random order or in the order of their ids, and the virtual duration of a cycle.
    timers: tuple[LockstepTimer, ...] = ()
    random_order: bool = False
    cycle_us: Callable[[Any], int] = lambda parameters: 1

    # What a simulation gives to its nodes, depending on the parameters: an interest view, first contacts, and first
    # peers in each topic (`first_peers` names the class that chooses these).
    takes_view: Callable[[Any], bool] = lambda parameters: False
    # The share of all nodes that an interest view from outside contains.
    view_share: Callable[[Any], float] = lambda parameters: 1.0
    contact_count: Callable[[Any], int] = lambda parameters: 0
    takes_first_peers: Callable[[Any], bool] = lambda parameters: False
    first_peers: str | None = None

    # (parameters, seed, interest, absent nodes, capacity for topics) -> a started `simulator.cycle.Population`.
    population: str | None = None
    # (parameters, seed, interest, progress) -> the overlay of a central system, or the links with which nodes start; None
    # if, with these parameters, nodes start without links.
    planner: str | None = None
    # () -> None: calls every compiled function once, with the argument types that the population uses.
    warm_up: str | None = None
    # A tuple of `analysis.exhibits.harness.Exhibit`.
    exhibits: str | None = None
    # A module of functions (seed, arguments) -> metrics, for exhibits that measure something else than runs
    # (`model.values.run.Experiment`).
    experiments: str | None = None
    # A module of simulations to compare with the theory, with one or both of `check_ln_cover(nodes, size, random,
    # similar, seed, progress)` and `check_bubble(nodes, size, shuffle, seed, progress)`. Each returns measured figures;
    # those with the names of fields of `theory.coverage.LnCover` and `Bubble` are shown beside the theory.
    theory_checks: str | None = None

    live: tuple[LiveStart, ...] = ()
    study: tuple[StudyEntry, ...] = ()
    churn_study: tuple[StudyEntry, ...] = ()
    # As `study`, in a small network of nodes that know others only from messages, as live nodes do.
    live_study: tuple[StudyEntry, ...] = ()

    @property
    def is_central(self) -> bool:
        """Whether the overlay is planned centrally, so that no node runs the system."""
        return self.parts is None

    @property
    def recovers(self) -> bool:
        """Whether the stack can have recovery, which sends requests to the neighbours on a topic and must know them."""
        return self.knows >= Knows.TOPICS

    def assumes(self, parameters: Any) -> str:
        """What a run with these parameters takes for granted, as a clause for readers of a report."""
        if self.is_central:
            return "a planner knows every subscription"
        if self.takes_view(parameters):
            share = self.view_share(parameters)
            return "every node knows all others" if share >= 1 else f"every node knows {100 * share:g}% of the others"
        if self.takes_first_peers(parameters):
            return "every node is given first peers on each of its topics"
        return NOTHING_ASSUMED

    def carries(self, dissemination: "Dissemination") -> bool:
        """Whether this dissemination can run on the system's overlay."""
        if not self.discloses and dissemination.relays_without_topic:
            return False
        return not self.is_central and self.knows >= dissemination.needs


@dataclass(frozen=True)
class Dissemination:
    """One dissemination: its parameters, and how to construct its part above an overlay."""

    name: str
    parameters: type[msgspec.Struct]
    # (parameters, overlay part, seed, node, `delivery.state.DeliveryState`) -> the part.
    part: Callable[[Any, Any, int, NodeId, Any], Part]
    needs: Knows = Knows.TOPICS
    # Whether nodes relay topics that they do not hold. If not, the checkers of every simulation and the audit of live
    # nodes report such a relay as a breach.
    relays_without_topic: bool = False
    # (overlay, interest, parameters, seed, message count) -> figures: sends messages over an overlay that does not
    # change, without an engine.
    on_static_overlay: str | None = None
    # (parameters, seed, node count, topic, publisher, topic size) -> one message that spreads round by round, over an
    # overlay that may change between rounds. Its `round(overlay, holds)` carries out one round.
    by_rounds: str | None = None
    # As `System.warm_up`.
    warm_up: str | None = None
    # Whether the default study runs it under churn, on every overlay that can carry it.
    in_study: bool = False
    # A module with `check_gossip`, `check_topics` and `check_load`: simulations to compare with the theory.
    theory_checks: str | None = None
    live: tuple[LiveStart, ...] = ()


class NoParameters(msgspec.Struct, frozen=True):
    """The parameters of a system or dissemination that has none."""


def load(dotted: str) -> Any:
    """The attribute that a dotted name `package.module:attribute` names, or the module where no attribute is given."""
    module, _, attribute = dotted.partition(":")
    found = import_module(module)
    return getattr(found, attribute) if attribute else found


def read_parameters(kind: Any, settings: Mapping[str, object]) -> Any:
    """Parameters from settings, whose values may be text; parameters without a setting keep their defaults.

    `kind` has a name and a parameters class: it is a system, a dissemination or recovery.
    """
    known = {each.name: each for each in msgspec.structs.fields(kind.parameters)}
    for name in settings:
        if name not in known:
            raise InputError(
                f"{kind.name} has no parameter {name!r}; it has: {', '.join(known) or 'none'}{hint(name, known)}"
            )
    for name, value in settings.items():
        try:
            msgspec.convert(value, known[name].type, strict=False)
        except msgspec.ValidationError as error:
            raise InputError(f"{kind.name}: {name} is {value!r}: {error}") from None
    parameters = msgspec.convert(dict(settings), kind.parameters, strict=False)
    problem = getattr(parameters, "problem", lambda: None)()
    if problem:
        raise InputError(f"{kind.name}: {problem}")
    return parameters


def describe_parameters(parameters: type[msgspec.Struct]) -> list[dict[str, Any]]:
    """Name, default and origin of each parameter; the origin begins with `Paper:`, `Chosen:` or `Differs:`."""
    info = msgspec.inspect.type_info(parameters)
    assert isinstance(info, msgspec.inspect.StructType)
    described = []
    for each, typed in zip(msgspec.structs.fields(parameters), info.fields, strict=True):
        metadata = typed.type if isinstance(typed.type, msgspec.inspect.Metadata) else None
        schema = (metadata.extra_json_schema if metadata else None) or {}
        described.append({"name": each.name, "default": each.default, "origin": str(schema.get("description", ""))})
    return described


def hint(name: str, known: Mapping[str, object]) -> str:
    """`; did you mean ...?` where a known name is close to this one."""
    close = get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]}?" if close else ""
