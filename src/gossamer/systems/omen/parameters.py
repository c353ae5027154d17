"""The parameters of OMen, and of OMen with a global view."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from gossamer.model.values.time import PERIOD_US_MAX, SECOND_US

TURNS_MAX = 1_000_000


class OmenGParameters(Struct, frozen=True, kw_only=True):
    """Sections and algorithms are those of Chen, Vitenberg, Jacobsen (2016)."""

    coverage: Annotated[
        int, Meta(ge=1, le=200, description="Paper: 5 (4.2). Disjoint covers in a backup set (lambda); 0 is taken as 1")
    ] = 5
    backups: Annotated[
        Literal["primal-dual", "greedy"],
        Meta(description="Paper: primal-dual (6.3). How a backup set is chosen"),
    ] = "primal-dual"
    counted: Annotated[
        Literal["terminals", "inside"],
        Meta(
            description="Chosen: terminals. Links that count in a repair: those with an end in the shadow set, joining the "
            "neighbours of the departed node; or those inside it, joining all, as printed (4.1)"
        ),
    ] = "terminals"
    linked: Annotated[
        Literal["seen", "shadow"],
        Meta(
            description="Chosen: seen; shadow in the paper (4.1). Nodes that a repair after a departure may link: all that it "
            "sees, which are neighbours of shadow nodes too; or the shadow set"
        ),
    ] = "seen"
    rho: Annotated[
        float,
        Meta(ge=1, description="Chosen: 3. How many times better a link must be to raise the maximum degree"),
    ] = 3.0
    drops: Annotated[
        bool,
        Meta(
            description="Chosen: true. Whether a repair also drops links whose ends have common neighbours on all their topics"
        ),
    ] = True


class OmenParameters(OmenGParameters, frozen=True, kw_only=True):
    """The same, and what a node of a network needs."""

    resilience: Annotated[
        int,
        Meta(
            ge=1,
            le=16,
            description="Chosen: 2; the paper's experiments have 1. Churn events at a time that are survived (L)",
        ),
    ] = 2
    choices: Annotated[
        int,
        Meta(
            ge=1, le=16, description="Chosen: 2. Random holders of a topic of which the least loaded becomes a backup"
        ),
    ] = 2
    period_us: Annotated[
        int, Meta(ge=3, le=PERIOD_US_MAX, description="Chosen: 1 s, as the other systems. Microseconds between turns")
    ] = SECOND_US
    suspect_after: Annotated[
        int, Meta(ge=1, le=1_000, description="Chosen: 5. Silent turns after which a node is taken for dead")
    ] = 5
    deadline_turns: Annotated[
        int,
        Meta(ge=0, le=TURNS_MAX, description="Chosen: 3. Turns after which an event is repaired with what is known"),
    ] = 3
    standby_turns: Annotated[
        int,
        Meta(ge=1, le=TURNS_MAX, description="Chosen: 8. Turns that a watcher leaves an event to the one before it"),
    ] = 8
    first_turns: Annotated[
        int,
        Meta(
            ge=0,
            le=TURNS_MAX,
            description="Chosen: 0. Turns after its start in which a node waits for the links of a plan before it asks for "
            "others",
        ),
    ] = 0
    asks: Annotated[
        int, Meta(ge=1, le=1_000, description="Chosen: 8. Shadow nodes that are asked for their links in a turn")
    ] = 8
    mend_us: Annotated[
        int,
        Meta(
            ge=0,
            le=PERIOD_US_MAX,
            description="Chosen: 1 s; 0 in the paper (never). Microseconds between checks for disconnected topics, which are "
            "bridged",
        ),
    ] = SECOND_US
    links_max: Annotated[
        int, Meta(ge=0, le=TURNS_MAX, description="Paper: 0 (no bound). Links with which a node accepts further ones")
    ] = 0
    start: Annotated[
        Literal["plan", "joins"],
        Meta(description="Paper: plan, of LowODA (6.5). The links of nodes that start together, or none"),
    ] = "plan"
    membership: Annotated[
        Literal["oracle", "cyclon"],
        Meta(description="Chosen: oracle. How a node knows others' topics: from the simulation, or from Cyclon"),
    ] = "oracle"

    def problem(self) -> str | None:
        """An error in the combination of parameters, or None."""
        if self.coverage <= self.resilience:
            return (
                f"coverage (lambda) must exceed resilience (L), so that a backup set outlives {self.resilience} events, "
                f"got {self.coverage}"
            )
        return None
