"""The table of systems, lower layer: what a node runs under each name.

`live` and every driver of machines use this table. `simulator/systems.py` adds kernels and planners.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import msgspec

from gossamer.model.values.errors import InputError
from gossamer.model.values.ids import NodeId
from gossamer.model.values.time import SECOND_US
from gossamer.protocols.contract.messages import Timer
from gossamer.protocols.contract.node import NodeMachine
from gossamer.protocols.contract.parts import InterestView, Part
from gossamer.protocols.delivery.history import History
from gossamer.protocols.delivery.recovery.machine import Recovery
from gossamer.protocols.delivery.recovery.messages import RecoveryParameters
from gossamer.protocols.delivery.state import DeliveryState
from gossamer.protocols.dissemination.flood import Flood
from gossamer.protocols.dissemination.tree import Tree
from gossamer.protocols.membership.cyclon import Cyclon, CyclonParameters, ShuffleDue
from gossamer.protocols.membership.interest_exchange import InterestExchange
from gossamer.protocols.membership.interest_table import InterestTable
from gossamer.systems.cyclon.machine import ViewOverlay
from gossamer.systems.gossip.machine import Gossip, GossipParameters
from gossamer.systems.gossip.unstructured import Unstructured, UnstructuredParameters
from gossamer.systems.planned.parameters import (
    GmParameters,
    LowodaParameters,
    MeshParameters,
    MinmaxodaParameters,
    RingParameters,
)
from gossamer.systems.spidercast.machine import SpiderCast
from gossamer.systems.spidercast.messages import (
    MaintenanceDue,
    MendDue,
    RandomParameters,
    SimilarityParameters,
    SpiderCastParameters,
    Timing,
)
from gossamer.systems.spidercast.task import Rule
from gossamer.systems.stan.machine import Stan
from gossamer.systems.stan.messages import StanParameters, WalkDue
from gossamer.systems.stan.probe import Prober


@dataclass(frozen=True)
class System:
    """One system: its parameters, and how a node that runs it is made.

    `maintenance` is the timer that the lockstep driver fires once a cycle; `random_order` says whether
    nodes are then activated in a random order or by id (DESIGN, "Lockstep, exactly").
    """

    name: str
    summary: str
    paper: str
    parameters: type[msgspec.Struct]
    # (parameters, seed, node, interest view) -> the parts up to the overlay, bottom up. Absent: the overlay is
    # planned centrally.
    parts: Callable[[Any, int, NodeId, InterestView | None], tuple[Part, ...]] | None = None
    maintenance: Timer | None = None
    # A second timer, fired after everybody's maintenance every so many cycles (0: never), by the parameters.
    second: Timer | None = None
    second_cycles: Callable[[Any], int] = lambda parameters: 0
    random_order: bool = False
    # How long a cycle is in lockstep, in virtual time.
    cycle_us: Callable[[Any], int] = lambda parameters: 1
    # Whether a simulation gives its nodes an interest view, by their parameters.
    takes_view: Callable[[Any], bool] = lambda parameters: False
    # Whether a simulation tells its nodes whom they know in a topic at first, by their parameters.
    takes_topic_peers: Callable[[Any], bool] = lambda parameters: False
    # Whether its nodes keep a directed view for each topic.
    keeps_views: bool = False
    # Whether nodes tell others what they hold; where they must not, a checker sees to it.
    discloses: bool = True
    # Which disseminations may stand on this overlay: the table of allowed combinations.
    disseminations: tuple[str, ...] = ()

    @property
    def recovers(self) -> bool:
        """Whether recovery can stand on top: it asks the neighbours on a topic, so the overlay must know them."""
        return set(_OVER_INTERESTS) <= set(self.disseminations)


@dataclass(frozen=True)
class Dissemination:
    """One dissemination: its parameters, and how its part is made above an overlay."""

    name: str
    parameters: type[msgspec.Struct]
    # (parameters, overlay, seed, node, what the node holds) -> the part.
    part: Callable[[Any, Any, int, NodeId, DeliveryState], Part]
    # Whether nodes pass on topics that they do not hold. No dissemination may, but the one whose paper says so: the
    # checkers of every simulation read it here.
    relays_without_topic: bool = False


@dataclass(frozen=True)
class RecoveryLayer:
    """What may stand above a dissemination: order, gaps, history."""

    name: str = "recovery"
    parameters: type[msgspec.Struct] = RecoveryParameters


RECOVERY = RecoveryLayer()


class NoParameters(msgspec.Struct, frozen=True):
    """There is nothing to set."""


def _cyclon(parameters: CyclonParameters, seed: int, node: NodeId, view: InterestView | None) -> tuple[Part, ...]:
    return (Cyclon(parameters, seed, node), ViewOverlay())


def _interests(
    parameters: Timing, seed: int, node: NodeId, view: InterestView | None
) -> tuple[InterestExchange, tuple[Part, ...], InterestView]:
    """Below SpiderCast and its rivals: what the node holds, and where the interests of others come from."""
    exchange = InterestExchange()
    if view is not None:
        return exchange, (exchange,), view
    # Chosen: Cyclon shuffles twice a heartbeat here, so that a newcomer soon knows whom to ask, and with a first contact
    # every 30 s, so that halves of a network that were parted find each other.
    membership = CyclonParameters(period_us=max(parameters.heartbeat_us // 2, 1), rejoin_us=30 * SECOND_US)
    table = InterestTable(node, exchange)
    return exchange, (exchange, Cyclon(membership, seed, node, exchange), table), table


def _spidercast(
    parameters: SpiderCastParameters, seed: int, node: NodeId, view: InterestView | None
) -> tuple[Part, ...]:
    tasks = (
        (Rule.COVER_GREEDILY, parameters.greedy_coverage),
        (Rule.COVER_AT_RANDOM, parameters.random_coverage),
    )
    exchange, below, view = _interests(parameters, seed, node, view)
    part = SpiderCast(
        tasks,
        parameters.margin,
        parameters,
        view,
        exchange,
        seed,
        node,
        adaptive=parameters.adaptive,
        drop_when_stuck=parameters.drop_when_stuck,
        part_uncovered=parameters.part_uncovered,
        mend_us=parameters.mend_us,
    )
    return (*below, part)


def _similarity(
    parameters: SimilarityParameters, seed: int, node: NodeId, view: InterestView | None
) -> tuple[Part, ...]:
    tasks = ((Rule.COUNT_SIMILAR, parameters.similar), (Rule.COUNT_RANDOM, parameters.random))
    exchange, below, view = _interests(parameters, seed, node, view)
    return (*below, SpiderCast(tasks, parameters.margin, parameters, view, exchange, seed, node))


def _random(parameters: RandomParameters, seed: int, node: NodeId, view: InterestView | None) -> tuple[Part, ...]:
    tasks = ((Rule.COUNT_SIMILAR, 0), (Rule.COUNT_RANDOM, parameters.links))
    exchange, below, view = _interests(parameters, seed, node, view)
    return (*below, SpiderCast(tasks, parameters.margin, parameters, view, exchange, seed, node))


def _stan(parameters: StanParameters, seed: int, node: NodeId, view: InterestView | None) -> tuple[Part, ...]:
    if parameters.membership == "oracle":
        return (Stan(parameters, seed, node),)
    membership = Cyclon(CyclonParameters(period_us=parameters.period_us), seed, node)
    prober = Prober(parameters, seed, node, membership)
    return (membership, prober, Stan(parameters, seed, node, prober))


def _unstructured(
    parameters: UnstructuredParameters, seed: int, node: NodeId, view: InterestView | None
) -> tuple[Part, ...]:
    return (Unstructured(parameters, node),)


# What may stand on an overlay that knows its neighbours' interests. Gossip asks for them itself, so it stands on any
# whose links both ends know.
_OVER_INTERESTS = ("flood", "tree", "gossip")

DISSEMINATIONS: Mapping[str, Dissemination] = {
    dissemination.name: dissemination
    for dissemination in (
        Dissemination("flood", NoParameters, lambda parameters, overlay, seed, node, held: Flood(overlay, node, held)),
        Dissemination("tree", NoParameters, lambda parameters, overlay, seed, node, held: Tree(overlay, node, held)),
        Dissemination(
            "gossip",
            GossipParameters,
            lambda parameters, overlay, seed, node, held: Gossip(parameters, seed, node, held),
            relays_without_topic=True,
        ),
    )
}

_SPIDERCAST_PAPER = "Chockler, Melamed, Tock, Vitenberg: SpiderCast (DEBS 2007)"

_ODA_PAPER = "Onus, Richa: Minimum maximum-degree publish-subscribe overlay network design (2011); low degree (2010)"

SYSTEMS: Mapping[str, System] = {
    system.name: system
    for system in (
        System(
            name="spidercast",
            summary="Covers each topic K times, greedily and at random; connects topics with few links.",
            paper=_SPIDERCAST_PAPER,
            parameters=SpiderCastParameters,
            parts=_spidercast,
            maintenance=MaintenanceDue(),
            second=MendDue(),
            second_cycles=lambda parameters: -(-parameters.mend_us // parameters.heartbeat_us),
            random_order=True,
            disseminations=_OVER_INTERESTS,
            cycle_us=lambda parameters: int(parameters.heartbeat_us),
            takes_view=lambda parameters: getattr(parameters, "membership", "oracle") == "oracle",
        ),
        System(
            name="similarity",
            summary="Links to the nodes most alike, and to random ones; a rival of SpiderCast.",
            paper=f"{_SPIDERCAST_PAPER}, 3.9.1",
            parameters=SimilarityParameters,
            parts=_similarity,
            maintenance=MaintenanceDue(),
            random_order=True,
            disseminations=_OVER_INTERESTS,
            cycle_us=lambda parameters: int(parameters.heartbeat_us),
            takes_view=lambda parameters: getattr(parameters, "membership", "oracle") == "oracle",
        ),
        System(
            name="random",
            summary="Links to random nodes, whatever they follow; a rival of SpiderCast.",
            paper=f"{_SPIDERCAST_PAPER}, 3.9.1",
            parameters=RandomParameters,
            parts=_random,
            maintenance=MaintenanceDue(),
            random_order=True,
            disseminations=_OVER_INTERESTS,
            cycle_us=lambda parameters: int(parameters.heartbeat_us),
            takes_view=lambda parameters: getattr(parameters, "membership", "oracle") == "oracle",
        ),
        System(
            name="stan",
            summary="A random view for each topic, aligned by weights so that topics share links; tells nobody what else.",
            paper="Matos, Nunes, Oliveira, Pereira: StAN (IPTPS 2010)",
            parameters=StanParameters,
            parts=_stan,
            maintenance=WalkDue(),
            disseminations=_OVER_INTERESTS,
            cycle_us=lambda parameters: int(parameters.period_us),
            takes_topic_peers=lambda parameters: bool(parameters.membership == "oracle"),
            keeps_views=True,
            discloses=False,
        ),
        System(
            name="ring-per-topic",
            summary="A ring through every topic's nodes, duplicate links merged; planned centrally.",
            paper=f"{_SPIDERCAST_PAPER}, 3.9.2",
            parameters=RingParameters,
        ),
        System(
            name="mesh-per-topic",
            summary="A random mesh in every topic, duplicate links merged: what gossipsub keeps; planned centrally.",
            paper="libp2p gossipsub v1.1 specification (D = 6)",
            parameters=MeshParameters,
        ),
        System(
            name="gm",
            summary="The link that joins components in most topics, again and again; fewest links; planned centrally.",
            paper="Chockler, Melamed, Tock, Vitenberg: Constructing scalable overlays for pub-sub with many topics (PODC 2007)",
            parameters=GmParameters,
        ),
        System(
            name="lowoda",
            summary="As gm, but a link must be rho times better to raise the maximum degree; planned centrally.",
            paper=_ODA_PAPER,
            parameters=LowodaParameters,
        ),
        System(
            name="minmaxoda",
            summary="As gm, among links that raise the maximum degree least; planned centrally.",
            paper=_ODA_PAPER,
            parameters=MinmaxodaParameters,
        ),
        System(
            name="unstructured",
            summary="Random links by a degree law (Poisson, regular, scale-free, given); blind to interests.",
            paper="Ferretti: Publish-subscribe systems via gossip: a study based on complex networks (2011)",
            parameters=UnstructuredParameters,
            parts=_unstructured,
            disseminations=("gossip",),
            cycle_us=lambda parameters: SECOND_US,
        ),
        System(
            name="cyclon",
            summary="Random views by shuffling; blind to interests. The membership below other systems.",
            paper="Voulgaris, Gavidia, van Steen: CYCLON (2005)",
            parameters=CyclonParameters,
            parts=_cyclon,
            maintenance=ShuffleDue(),
            random_order=False,
            cycle_us=lambda parameters: int(parameters.period_us),
        ),
    )
}


def find_system(name: str) -> System:
    """The system of this name, or an error that lists those there are."""
    if name not in SYSTEMS:
        raise InputError(f"there is no system {name!r}; there are: {', '.join(sorted(SYSTEMS))}{_hint(name, SYSTEMS)}")
    return SYSTEMS[name]


def read_parameters(system: System | Dissemination | RecoveryLayer, settings: Mapping[str, object]) -> Any:
    """Parameters from settings whose values may still be text; the rest are defaults."""
    known = {field.name: field for field in msgspec.structs.fields(system.parameters)}
    for name in settings:
        if name not in known:
            raise InputError(
                f"{system.name} has no parameter {name!r}; it has: {', '.join(known) or 'none'}{_hint(name, known)}"
            )
    for name, value in settings.items():
        try:
            msgspec.convert(value, known[name].type, strict=False)
        except msgspec.ValidationError as error:
            raise InputError(f"{system.name}: {name} is {value!r}: {error}") from None
    parameters = msgspec.convert(dict(settings), system.parameters, strict=False)
    problem = getattr(parameters, "problem", lambda: None)()
    if problem:
        raise InputError(f"{system.name}: {problem}")
    return parameters


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
    """A node's machine: the system's parts, the dissemination above them, and recovery on top where it has settings."""
    if system.parts is None:
        raise InputError(f"{system.name} is planned centrally: it can be built, and has no node to run or simulate")
    parts = system.parts(parameters, seed, node, view)
    if dissemination is None:
        return NodeMachine(parts)
    overlay: Any = parts[-1]
    carried = check_dissemination(system, dissemination, settings)
    make = DISSEMINATIONS[dissemination].part
    if recovery is None:
        return NodeMachine(
            (*parts, make(carried, overlay, seed, node, DeliveryState(node, discloses=system.discloses)))
        )
    kept = check_recovery(system, dissemination, recovery)
    history = History(kept.history, kept.history_bytes)
    held = DeliveryState(node, history=history, recovers=True, discloses=system.discloses)
    return NodeMachine((*parts, make(carried, overlay, seed, node, held), Recovery(kept, overlay, held, node)))


def check_recovery(system: System, dissemination: str | None, settings: Mapping[str, object]) -> RecoveryParameters:
    """The parameters of recovery, refused where it cannot stand."""
    if dissemination is None:
        raise InputError("recovery stands above a dissemination; give one too")
    if not system.recovers:
        raise InputError(f"{system.name} has no recovery: its overlay does not know which neighbours hold a topic")
    parameters: RecoveryParameters = read_parameters(RECOVERY, settings)
    return parameters


def check_dissemination(system: System, dissemination: str, settings: Mapping[str, object] | None = None) -> Any:
    """The parameters of a dissemination, refused where this system cannot carry it."""
    if dissemination not in system.disseminations:
        known = ", ".join(system.disseminations) or "none yet"
        raise InputError(f"{system.name} carries no dissemination {dissemination!r}; it carries: {known}")
    return read_parameters(DISSEMINATIONS[dissemination], settings or {})


def _hint(name: str, known: Mapping[str, object]) -> str:
    close = get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]}?" if close else ""
