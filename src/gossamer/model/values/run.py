"""A run: all the values that determine a result, and no others."""

from typing import Any, Literal

import msgspec

from gossamer.model.values.time import LONGEST_US

# Chosen: the links of an overlay that is converging change in bursts; none that we measured changed again after ten
# cycles without a change.
QUIET_CYCLES = 10
# A build ends after this many cycles even if its links still change.
CYCLE_LIMIT = 100


# The prefix of a workload that is a list of friendships; the path of the file follows.
FRIENDS = "friends:"


class WorkloadLaw(msgspec.Struct, frozen=True, kw_only=True, tag="popularity"):
    """A workload to generate, with the options of `gossamer workload make` and the seed of the run."""

    nodes: int
    topics: int
    subscriptions: str
    popularity: str


class GridLaw(msgspec.Struct, frozen=True, kw_only=True, tag="grid"):
    """A workload to generate on StAN's plane, with the seed of the run.

    Nodes and ids of topics have random positions in a square of side 1; a node follows every topic that has an id in
    the node's circle. A topic has 1 to `ids_most` ids and a circle has an area from `area_low` to `area_high`, both by
    power laws. The paper gives no numbers: these fit its Table 2 best (studies/stan_fit.py).
    """

    nodes: int
    topics: int
    ids_most: int = 2
    ids_exponent: float = 3.25421
    area_low: float = 0.0356023
    area_high: float = 0.766361
    area_exponent: float = 2.50438


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One system on one workload with one seed. Without `until_us` the run builds until links stop changing.

    >>> law = WorkloadLaw(nodes=100, topics=10, subscriptions="3", popularity="rss")
    >>> Run(system="spidercast", workload=law, seed=1).engine
    'cycle'
    """

    system: str
    # The module that brings the system, where it is not one of ours: a Spark worker imports it by this name.
    module: str = ""
    parameters: dict[str, Any] = {}
    seed: int
    # A folder; `friends:` and the path of a list of edges; or a law that generates the workload.
    workload: str | WorkloadLaw | GridLaw
    engine: Literal["cycle", "event"] = "cycle"
    # For a build: the largest number of cycles.
    cycle_limit: int = CYCLE_LIMIT
    # For a simulation: its length, and the fields below.
    until_us: int | None = None
    # The path of a churn table. In the cycle engine a law such as `exp:300s/exp:75s`; each join then has a new
    # interest.
    churn: str | None = None
    # The path of an overlay whose links the nodes start with, for simulations of a plan in the event engine.
    links: str | None = None
    dissemination: str | None = None
    dissemination_parameters: dict[str, Any] = {}
    # Parameters of recovery above the dissemination; None: no recovery.
    recovery: dict[str, Any] | None = None
    # The size of each node's history on disk, and how old its messages may become; 0: no history on disk.
    history_bytes: int = 0
    history_age_us: int = LONGEST_US
    event_count: int = 0
    latency: str = "20ms"
    loss: float = 0.0
    partitions: tuple[str, ...] = ()
    # If not 0: also measure tdi(d) of the workload for this depth d.
    tdi_depth: int = 0
    # If not 0: also count the topics that are disconnected when this share of the nodes fails, before any repair.
    failed_share: float = 0.0
    # Also report the sizes of topics and interests, and the share of pairs of nodes whose interests correlate.
    interest_shape: bool = False
    # Also measure topic views after every cycle of a build, if the system has any.
    view_history: bool = False
    # Measure diameters and clustering of topics, and the clustering of the overlay. They take most of the time of a large
    # run, and many exhibits do not need them.
    lengths: bool = True
    # Also measure the exact diameter of the whole overlay; the cost grows with the square of the number of nodes.
    overlay_diameter: bool = False


class Experiment(msgspec.Struct, frozen=True, kw_only=True):
    """A measurement of a system that is no run of its nodes on a workload, such as one search or a closed form.

    `name` is a function of the module that `System.experiments` names. It is called with the seed and the arguments, and
    returns metrics.
    """

    system: str
    # As in `Run`.
    module: str = ""
    name: str
    arguments: dict[str, Any] = {}
    # Further arguments that are files of real data, in the folder that `gossamer reproduce --data` names.
    data: dict[str, str] = {}
    seed: int
