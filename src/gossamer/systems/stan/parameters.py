"""StAN's parameters, and the bounds on what a node keeps and accepts."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from gossamer.model.values.time import PERIOD_US_MAX, SECOND_US

# Chosen: 1, the smallest view size. A higher minimum makes mean views grow slowly under churn, because views at the minimum
# cannot shrink while others grow.
VIEW_MIN = 1
# Chosen: 4, the smallest view size where probes find the first peers. Nodes that start at the same time find each other in
# pairs, and each is then in only one or two views: with a minimum of 1, 300 nodes had 2 peers a topic instead of 5.
VIEW_MIN_PROBED = 4
# Chosen: 256, the largest view size, whatever peers send; a topic of a million nodes needs about 14.
VIEW_MAX = 256
# Chosen: 1,024 nodes for each topic that say they have this node in their views; the oldest are forgotten.
HOLDERS_MAX = 1_024
# Chosen: 15, the most hops of a walk.
WALK_MAX = 15
# Chosen: 2,048, the most tags of a probe, 32 kB. A node with more topics leaves out some in turn.
TAGS_MAX = 2_048


class StanParameters(Struct, frozen=True, kw_only=True):
    """Paper: section 3 names TTL = 5 and views that grow with the logarithm of the topic."""

    walk_hops: Annotated[
        int, Meta(ge=0, le=WALK_MAX, description="Paper: 5. TTL of a walk, which visits one node more than that")
    ] = 5
    view_factor: Annotated[
        float,
        Meta(ge=0.1, le=10, description="Chosen: 1. Mean view size divided by the natural logarithm of the topic size"),
    ] = 1.0
    period_us: Annotated[
        int, Meta(ge=1, le=PERIOD_US_MAX, description="Chosen: 1 s. Microseconds between a node's walks")
    ] = SECOND_US
    weigh_sources: Annotated[
        bool,
        Meta(
            description="Chosen: true. Nodes that a walk visits also weigh its source; in the paper they only answer it"
        ),
    ] = True
    membership: Annotated[
        Literal["oracle", "cyclon"],
        Meta(
            description="Chosen: oracle: the driver names the first peers. cyclon: probes find them among the peers of Cyclon"
        ),
    ] = "oracle"
    probes: Annotated[
        int, Meta(ge=1, le=64, description="Chosen: 2. Probes in a turn, whatever the number of topics")
    ] = 2
    probe_tags: Annotated[
        int,
        Meta(
            ge=1,
            le=TAGS_MAX,
            description="Chosen: 32. Topics that a probe has room for. A node with more topics doubles it until they fit",
        ),
    ] = 32
    probe_us: Annotated[
        int, Meta(ge=1, le=PERIOD_US_MAX, description="Chosen: 500 ms. Microseconds between turns of probes")
    ] = SECOND_US // 2
