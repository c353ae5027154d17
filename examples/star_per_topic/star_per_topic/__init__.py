"""A star for each topic: an example of a system outside Gossamer's repository.

Idea: in each topic every node links to the holder with the lowest id that it knows, the hub. Paths are short, and the
hub of a popular topic has many links.
"""

from gossamer import plugin
from star_per_topic.machine import Star, StarParameters, TurnDue


def _parts(
    parameters: StarParameters, seed: int, node: int, view: plugin.InterestView | None
) -> tuple[plugin.Part, ...]:
    _, below, known = plugin.interest_parts(parameters.period_us, seed, node, view)
    return (*below, Star(parameters, known, seed, node))


SYSTEMS = (
    plugin.System(
        name="star-per-topic",
        summary="Links every node to the lowest id that holds the topic.",
        paper="None; an example.",
        parameters=StarParameters,
        parts=_parts,
        knows=plugin.Knows.TOPICS,
        timers=(plugin.LockstepTimer(TurnDue()),),
        cycle_us=lambda parameters: parameters.period_us,
        takes_view=lambda parameters: parameters.membership == "oracle",
        contact_count=lambda parameters: 20 if parameters.membership == "cyclon" else 0,
        population="star_per_topic.population:StarPopulation",
        warm_up="star_per_topic.population:warm_up",
        exhibits="star_per_topic.exhibit:EXHIBITS",
        live=(plugin.LiveStart("star-per-topic", "star-per-topic", {"membership": "cyclon"}),),
        study=(plugin.StudyEntry(),),
    ),
)
