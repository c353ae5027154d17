"""Feverfew: every subscription is covered by ln n neighbours that share it, found by gossip and by searches.

Paper: Ma, Wang, Sun: Feverfew: a scalable coverage-based hybrid overlay for Internet-scale pub/sub networks (Science
China Information Sciences 57, 2014).

Idea: a random graph of n nodes is connected when its nodes have about ln n neighbours. Each node therefore keeps, for each
topic, ln n neighbours that hold it, and prefers neighbours that share many topics. Gossip finds similar nodes
(GossipSample), and searches through other nodes find the subscribers of rare topics (BubbleSample).

Departures from the paper are marked `Differs:` where they are made; docs/papers.md lists them. Start with `machine.py`.
"""

from gossamer.model.values.ids import NodeId
from gossamer.protocols.contract.parts import InterestView, Part
from gossamer.protocols.contract.system import Knows, LiveStart, LockstepTimer, NoParameters, StudyEntry, System
from gossamer.protocols.membership import REJOIN_US
from gossamer.protocols.membership.cyclon import Cyclon, CyclonParameters
from gossamer.protocols.membership.cyclon_messages import ShuffleDue
from gossamer.protocols.membership.interest_exchange import InterestExchange
from gossamer.protocols.membership.interest_table import InterestTable
from gossamer.systems.feverfew.estimates import SizeEstimates
from gossamer.systems.feverfew.machine import Feverfew
from gossamer.systems.feverfew.messages import CoverDue, ExchangeDue
from gossamer.systems.feverfew.parameters import FeverfewParameters


def _parts(parameters: FeverfewParameters, seed: int, node: NodeId, view: InterestView | None) -> tuple[Part, ...]:
    exchange = InterestExchange()
    membership = CyclonParameters(
        period_us=parameters.period_us,
        view_size=parameters.view_size,
        shuffle_length=parameters.shuffle_length,
        rejoin_us=0 if view is not None else REJOIN_US,
    )
    if view is not None:
        cyclon = Cyclon(membership, seed, node)
        return (exchange, cyclon, Feverfew(parameters, seed, node, cyclon, exchange, view))
    cyclon, table = Cyclon(membership, seed, node, exchange), InterestTable(node, exchange)
    estimates = SizeEstimates(table, seed, node)
    return (exchange, cyclon, table, Feverfew(parameters, seed, node, cyclon, exchange, table, estimates))


def _cycle_us(parameters: FeverfewParameters) -> int:
    return parameters.period_us


def _takes_view(parameters: FeverfewParameters) -> bool:
    return parameters.membership == "oracle"


def _contact_count(parameters: FeverfewParameters) -> int:
    return parameters.view_size


_HERE = "gossamer.systems.feverfew"
# Chosen: live nodes keep similar nodes until they are old, search after five seconds, exchange sixteen entries, and check
# for disconnected topics every two seconds. A busy node has eight seconds to answer and is suspected after ten; these can
# be long because the transport tells at once when a process has died. At most 4,096 agents take part in a search, whatever
# sizes other nodes claim.
_LIVE = {
    "clear_cycles": 0,
    "bubble_cycles": 5,
    "exchange_size": 16,
    "keep_cover": True,
    "answer_cycles": 8,
    "suspect_after": 10,
    "links_max": 500,
    "matches_max": 400,
    "mend_cycles": 2,
    "ttl_max": 12,
}

SYSTEMS: tuple[System, ...] = (
    System(
        name="feverfew",
        summary="Covers each topic of n nodes ln n times with similar nodes; searches for the holders of rare topics.",
        paper="Ma, Wang, Sun: Feverfew (Sci. China Inf. Sci. 57, 2014)",
        parameters=FeverfewParameters,
        parts=_parts,
        knows=Knows.TOPICS,
        keep_alive_kinds=("Pulse",),
        timers=(LockstepTimer(ShuffleDue()), LockstepTimer(ExchangeDue()), LockstepTimer(CoverDue())),
        cycle_us=_cycle_us,
        takes_view=_takes_view,
        contact_count=_contact_count,
        population=f"{_HERE}.population:feverfew_population",
        warm_up=f"{_HERE}.warm:warm_up",
        exhibits=f"{_HERE}.exhibits:EXHIBITS",
        experiments=f"{_HERE}.experiments",
        theory_checks=f"{_HERE}.check",
        live=(LiveStart("feverfew", "feverfew", {"membership": "cyclon", **_LIVE}),),
        # Paper: 30 cycles of GossipSample. Chosen: 26 cycles of BubbleSample after it. Links never stop changing.
        study=(StudyEntry(cycle_limit=56),),
        # Paper: messages spread by push and pull. Chosen: cycles of ten seconds, which take a tenth of the time to
        # simulate, and searches after three of them.
        churn_study=(
            StudyEntry({"period_us": 10_000_000, "bubble_cycles": 3}, "feverfew, 10 s cycles", ("push-pull",)),
        ),
        live_study=(StudyEntry({"membership": "cyclon"}, cycle_limit=56),),
    ),
    System(
        name="feverfew-global",
        summary="As feverfew, but every node knows all interests; planned centrally.",
        paper="Ma, Wang, Sun: Feverfew (Sci. China Inf. Sci. 57, 2014), 4.2",
        parameters=NoParameters,
        planner=f"{_HERE}.planner:plan_global",
        study=(StudyEntry(),),
    ),
)
