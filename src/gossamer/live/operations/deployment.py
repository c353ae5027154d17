"""Files with which the nodes of a plan run on their hosts: settings, peers, keys and a systemd unit for each node."""

import re
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

import msgspec

from gossamer.live.api.plans import PEERS, PlannedNode
from gossamer.live.fleet.network import MemberEntry, write_members
from gossamer.live.transport.addresses import is_loopback, split_address
from gossamer.model.values.errors import InputError

NODES, AUTHORITY, SETTINGS, KEYS = "nodes", "authority", "node.toml", "keys"
# Chosen: the first node of a host listens on these ports, further nodes of the same host on the next ones.
PORT, METRICS_PORT = 7400, 9400

_UNIT = """# {name}: copy this folder to {folder} and this file to /etc/systemd/system, then run
#   systemctl enable --now gossamer-{safe}
[Unit]
Description=Gossamer node {safe}
Wants=network-online.target
After=network-online.target

[Service]
Type=exec
ExecStart={command} node --config {folder}/node.toml --log json
KillSignal=SIGTERM
ExecReload=/bin/kill -HUP $MAINPID
TimeoutStopSec=15
Restart=on-failure
RestartSec=2
# Exit code 2 is a wrong setting: restarting does not help.
RestartPreventExitStatus=2
LimitNOFILE=65536
StateDirectory=gossamer/{safe}
WorkingDirectory=/var/lib/gossamer/{safe}
NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes

[Install]
WantedBy=multi-user.target
"""


def addresses_of(nodes: Mapping[str, PlannedNode], hosts: Mapping[str, str], where: str) -> dict[str, str]:
    """HOST:PORT of every node; a host without a port gives its nodes ports from 7400 on, in the order of the plan."""
    missing = [name for name in nodes if name not in hosts]
    if missing:
        more = f" and {len(missing) - 1:,} more" if len(missing) > 1 else ""
        raise InputError(f"{where} has no host for {missing[0]!r}{more}; every node of the plan needs one")
    unknown = [name for name in hosts if name not in nodes]
    if unknown:
        raise InputError(f"{where} names {unknown[0]!r}, which is not in the plan")
    found: dict[str, str] = {}
    taken: dict[str, str] = {}
    for name in sorted(nodes, key=lambda name: not _has_port(hosts[name])):
        host, port = hosts[name], PORT
        if not _has_port(host):
            while f"{host}:{port}" in taken:
                port += 1
            host = f"{host}:{port}"
        split_address(host, where)
        if host in taken:
            raise InputError(f"{where} gives {taken[host]!r} and {name!r} the same address, {host}")
        found[name], taken[host] = host, name
    return {name: found[name] for name in nodes}


def _has_port(host: str) -> bool:
    return ":" in host.rpartition("]")[2]


def safe_name(name: str) -> str:
    """A name for files, units and certificates: the same if it is plain, otherwise its plain letters and a hash."""
    if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", name):
        return name
    plain = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")[:40]
    return f"{plain or 'node'}-{sha256(name.encode()).hexdigest()[:12]}"


def write_deployment(
    folder: Path,
    nodes: Mapping[str, PlannedNode],
    addresses: Mapping[str, str],
    system: str,
    authority: Path | None,
    place: str,
    command: str,
) -> dict[str, str]:
    """Write a folder for each node below `folder`; returns the folder of each node. Without an authority, makes one.

    `place` is where the folders will be on the hosts, `command` the path of the command gossamer there.
    """
    from gossamer.live.security.authority import issue, make_authority

    if authority is None:
        authority = folder / AUTHORITY
        make_authority(authority)
    entries, folders = [], {}
    on_host: dict[str, int] = {}
    for index, (name, node) in enumerate(nodes.items()):
        safe, (host, _) = safe_name(name), split_address(addresses[name])
        metrics = f"127.0.0.1:{METRICS_PORT + on_host.get(host, 0)}"
        on_host[host] = on_host.get(host, 0) + 1
        own = folder / NODES / safe
        own.mkdir(parents=True)
        known = {name: node} | {peer: nodes[peer] for peer in node.peers}
        (own / PEERS).write_bytes(msgspec.json.format(msgspec.json.encode(known), indent=2) + b"\n")
        (own / SETTINGS).write_text(_settings(name, node, addresses, system, metrics), encoding="utf-8")
        issue(authority, safe, own / KEYS)
        unit = _UNIT.format(name=_one_line(name), safe=safe, folder=f"{place}/{safe}", command=command)
        (own / f"gossamer-{safe}.service").write_text(unit, encoding="utf-8")
        entries.append(MemberEntry(index, 0, "", addresses[name], metrics, name))
        folders[name] = f"{NODES}/{safe}"
    write_members(folder, entries)
    return folders


def _settings(name: str, node: PlannedNode, addresses: Mapping[str, str], system: str, metrics: str) -> str:
    host, port = split_address(addresses[name])
    listen = addresses[name] if is_loopback(host) else f"0.0.0.0:{port}"
    text = [
        "# Settings for `gossamer node --config node.toml`, made by `gossamer deploy`.",
        f"name = {_toml(name)}",
        f"listen = {_toml(listen)}",
        f"advertise = {_toml(addresses[name])}",
        f"join = {_toml([addresses[peer] for peer in node.peers])}",
        f"system = {_toml(system)}",
        f"plan = {_toml(PEERS)}",
        f"keys = {_toml(KEYS)}",
        f"metrics = {_toml(metrics)}",
        f"follow = {_toml(node.follows)}",
        f"publish = {_toml(node.publishes)}",
        "",
        "[addresses]",
        *(f"{_toml(peer)} = {_toml(addresses[peer])}" for peer in node.peers),
    ]
    return "\n".join(text) + "\n"


def _toml(value: object) -> str:
    """A text or a list of texts; JSON is valid TOML for these, but for the character DEL."""
    return msgspec.json.encode(value).decode().replace("\x7f", "\\u007f")


def _one_line(name: str) -> str:
    return " ".join(name.split())
