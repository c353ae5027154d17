"""Groups of options for `Node`, and the keywords that they replace.

Node(join=["node1:7400"], security=Security(keys="keys/node2", signatures="strict"))
Node("node2:7400", system="planned", plan=PlanEntry("peers.json", name="node2"))
"""

import os
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypedDict

from gossamer.live.transport.addresses import is_loopback
from gossamer.model.values.errors import InputError

FilePath: TypeAlias = str | os.PathLike[str]


@dataclass(frozen=True, kw_only=True)
class Security:
    """How a node proves its identity, and which messages and peers it accepts."""

    # The folder that `gossamer keys issue` wrote. With keys every link uses TLS.
    keys: FilePath | None = None
    # Allow a node without keys to listen on an address that other machines can reach.
    insecure: bool = False
    # "off"; "accept": sign messages, and check those that are signed; "strict": also refuse unsigned messages and, with
    # keys, messages without a certificate.
    signatures: str = "off"
    # The TOML file of access rules; rules need keys.
    rules: FilePath | None = None
    # For system="stan": the secret that the nodes of a topic share, by topic.
    secrets: Mapping[str, bytes] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class PlanEntry:
    """This node's entry in a plan that `gossamer plan` wrote; for system="planned"."""

    # The file peers.json.
    path: FilePath
    # This node's name in the plan.
    name: str = ""
    # HOST:PORT by node name. A node whose name is its address needs none.
    addresses: Mapping[str, str] = field(default_factory=dict)


# Chosen: the smallest history; SQLite's tables and indexes need some room before the first message.
HISTORY_BYTES_MIN = 2**20
_DAY_SECONDS = 86_400.0


@dataclass(frozen=True)
class DiskHistory:
    """A history on disk: the node gets what it missed while it was away, and keeps messages for others that are away."""

    # The folder, which belongs to this node alone; it is made if it does not exist.
    path: FilePath
    # The size of the messages with their indexes, and their age, beyond which the oldest are dropped.
    size_bytes: int = 2**30
    age_seconds: float = 7 * _DAY_SECONDS

    def __post_init__(self) -> None:
        if self.size_bytes < HISTORY_BYTES_MIN:
            raise InputError(f"a history has at least {HISTORY_BYTES_MIN:,} bytes, got {self.size_bytes:,}")
        if not 0 < self.age_seconds <= 36_500 * _DAY_SECONDS:
            raise InputError(f"the age of a history must be above 0 and at most 100 years, got {self.age_seconds:g} s")


def check_history(history: DiskHistory | None, recovers: bool, keeps_identity: bool) -> None:
    """A history needs recovery, which fetches messages, and an identity that stays the same over restarts."""
    if history is not None and not recovers:
        raise InputError("a history on disk needs recovery, which this system does not have; leave `history` out")
    if history is not None and not keeps_identity:
        raise InputError(
            "a history on disk needs an identity that is kept over restarts: give `keys` or `identity_file`"
        )


def check_reachable(host: str, security: Security) -> None:
    """Only a node with keys, or one that is insecure on purpose, may be reached from other machines."""
    if security.keys is None and not is_loopback(host) and not security.insecure:
        raise InputError(
            f"{host} can be reached from other machines: give `keys` (make them with `gossamer keys init` and "
            "`gossamer keys issue`), or set `insecure` where the network is trusted; both belong to security=Security(...)"
        )


@dataclass(frozen=True)
class Telemetry:
    """Where a node writes its telemetry records."""

    # The spool folder; several nodes may share it.
    folder: FilePath
    # Chosen: tracing every message costs as much as sending it; one in 256 costs less than a twentieth of that.
    # One message in so many is traced, a power of two, the same on every node.
    trace: int = 256

    def __post_init__(self) -> None:
        """Check the values."""
        if self.trace < 1 or self.trace & (self.trace - 1):
            raise InputError(f"`trace` must be a power of two, such as 1 or 256, got {self.trace}")


class DeprecatedOptions(TypedDict, total=False):
    """Keywords of `Node` that still work in this release and give a DeprecationWarning."""

    seeds: str | Sequence[str]
    keys: FilePath | None
    insecure: bool
    signatures: str
    rules: FilePath | None
    secrets: Mapping[str, bytes] | None
    name: str
    addresses: Mapping[str, str] | None


_IN_SECURITY = ("keys", "insecure", "signatures", "rules", "secrets")
_IN_PLAN = ("name", "addresses")


def replace_deprecated(
    join: str | Sequence[str],
    security: Security | None,
    plan: PlanEntry | FilePath | None,
    old: Mapping[str, Any],
) -> tuple[Sequence[str], Security, PlanEntry | None]:
    """The options with the values of deprecated keywords in their new places, and a warning for each such keyword."""
    for name in old:
        if name not in DeprecatedOptions.__annotations__:
            raise TypeError(f"Node() got an unexpected keyword argument {name!r}")
    in_security = {name: old[name] for name in _IN_SECURITY if old.get(name) is not None}
    in_plan = {name: old[name] for name in _IN_PLAN if old.get(name) is not None}
    if "seeds" in old:
        _warn("seeds=...", "join=...")
        if join:
            raise InputError("`seeds` is the old name of `join`; give `join` only")
        join = old["seeds"]
    for name in in_security:
        _warn(f"{name}=...", f"security=Security({name}=...)")
        if security is not None:
            raise InputError(f"give `{name}` inside security=Security(...), not beside it")
    for name in in_plan:
        _warn(f"{name}=...", f"plan=PlanEntry(path, {name}=...)")
        if isinstance(plan, PlanEntry):
            raise InputError(f"give `{name}` inside plan=PlanEntry(...), not beside it")
    if plan is not None and not isinstance(plan, PlanEntry):
        _warn("plan=path", "plan=PlanEntry(path, name=...)")
        plan = PlanEntry(plan, **in_plan)
    return (join,) if isinstance(join, str) else join, security or Security(**in_security), plan


def _warn(old: str, new: str) -> None:
    """Warn at the line of the application that made the node: Python shows such warnings in scripts and tests."""
    depth, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("gossamer.live.api."):
        depth, frame = depth + 1, frame.f_back
    warnings.warn(f"Node({old}) is deprecated; use Node({new})", DeprecationWarning, stacklevel=depth)
