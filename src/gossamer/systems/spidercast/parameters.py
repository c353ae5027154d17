"""SpiderCast's parameters, and those of its rivals `similarity` and `random`.

Chockler, Melamed, Tock, Vitenberg: SpiderCast, a scalable interest-aware overlay for topic-based pub/sub
communication (DEBS 2007). Sections and figures named here are that paper's.
"""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct
from msgspec.structs import fields, force_setattr

from gossamer.model.values.time import MILLISECOND_US, PERIOD_US_MAX, SECOND_US

Membership = Annotated[
    Literal["oracle", "cyclon"],
    Meta(description="Chosen: oracle (simulation). cyclon: a table filled by Cyclon with interests, as in live nodes"),
]


class Timing(Struct, frozen=True, kw_only=True):
    """Periods and timeouts. The paper publishes none of them; its 2 s rule (3.8) implies short periods."""

    period_us: Annotated[
        int,
        Meta(
            ge=1,
            le=PERIOD_US_MAX,
            description="Chosen: 100 ms. Microseconds between maintenance turns of a busy node; a node at rest has none",
        ),
    ] = 100 * MILLISECOND_US
    heartbeat_us: Annotated[
        int,
        Meta(
            ge=1,
            le=PERIOD_US_MAX,
            description="Chosen: 1 s. Microseconds between heartbeats; also the length of a cycle in lockstep",
        ),
    ] = SECOND_US
    suspect_after: Annotated[
        int,
        Meta(ge=1, description="Chosen: 3. Heartbeat periods of silence after which a neighbour is removed as dead"),
    ] = 3
    keep_alive_us: Annotated[
        int,
        Meta(
            ge=0,
            le=PERIOD_US_MAX,
            description=(
                "Chosen: 0, a heartbeat to every neighbour in every period. Otherwise only to neighbours that this node"
                " sent nothing for so many microseconds"
            ),
        ),
    ] = 0
    connect_timeout_us: Annotated[
        int,
        Meta(
            ge=1,
            le=PERIOD_US_MAX,
            description="Chosen: 500 ms, several round trips. Microseconds to wait for the answer to a CONNECT",
        ),
    ] = 500 * MILLISECOND_US
    quarantine_us: Annotated[
        int,
        Meta(
            ge=1,
            le=PERIOD_US_MAX,
            description="Chosen: 5 s. Microseconds until a peer that was asked may be asked again",
        ),
    ] = 5 * SECOND_US


# The paper's protocol as it is written: what `paper=true` sets, for the parameters that a system has.
AS_WRITTEN: dict[str, Any] = {
    "ask_again": "always",
    "wakes": "always",
    "redirects": 1000,
    "drop_when_stuck": False,
    "mend_us": 0,
}


class Departures(Timing, frozen=True, kw_only=True):
    """Where this implementation differs from the paper, and where the paper can be read in two ways (docs/papers.md)."""

    paper: Annotated[
        bool,
        Meta(
            description="Chosen: false. true: the paper's protocol: ask_again=always, wakes=always, redirects=1000, "
            "drop_when_stuck=false, mend_us=0, unless they are set to another value than their default"
        ),
    ] = False
    ask_again: Annotated[
        Literal["changed", "always", "once"],
        Meta(
            description="Differs: changed. A neighbour that refused a DISCONNECT is asked again when its degree or target "
            "has changed. always: in every turn, as in the paper. once: never again (studies/spidercast.py)"
        ),
    ] = "changed"
    wakes: Annotated[
        Literal["change", "always", "loss"],
        Meta(
            description="Differs: change. A covered node has no timer; whatever can change its next turn sets one. always: "
            "a turn in every period, as in the paper; in lockstep both are the same. loss: a covered task does nothing "
            "until Figure 4, line 37 wakes it (studies/spidercast.py)"
        ),
    ] = "change"
    redirects: Annotated[
        int,
        Meta(
            ge=1,
            le=1000,
            description="Differs: 1. Redirect candidates that a task keeps; the paper keeps a set. In lockstep there are "
            "never two",
        ),
    ] = 1
    parts_above: Annotated[
        Literal["target", "degree"],
        Meta(
            description="Paper: target, as in the text (2.3.1): a neighbour with degree >= target may be asked to part. "
            "degree: Figure 3, line 9 as printed, degree > target"
        ),
    ] = "target"
    agrees_above: Annotated[
        Literal["L_max", "L"],
        Meta(
            description="Paper: L_max, as in the text (2.3.1): a node with more neighbours agrees to every DISCONNECT. L: "
            "Figure 4, line 23 as printed"
        ),
    ] = "L_max"
    random_parts: Annotated[
        Literal["redundant", "above"],
        Meta(
            description="Paper: redundant: the random task disconnects as the greedy task does. above: only above L_max "
            "(studies/spidercast.py)"
        ),
    ] = "redundant"

    def __post_init__(self) -> None:
        """Set what `paper` stands for, where nothing else was asked for."""
        if self.paper:
            for each in fields(self):
                if each.name in AS_WRITTEN and getattr(self, each.name) == each.default:
                    force_setattr(self, each.name, AS_WRITTEN[each.name])


class SpiderCastParameters(Departures, frozen=True, kw_only=True):
    """Paper: K_g = 3, K_r = 0, Margin = 5 (2.3, 3.3)."""

    greedy_coverage: Annotated[
        int, Meta(ge=0, le=50, description="Paper: 3 (K_g). Neighbours wanted for each topic, chosen greedily")
    ] = 3
    random_coverage: Annotated[
        int, Meta(ge=0, le=50, description="Paper: 0 (K_r). Neighbours wanted for each topic, chosen at random")
    ] = 0
    adaptive: Annotated[
        bool, Meta(description="Paper: 3.3.1, off by default here. Raise K_r where interests are very similar")
    ] = False
    margin: Annotated[int, Meta(ge=0, le=1000, description="Paper: 5. Links accepted beyond L_max")] = 5
    view: Annotated[
        float,
        Meta(
            gt=0, le=1, description="Paper: 1 (full), 0.05 suffices (3.7). Share of nodes whose interests a node knows"
        ),
    ] = 1.0
    membership: Membership = "oracle"
    ties: Annotated[
        Literal["random", "near", "scan"],
        Meta(
            description="Paper: random; near: shortest round trip first (section 5). scan: by id, a coin at each tie; "
            "biased, only for the exhibit of Figure 6"
        ),
    ] = "random"
    coin: Annotated[
        float,
        Meta(gt=0, le=1, description="Chosen: 0.5. With ties=scan: the probability that a later candidate wins a tie"),
    ] = 0.5
    mend_us: Annotated[
        int,
        Meta(
            ge=0,
            le=PERIOD_US_MAX,
            description="Differs: 15 s. Microseconds between checks for disconnected topics, which get a bridge; 0: never, as in the paper",
        ),
    ] = 15 * SECOND_US
    drop_when_stuck: Annotated[
        bool,
        Meta(
            description="Differs: true. A node at L_max that is under-covered may drop a redundant neighbour; false: it is "
            "stuck, as in the paper"
        ),
    ] = True
    part_uncovered: Annotated[
        bool,
        Meta(
            description="Chosen: false, as in the paper; true in live nodes. A node that cannot cover a topic still "
            "disconnects from redundant neighbours (event engine only)"
        ),
    ] = False

    def problem(self) -> str | None:
        """An error in the combination of parameters, or None."""
        if self.greedy_coverage == 0 and self.random_coverage == 0:
            return "greedy_coverage and random_coverage must not both be 0: no node would ever connect"
        return None


class SimilarityParameters(Departures, frozen=True, kw_only=True):
    """similarity(x, y) of section 3.9.1: x links to the most similar nodes and y links to random nodes."""

    similar: Annotated[
        int, Meta(ge=0, le=1000, description="Paper: 10 (x). Links to the nodes with the most similar interests")
    ] = 10
    random: Annotated[int, Meta(ge=0, le=1000, description="Paper: 0 (y). Links to random nodes")] = 0
    margin: Annotated[int, Meta(ge=0, le=1000, description="Paper: 5. Links accepted beyond x or y")] = 5
    view: Annotated[
        float, Meta(gt=0, le=1, description="Paper: 1 (full). Share of nodes whose interests a node knows")
    ] = 1.0
    membership: Membership = "oracle"

    def problem(self) -> str | None:
        """An error in the combination of parameters, or None."""
        return "similar and random must not both be 0" if self.similar == 0 and self.random == 0 else None


class RandomParameters(Departures, frozen=True, kw_only=True):
    """random(y) of section 3.9.1: y links to random nodes."""

    links: Annotated[int, Meta(ge=1, le=1000, description="Paper: 10 (y). Links to random nodes")] = 10
    margin: Annotated[int, Meta(ge=0, le=1000, description="Paper: 5. Links accepted beyond y")] = 5
    view: Annotated[float, Meta(gt=0, le=1, description="Paper: 1 (full). Share of nodes that a node knows")] = 1.0
    membership: Membership = "oracle"
