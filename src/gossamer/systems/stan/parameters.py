"""StAN's parameters, and the bounds on what a node keeps and accepts."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from gossamer.model.values.time import PERIOD_US_MAX, SECOND_US

# Chosen: no view is smaller. A higher floor lets mean views creep up where nodes come and go: those that cannot shrink
# have nothing to set against those that grow.
VIEW_MIN = 1
# Chosen: where first peers are found by probes. Nodes that start at the same time find each other in pairs, when nobody is
# held by more than one or two: 300 nodes had 2 peers a topic instead of 5.
VIEW_MIN_PROBED = 4
# Chosen: no view is larger, whatever peers say; a topic of a million nodes needs some 14.
VIEW_MAX = 256
# Chosen: who may say that it has this node in its view, for each topic; the oldest are forgotten.
HOLDERS_MAX = 1_024
# Chosen: hops that a walk may be asked to take at most.
WALK_MAX = 15


class StanParameters(Struct, frozen=True, kw_only=True):
    """Paper: section 3 names TTL = 5 and views that grow with the logarithm of the topic."""

    walk_hops: Annotated[
        int, Meta(ge=0, le=WALK_MAX, description="Paper: 5. TTL of a walk, which so visits one node more")
    ] = 5
    view_factor: Annotated[
        float, Meta(ge=0.1, le=10, description="Chosen: 1. Mean view size over the natural logarithm of topic size")
    ] = 1.0
    period_us: Annotated[
        int, Meta(ge=1, le=PERIOD_US_MAX, description="Chosen: 1 s. Microseconds between a node's walks")
    ] = SECOND_US
    weigh_sources: Annotated[
        bool,
        Meta(description="Chosen: true. Nodes that a walk visits weigh its source too; the paper's only answer it"),
    ] = True
    membership: Annotated[
        Literal["oracle", "cyclon"],
        Meta(description="Chosen: oracle. First peers from the driver, or found by probes of whom Cyclon brings"),
    ] = "oracle"
    probes: Annotated[
        int, Meta(ge=1, le=64, description="Chosen: 4. Probes sent in a turn, however many topics are followed")
    ] = 4
    probe_us: Annotated[
        int, Meta(ge=1, le=PERIOD_US_MAX, description="Chosen: 500 ms. Microseconds between turns of probes")
    ] = SECOND_US // 2
