"""The settings of a node, from a TOML file or from other sources such as command-line flags."""

import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from gossamer.live.api.limits import Limits
from gossamer.live.api.node import Node
from gossamer.live.api.options import DiskHistory, PlanEntry, Security, Telemetry
from gossamer.live.api.plans import node_of_plan
from gossamer.live.transport.addresses import words_of
from gossamer.model.values.errors import InputError
from gossamer.model.values.sizes import size_bytes
from gossamer.model.values.time import SECOND_US, duration_us
from gossamer.systems import DEFAULT_SYSTEM

# The values of these keys are paths; in a file they are relative to the folder of the file.
_PATHS = ("keys", "identity_file", "rules", "record", "telemetry", "plan", "history", "join_file")


class NodeSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All settings of `gossamer node`; the defaults are those of `Node`."""

    listen: str = "127.0.0.1:0"
    # The address that other nodes use, if it differs from `listen`.
    advertise: str | None = None
    # Addresses of nodes through which this node joins.
    join: tuple[str, ...] = ()
    # A file with more of them, one in each line; it is read again when it changes.
    join_file: str | None = None
    system: str = DEFAULT_SYSTEM
    settings: dict[str, Any] = field(default_factory=dict)
    dissemination: str | None = None
    dissemination_settings: dict[str, Any] = field(default_factory=dict)
    # Topics to subscribe to, and topics to relay and publish on without subscribing. If neither is given, those of the
    # plan.
    follow: tuple[str, ...] = ()
    publish: tuple[str, ...] = ()
    # Patterns of topics to subscribe to.
    patterns: tuple[str, ...] = ()
    keys: str | None = None
    insecure: bool = False
    signatures: str = "off"
    rules: str | None = None
    # For system="stan": by topic, the file with the secret that all nodes of the topic share.
    secrets: dict[str, str] = field(default_factory=dict)
    identity_file: str | None = None
    record: str | None = None
    record_content: bool = True
    # The folder for files of telemetry records, and one in how many messages is traced.
    telemetry: str | None = None
    trace: int = Telemetry.trace
    # The folder of the history on disk, the size and the age of its messages; None: no history on disk.
    history: str | None = None
    history_size: str = "1GiB"
    history_age: str = "7d"
    # For system="planned": the peers.json of `gossamer plan`, this node's name in it, and the addresses of the named nodes.
    plan: str | None = None
    name: str = ""
    addresses: dict[str, str] | None = None
    # The address to serve status and metrics on; None serves neither.
    metrics: str | None = None
    limits: Limits = field(default_factory=Limits)

    @property
    def ways_in(self) -> tuple[str, ...]:
        """Through what the node joins, for messages to the user."""
        return self.join if self.join_file is None else (*self.join, self.join_file)

    def topics(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The topics that the node follows, and those that it only publishes on: given, or those of its plan."""
        if self.plan is None or self.follow or self.publish:
            return self.follow, self.publish
        mine, _ = node_of_plan(self.plan, self.name)
        return tuple(mine.follows), tuple(mine.publishes)

    def node(self) -> Node:
        """A node with these settings; it is not started."""
        return Node(
            self.listen,
            self.join,
            join_file=self.join_file,
            system=self.system,
            settings=self.settings,
            dissemination=self.dissemination,
            dissemination_settings=self.dissemination_settings,
            advertise=self.advertise,
            identity_file=self.identity_file,
            security=Security(
                keys=self.keys,
                insecure=self.insecure,
                signatures=self.signatures,
                rules=self.rules,
                secrets={topic: _read_secret(topic, Path(path)) for topic, path in self.secrets.items()},
            ),
            plan=None if self.plan is None else PlanEntry(self.plan, self.name, self.addresses or {}),
            limits=self.limits,
            record=self.record,
            record_content=self.record_content,
            telemetry=None if self.telemetry is None else Telemetry(self.telemetry, self.trace),
            history=self._disk_history(),
        )

    def _disk_history(self) -> DiskHistory | None:
        if self.history is None:
            return None
        age_us = duration_us(self.history_age, "`history_age`")
        return DiskHistory(self.history, size_bytes(self.history_size, "`history_size`"), age_us / SECOND_US)


def read_settings_file(path: Path) -> dict[str, Any]:
    """The content of a TOML file, with paths relative to its folder; `node_settings` checks the values."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"there is no settings file at {path}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not TOML: {error}") from None
    for name in _PATHS:
        if isinstance(content.get(name), str):
            content[name] = str(path.parent / content[name])
    secrets = content.get("secrets")
    if isinstance(secrets, dict):
        content["secrets"] = {
            topic: str(path.parent / file) if isinstance(file, str) else file for topic, file in secrets.items()
        }
    return content


def _read_secret(topic: str, path: Path) -> bytes:
    """The content of a secret's file, without line ends at its end."""
    try:
        secret = path.read_bytes().rstrip(b"\r\n")
    except OSError as error:
        raise InputError(f"the secret of {topic!r} cannot be read from {path}: {words_of(error)}") from None
    except ValueError as error:
        raise InputError(f"the secret of {topic!r} cannot be read: {error}") from None
    if not secret:
        raise InputError(f"{path}, the secret of {topic!r}, is empty")
    return secret


def node_settings(content: Mapping[str, Any], where: str) -> NodeSettings:
    """Check settings; an InputError says in one sentence what is wrong and suggests the right name."""
    _check_names(content, NodeSettings, where)
    limits = content.get("limits")
    if isinstance(limits, Mapping):
        _check_names(limits, Limits, f"{where} [limits]")
    try:
        return msgspec.convert(dict(content), NodeSettings)
    except msgspec.ValidationError as error:
        raise InputError(f"{where}: {error}") from None


def _check_names(content: Mapping[str, Any], kind: type[Struct], where: str) -> None:
    known = [known.name for known in msgspec.structs.fields(kind)]
    for name in content:
        if name not in known:
            close = get_close_matches(name, known, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"the settings are: {', '.join(known)}"
            raise InputError(f"{where} has no setting {name!r}; {hint}")
