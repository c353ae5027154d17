"""A run is a value: everything that decides a result, and nothing that does not."""

from typing import Any, Literal

import msgspec

# Chosen: link changes of a settling overlay come in bursts; ten quiet cycles have ended all we have seen.
QUIET_CYCLES = 10


# A workload that is a list of friendships: this and the file's path.
FRIENDS = "friends:"


class WorkloadLaw(msgspec.Struct, frozen=True, kw_only=True):
    """A workload to be made, in the words of `gossamer workload make`; the run's seed is its seed too."""

    nodes: int
    topics: int
    subscriptions: str
    popularity: str


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One system on one workload with one seed. `until_us` absent: build until the links rest."""

    system: str
    parameters: dict[str, Any] = {}
    seed: int
    # A folder, `friends:` and a list of edges, or a law to make the workload by.
    workload: str | WorkloadLaw
    engine: Literal["cycle", "event"] = "cycle"
    # Building: give up after this many cycles.
    cycle_limit: int = 100
    # Simulating: how long, under what.
    until_us: int | None = None
    # A churn table; in the cycle engine a law such as `exp:300s/exp:75s`, with a new interest at each join.
    churn: str | None = None
    dissemination: str | None = None
    dissemination_parameters: dict[str, Any] = {}
    event_count: int = 0
    latency: str = "20ms"
    loss: float = 0.0
    partitions: tuple[str, ...] = ()
    # Also measure tdi(d) of the workload, for this d; 0: do not.
    tdi_depth: int = 0
    # Also count the topics that are parted when this share of the nodes is gone and nothing has been mended.
    failed_share: float = 0.0
    # Also measure the diameter of the whole overlay, exactly: a cost that grows with n squared.
    overlay_diameter: bool = False
