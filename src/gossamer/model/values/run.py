"""A run is a value: everything that decides a result, and nothing that does not."""

from typing import Any, Literal

import msgspec

# Chosen: link changes of a settling overlay come in bursts; ten quiet cycles have ended all we have seen.
QUIET_CYCLES = 10


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One system on one workload with one seed. `until_us` absent: build until the links rest."""

    system: str
    parameters: dict[str, Any] = {}
    seed: int
    workload: str
    engine: Literal["cycle", "event"] = "cycle"
    # Building: give up after this many cycles.
    cycle_limit: int = 100
    # Simulating: how long, under what.
    until_us: int | None = None
    churn: str | None = None
    dissemination: str | None = None
    event_count: int = 0
    latency: str = "20ms"
    loss: float = 0.0
    partitions: tuple[str, ...] = ()
