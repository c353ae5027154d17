"""Gossamer: brokerless publish/subscribe on topic-connected overlays.

One vocabulary, three jobs: study a workload, plan an overlay for it, run it live. Importing this
package loads the standard library and nothing heavy; each job brings its own extra
(`gossamer[sim]`, `gossamer[spark]`, `gossamer[report]`).
"""

from typing import TYPE_CHECKING, Any

from gossamer.model.values.errors import GossamerError, InputError, NodeStateError

if TYPE_CHECKING:
    from gossamer.live.api.limits import Limits
    from gossamer.live.api.messages import Gap, Message, Receipt
    from gossamer.live.api.node import Node
    from gossamer.live.api.options import PlanEntry, Security
    from gossamer.live.api.sync import SyncNode
    from gossamer.protocols.contract.events import Outcome

__version__ = "0.1.0"

__all__ = [
    "Gap",
    "GossamerError",
    "InputError",
    "Limits",
    "Message",
    "Node",
    "NodeStateError",
    "Outcome",
    "PlanEntry",
    "Receipt",
    "Security",
    "SyncNode",
    "__version__",
]

# Loaded when first asked for: a study or a plan needs none of it.
_LATER = {
    "Gap": "gossamer.live.api.messages",
    "Limits": "gossamer.live.api.limits",
    "Message": "gossamer.live.api.messages",
    "Node": "gossamer.live.api.node",
    "Outcome": "gossamer.protocols.contract.events",
    "PlanEntry": "gossamer.live.api.options",
    "Receipt": "gossamer.live.api.messages",
    "Security": "gossamer.live.api.options",
    "SyncNode": "gossamer.live.api.sync",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'gossamer' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_LATER[name]), name)
