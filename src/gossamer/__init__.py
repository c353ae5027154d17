"""Gossamer: brokerless publish/subscribe on topic-connected overlays.

One vocabulary, three jobs: study a workload, plan an overlay for it, run it live. Everything that an application, a planner
or a researcher imports is here; `gossamer.testing` is for tests of programs that use nodes, and `gossamer.plugin` for
systems of your own.

Importing this package loads nothing heavy. Each name is loaded when it is first used, and each job brings its own extra
(`gossamer[sim]`, `gossamer[spark]`, `gossamer[report]`).
"""

from typing import TYPE_CHECKING, Any

from gossamer.model.values.errors import (
    CheckFailed,
    GossamerError,
    InputError,
    InputWarning,
    MachineMisuse,
    MissingExtra,
    NodeStateError,
    NoReply,
    NotAllowed,
    PeerError,
    TableError,
)

if TYPE_CHECKING:
    from gossamer.live.api.limits import Limits
    from gossamer.live.api.messages import Codec, Gap, Message, Receipt
    from gossamer.live.api.node import Node
    from gossamer.live.api.options import PlanEntry, Security, Telemetry
    from gossamer.live.api.publisher import Publisher
    from gossamer.live.api.requests import Replies, Request
    from gossamer.live.api.subscription import Subscription
    from gossamer.live.api.sync import SyncNode
    from gossamer.live.operations.status import NodeStatus
    from gossamer.model.arrays.overlay import Overlay
    from gossamer.model.tables.workload import Workload
    from gossamer.model.values.pattern import Pattern
    from gossamer.model.values.run import Run, WorkloadLaw
    from gossamer.planners.plan import PlannedOverlay, PlanRequest, plan
    from gossamer.protocols.contract.events import Outcome
    from gossamer.simulator.execute import Result, execute
    from gossamer.simulator.measure import measure
    from gossamer.simulator.what_if import WhatIf, random_losses, what_if
    from gossamer.workloads.make import make_workload
    from gossamer.workloads.named import read_workload

__version__ = "0.1.0"

# Where each name is that is loaded when it is first used.
_LATER = {
    "Codec": "gossamer.live.api.messages",
    "DiskHistory": "gossamer.live.api.options",
    "Gap": "gossamer.live.api.messages",
    "Limits": "gossamer.live.api.limits",
    "Message": "gossamer.live.api.messages",
    "Node": "gossamer.live.api.node",
    "NodeStatus": "gossamer.live.operations.status",
    "Outcome": "gossamer.protocols.contract.events",
    "Overlay": "gossamer.model.arrays.overlay",
    "Pattern": "gossamer.model.values.pattern",
    "PlanEntry": "gossamer.live.api.options",
    "PlanRequest": "gossamer.planners.plan",
    "PlannedOverlay": "gossamer.planners.plan",
    "Publisher": "gossamer.live.api.publisher",
    "Receipt": "gossamer.live.api.messages",
    "Replies": "gossamer.live.api.requests",
    "Request": "gossamer.live.api.requests",
    "Result": "gossamer.simulator.execute",
    "Run": "gossamer.model.values.run",
    "Security": "gossamer.live.api.options",
    "Subscription": "gossamer.live.api.subscription",
    "SyncNode": "gossamer.live.api.sync",
    "Telemetry": "gossamer.live.api.options",
    "Workload": "gossamer.model.tables.workload",
    "WhatIf": "gossamer.simulator.what_if",
    "WorkloadLaw": "gossamer.model.values.run",
    "execute": "gossamer.simulator.execute",
    "make_workload": "gossamer.workloads.make",
    "measure": "gossamer.simulator.measure",
    "plan": "gossamer.planners.plan",
    "random_losses": "gossamer.simulator.what_if",
    "read_workload": "gossamer.workloads.named",
    "what_if": "gossamer.simulator.what_if",
}

__all__ = [
    "CheckFailed",
    "Codec",
    "DiskHistory",
    "Gap",
    "GossamerError",
    "InputError",
    "InputWarning",
    "Limits",
    "MachineMisuse",
    "Message",
    "MissingExtra",
    "NoReply",
    "Node",
    "NodeStateError",
    "NodeStatus",
    "NotAllowed",
    "Outcome",
    "Overlay",
    "Pattern",
    "PeerError",
    "PlanEntry",
    "PlanRequest",
    "PlannedOverlay",
    "Publisher",
    "Receipt",
    "Replies",
    "Request",
    "Result",
    "Run",
    "Security",
    "Subscription",
    "SyncNode",
    "Telemetry",
    "TableError",
    "WhatIf",
    "Workload",
    "WorkloadLaw",
    "__version__",
    "execute",
    "make_workload",
    "measure",
    "plan",
    "random_losses",
    "read_workload",
    "what_if",
]

# Public modules, which `import gossamer` does not load.
_MODULES = ("plugin", "testing")

# The extra that brings each library that a name may need.
_EXTRAS = {"numpy": "sim", "numba": "sim", "pyarrow": "sim", "scipy": "sim"}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _MODULES:
        return import_module(f"gossamer.{name}")
    if name not in _LATER:
        raise AttributeError(f"module 'gossamer' has no attribute {name!r}")
    try:
        return getattr(import_module(_LATER[name]), name)
    except ModuleNotFoundError as error:
        extra = _EXTRAS.get((error.name or "").partition(".")[0])
        if extra is None:
            raise
        raise MissingExtra(f"gossamer.{name} needs {error.name}; run: pip install 'gossamer[{extra}]'") from None


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES, "__doc__", "__file__", "__name__", "__path__"})
