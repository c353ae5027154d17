"""SpiderCast: topic-connected overlays by greedy and random coverage, with its rivals similarity and random.

Paper: Chockler, Melamed, Tock, Vitenberg: SpiderCast: a scalable interest-aware overlay for topic-based pub/sub
communication (DEBS 2007).

Idea: each node covers each of its topics K times, by neighbours chosen greedily (those that cover the most uncovered
topics) and by random ones. A link that covers many topics serves all of them, so few links connect every topic.

Departures from the paper are marked `Differs:` where they are made; docs/papers.md lists them. Start with `machine.py`.
The rivals (section 3.9.1) are the same machine and kernel with another rule for choosing neighbours.
"""

from gossamer.model.values.ids import NodeId
from gossamer.model.values.time import SECOND_US
from gossamer.protocols.contract.parts import InterestView, Part
from gossamer.protocols.contract.system import Knows, LiveStart, LockstepTimer, StudyEntry, System
from gossamer.protocols.membership import interest_parts
from gossamer.protocols.membership.cyclon import CyclonParameters
from gossamer.systems.spidercast.machine import SpiderCast
from gossamer.systems.spidercast.messages import MaintenanceDue, MendDue
from gossamer.systems.spidercast.parameters import RandomParameters, SimilarityParameters, SpiderCastParameters
from gossamer.systems.spidercast.task import Rule


def _spidercast(
    parameters: SpiderCastParameters, seed: int, node: NodeId, view: InterestView | None
) -> tuple[Part, ...]:
    tasks = (
        (Rule.COVER_GREEDILY, parameters.greedy_coverage),
        (Rule.COVER_AT_RANDOM, parameters.random_coverage),
    )
    exchange, below, view = interest_parts(parameters.heartbeat_us, seed, node, view)
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
        # Nodes with an oracle run in lockstep with the kernel.
        claims_again=parameters.membership == "cyclon",
    )
    return (*below, part)


def _similarity(
    parameters: SimilarityParameters, seed: int, node: NodeId, view: InterestView | None
) -> tuple[Part, ...]:
    tasks = ((Rule.COUNT_SIMILAR, parameters.similar), (Rule.COUNT_RANDOM, parameters.random))
    exchange, below, view = interest_parts(parameters.heartbeat_us, seed, node, view)
    return (*below, SpiderCast(tasks, parameters.margin, parameters, view, exchange, seed, node))


def _random(parameters: RandomParameters, seed: int, node: NodeId, view: InterestView | None) -> tuple[Part, ...]:
    tasks = ((Rule.COUNT_SIMILAR, 0), (Rule.COUNT_RANDOM, parameters.links))
    exchange, below, view = interest_parts(parameters.heartbeat_us, seed, node, view)
    return (*below, SpiderCast(tasks, parameters.margin, parameters, view, exchange, seed, node))


_Parameters = SpiderCastParameters | SimilarityParameters | RandomParameters


def _cycle_us(parameters: _Parameters) -> int:
    return parameters.heartbeat_us


def _takes_view(parameters: _Parameters) -> bool:
    return parameters.membership == "oracle"


def _contact_count(parameters: _Parameters) -> int:
    """First contacts for Cyclon, if the stack has it."""
    return CyclonParameters().view_size if parameters.membership == "cyclon" else 0


_PAPER = "Chockler, Melamed, Tock, Vitenberg: SpiderCast (DEBS 2007)"
_HERE = "gossamer.systems.spidercast"
_MAINTENANCE = LockstepTimer(MaintenanceDue())
_MEND = LockstepTimer(MendDue(), lambda parameters: -(-parameters.mend_us // parameters.heartbeat_us))
# Chosen: live nodes check for disconnected topics twice a second. After nine checks without a change a node builds a
# bridge, so a disconnected topic is connected again within about five seconds. A check of an unchanged overlay sends no
# messages.
_MEND_LIVE_US = SECOND_US // 2
# Chosen: a live link that carries nothing else carries a heartbeat within four seconds, and a host that falls silent counts as
# dead within six. A process that ends is noticed at once.
_LIVE = {"membership": "cyclon", "mend_us": _MEND_LIVE_US, "keep_alive_us": 7 * SECOND_US // 2, "suspect_after": 6}

SYSTEMS: tuple[System, ...] = (
    System(
        name="spidercast",
        summary="Covers each topic K times, greedily and at random; connects topics with few links.",
        paper=_PAPER,
        parameters=SpiderCastParameters,
        parts=_spidercast,
        knows=Knows.TOPICS,
        keep_alive_kinds=("Heartbeat",),
        timers=(_MAINTENANCE, _MEND),
        random_order=True,
        cycle_us=_cycle_us,
        takes_view=_takes_view,
        view_share=lambda parameters: float(parameters.view),
        contact_count=_contact_count,
        population=f"{_HERE}.population:spidercast_population",
        warm_up=f"{_HERE}.warm:warm_up",
        exhibits=f"{_HERE}.exhibits:EXHIBITS",
        live=(
            LiveStart(
                "spidercast",
                "spidercast",
                {**_LIVE, "part_uncovered": True},
            ),
            # The links of the plan connect every topic and stay. Random coverage 1 adds a link for a topic that lost
            # its links.
            LiveStart(
                "planned",
                "spidercast",
                {**_LIVE, "greedy_coverage": 0, "random_coverage": 1},
                takes_plan=True,
            ),
        ),
        study=(StudyEntry(), StudyEntry({"view": 0.05}, "spidercast, 5% views")),
        churn_study=(StudyEntry(),),
        live_study=(StudyEntry({"membership": "cyclon"}),),
    ),
    System(
        name="similarity",
        summary="Links to the nodes with the most similar interests, and to random ones; a rival of SpiderCast.",
        paper=f"{_PAPER}, 3.9.1",
        parameters=SimilarityParameters,
        parts=_similarity,
        connects_topics=False,
        knows=Knows.TOPICS,
        keep_alive_kinds=("Heartbeat",),
        timers=(_MAINTENANCE,),
        random_order=True,
        cycle_us=_cycle_us,
        takes_view=_takes_view,
        view_share=lambda parameters: float(parameters.view),
        contact_count=_contact_count,
        population=f"{_HERE}.population:similarity_population",
        study=(StudyEntry(),),
    ),
    System(
        name="random",
        summary="Links to random nodes, whatever they follow; a rival of SpiderCast.",
        paper=f"{_PAPER}, 3.9.1",
        parameters=RandomParameters,
        parts=_random,
        connects_topics=False,
        knows=Knows.TOPICS,
        keep_alive_kinds=("Heartbeat",),
        timers=(_MAINTENANCE,),
        random_order=True,
        cycle_us=_cycle_us,
        takes_view=_takes_view,
        view_share=lambda parameters: float(parameters.view),
        contact_count=_contact_count,
        population=f"{_HERE}.population:random_population",
        study=(StudyEntry(),),
    ),
)
