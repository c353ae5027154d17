"""Feverfew's parameters."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from gossamer.model.values.time import PERIOD_US_MAX, SECOND_US

CYCLES_MAX = 1_000_000


class FeverfewParameters(Struct, frozen=True, kw_only=True):
    """Sections, algorithms and theorems are those of Ma, Wang, Sun (2014)."""

    period_us: Annotated[
        int, Meta(ge=3, le=PERIOD_US_MAX, description="Chosen: 1 s, as the other systems. Microseconds in a cycle")
    ] = SECOND_US
    view_size: Annotated[int, Meta(ge=1, le=250, description="Paper: 20 (4). Entries in the random view")] = 20
    shuffle_length: Annotated[int, Meta(ge=1, le=250, description="Paper: 10 (4). Entries of a Cyclon shuffle")] = 10
    similar_size: Annotated[int, Meta(ge=1, le=250, description="Paper: 40 (4). Entries in the similar view")] = 40
    exchange_size: Annotated[
        int,
        Meta(
            ge=0,
            le=500,
            description="Paper: 0, all entries of both views. Entries in an exchange; else those that suit the peer best",
        ),
    ] = 0
    agent_size: Annotated[
        int, Meta(ge=0, le=1_000, description="Paper: 40 (4). Searches that a node takes part in, as an agent")
    ] = 40
    utility: Annotated[
        Literal["count", "jaccard"],
        Meta(description="Chosen: count. The paper's equation (2) is jaccard, which gives twice the links"),
    ] = "count"
    coverage: Annotated[
        int,
        Meta(ge=0, le=1_000, description="Paper: 0, ln n for a topic of n nodes. Else the neighbours for each topic"),
    ] = 0
    random_coverage: Annotated[
        int, Meta(ge=0, le=1_000, description="Paper: 0. Further neighbours for each topic, chosen at random")
    ] = 0
    cover_cycles: Annotated[
        int, Meta(ge=1, le=CYCLES_MAX, description="Paper: 1 (4.1.1). Cycles between covers (delta of Algorithm 1)")
    ] = 1
    clear_cycles: Annotated[
        int,
        Meta(
            ge=0,
            le=CYCLES_MAX,
            description="Chosen: 5, which fits Figure 5. Cycles until the similar view is cleared; 0: never",
        ),
    ] = 5
    age_max: Annotated[
        int, Meta(ge=1, le=250, description="Chosen: 30. Cycles until an entry of the similar view is dropped")
    ] = 30
    bubble_cycles: Annotated[
        int,
        Meta(
            ge=-1,
            le=CYCLES_MAX,
            description="Paper: 30 (4.1.1). Cycles that a subscription waits before it searches; -1: it never does",
        ),
    ] = 30
    agents_meet: Annotated[
        bool,
        Meta(
            description="Chosen: true. Agents compare searches also with exchanged nodes and with each other, and keep the "
            "nearest topics"
        ),
    ] = True
    linger_cycles: Annotated[
        int, Meta(ge=0, le=CYCLES_MAX, description="Chosen: 10. Cycles that an agent keeps a search without hops left")
    ] = 10
    retry_cycles: Annotated[
        int, Meta(ge=0, le=CYCLES_MAX, description="Chosen: 8. Least cycles between two searches of a subscription")
    ] = 8
    searches: Annotated[
        int, Meta(ge=0, le=CYCLES_MAX, description="Chosen: 10. Searches that a node starts in a cycle")
    ] = 10
    ttl_max: Annotated[
        int, Meta(ge=0, le=30, description="Chosen: 30 (no bound). Most hops of a search; else those of Theorem 2")
    ] = 30
    keep_cover: Annotated[
        bool,
        Meta(
            description="Paper: false. A cover stays until a clearly smaller one is found; live nodes do so, as every new "
            "link costs a connection"
        ),
    ] = False
    answer_cycles: Annotated[
        int,
        Meta(
            ge=1, le=1_000, description="Chosen: 1. Cycles that a node waits for an answer before it ignores the other"
        ),
    ] = 1
    links_max: Annotated[
        int, Meta(ge=0, le=CYCLES_MAX, description="Paper: 0 (no bound). Links with which a node accepts further ones")
    ] = 0
    matches_max: Annotated[
        int, Meta(ge=0, le=CYCLES_MAX, description="Paper: 0 (no bound). Matches that an agent sends in a cycle")
    ] = 0
    mend_cycles: Annotated[
        int,
        Meta(
            ge=0,
            le=CYCLES_MAX,
            description="Paper: 0 (never). Cycles between checks for disconnected topics, which are bridged",
        ),
    ] = 0
    suspect_after: Annotated[
        int, Meta(ge=1, le=1_000, description="Chosen: 5. Periods of silence after which a neighbour is taken for dead")
    ] = 5
    membership: Annotated[
        Literal["oracle", "cyclon"],
        Meta(
            description="Chosen: oracle. How a node knows others' topics and sizes: from the simulation, or from Cyclon"
        ),
    ] = "oracle"

    def problem(self) -> str | None:
        """An error in the combination of parameters, or None."""
        if self.shuffle_length > self.view_size:
            return f"shuffle_length must be at most view_size ({self.view_size}), got {self.shuffle_length}"
        return None
