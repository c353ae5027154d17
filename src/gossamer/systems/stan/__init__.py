"""StAN: one random view for each topic, aligned by weights so that topics share links; interests are not disclosed.

Paper: Matos, Nunes, Oliveira, Pereira: StAN: exploiting shared interests without disclosing them in gossip-based
publish/subscribe (IPTPS 2010).

Idea: every topic has its own gossip overlay. Nodes prefer peers with a small weight, a keyed hash that is the same in
every topic. Two nodes with common topics therefore tend to share one link for all of them, without disclosing which
topics they hold.

Departures from the paper are marked `Differs:` where they are made; docs/papers.md lists them. Start with `machine.py`.
All draws of a topic use a seed of that topic, so topics do not depend on each other, and the kernel can run a cycle
topic by topic.
"""

from gossamer.model.values.ids import NodeId
from gossamer.protocols.contract.parts import InterestView, Part
from gossamer.protocols.contract.system import Knows, LiveStart, LockstepTimer, StudyEntry, System
from gossamer.protocols.membership.cyclon import Cyclon, CyclonParameters
from gossamer.systems.stan.machine import Stan
from gossamer.systems.stan.messages import WalkDue
from gossamer.systems.stan.parameters import StanParameters
from gossamer.systems.stan.probe import Prober


def _parts(parameters: StanParameters, seed: int, node: NodeId, view: InterestView | None) -> tuple[Part, ...]:
    if parameters.membership == "oracle":
        return (Stan(parameters, seed, node),)
    membership = Cyclon(CyclonParameters(period_us=parameters.period_us), seed, node)
    prober = Prober(parameters, seed, node, membership)
    return (membership, prober, Stan(parameters, seed, node, prober))


def _cycle_us(parameters: StanParameters) -> int:
    return parameters.period_us


def _takes_first_peers(parameters: StanParameters) -> bool:
    return parameters.membership == "oracle"


def _contact_count(parameters: StanParameters) -> int:
    """First contacts for Cyclon, if the stack has it."""
    return CyclonParameters().view_size if parameters.membership == "cyclon" else 0


_HERE = "gossamer.systems.stan"

SYSTEMS: tuple[System, ...] = (
    System(
        name="stan",
        summary="A random view for each topic, aligned by weights so that topics share links; discloses no interests.",
        paper="Matos, Nunes, Oliveira, Pereira: StAN (IPTPS 2010)",
        parameters=StanParameters,
        parts=_parts,
        knows=Knows.TOPICS,
        discloses=False,
        keeps_views=True,
        timers=(LockstepTimer(WalkDue()),),
        cycle_us=_cycle_us,
        contact_count=_contact_count,
        takes_first_peers=_takes_first_peers,
        first_peers=f"{_HERE}.first_views:FirstViews",
        population=f"{_HERE}.population:stan_population",
        warm_up=f"{_HERE}.warm:warm_up",
        exhibits=f"{_HERE}.exhibits:EXHIBITS",
        live=(LiveStart("stan", "stan", {"membership": "cyclon"}),),
        # The default study runs StAN without churn only: its walks in every topic each second take minutes for each
        # churn run.
        study=(StudyEntry(),),
        live_study=(StudyEntry({"membership": "cyclon"}),),
    ),
)
