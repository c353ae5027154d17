"""A run is a value: everything that decides a result, and nothing that does not."""

from typing import Any, Literal

import msgspec

# Chosen: link changes of a settling overlay come in bursts; ten quiet cycles have ended all we have seen.
QUIET_CYCLES = 10


# A workload that is a list of friendships: this and the file's path.
FRIENDS = "friends:"


class WorkloadLaw(msgspec.Struct, frozen=True, kw_only=True, tag="popularity"):
    """A workload to be made, in the words of `gossamer workload make`; the run's seed is its seed too."""

    nodes: int
    topics: int
    subscriptions: str
    popularity: str


class GridLaw(msgspec.Struct, frozen=True, kw_only=True, tag="grid"):
    """StAN's plane: a square of side 1, ids of topics and nodes placed at random; a node follows every topic with an
    id in its circle. Its seed is the run's too.

    A topic has 1 to `ids_most` ids and a node's circle an area from `area_low` to `area_high`, both by power laws. The
    paper names no numbers: these fit its Table 2 best (studies/stan_fit.py).
    """

    nodes: int
    topics: int
    ids_most: int = 2
    ids_exponent: float = 3.25421
    area_low: float = 0.0356023
    area_high: float = 0.766361
    area_exponent: float = 2.50438


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One system on one workload with one seed. `until_us` absent: build until the links rest."""

    system: str
    # The module that brings the system, where it is not one of ours: a Spark worker imports it by this name.
    module: str = ""
    parameters: dict[str, Any] = {}
    seed: int
    # A folder, `friends:` and a list of edges, or a law to make the workload by.
    workload: str | WorkloadLaw | GridLaw
    engine: Literal["cycle", "event"] = "cycle"
    # Building: give up after this many cycles.
    cycle_limit: int = 100
    # Simulating: how long, under what.
    until_us: int | None = None
    # A churn table; in the cycle engine a law such as `exp:300s/exp:75s`, with a new interest at each join.
    churn: str | None = None
    dissemination: str | None = None
    dissemination_parameters: dict[str, Any] = {}
    # Parameters of recovery above the dissemination; absent: there is none.
    recovery: dict[str, Any] | None = None
    event_count: int = 0
    latency: str = "20ms"
    loss: float = 0.0
    partitions: tuple[str, ...] = ()
    # Also measure tdi(d) of the workload, for this d; 0: do not.
    tdi_depth: int = 0
    # Also count the topics that are parted when this share of the nodes is gone and nothing has been mended.
    failed_share: float = 0.0
    # Also give the sizes of topics and interests, and the share of pairs of nodes whose interests correlate.
    interest_shape: bool = False
    # Also measure views after every cycle of a build, where the system keeps any.
    view_history: bool = False
    # Also measure the diameter of the whole overlay, exactly: a cost that grows with n squared.
    overlay_diameter: bool = False
