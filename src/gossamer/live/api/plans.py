"""The peers that a plan gives to a node, and finding them on the network."""

import asyncio
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path

import msgspec

from gossamer.live.api.options import FilePath, PlanEntry
from gossamer.live.transport.addresses import split_address
from gossamer.live.transport.sockets import Sockets
from gossamer.model.values.errors import InputError
from gossamer.model.values.ids import NodeId
from gossamer.protocols.contract.messages import Peer

# Chosen: the pause before a peer that does not answer is dialled again.
AGAIN_SECONDS = 1.0


PEERS = "peers.json"


class PlannedNode(msgspec.Struct, frozen=True, omit_defaults=True):
    """One node of a plan: the topics that it holds, those that it only publishes on, and its peers, all by name."""

    topics: list[str]
    peers: list[str]
    publishes: list[str] = []

    @property
    def follows(self) -> list[str]:
        """The topics that the node follows."""
        return [topic for topic in self.topics if topic not in self.publishes]


def read_plan(path: FilePath) -> dict[str, PlannedNode]:
    """The nodes of a plan by name; `path` is a peers.json or the folder of `gossamer plan` that contains it."""
    path = Path(path)
    try:
        content = (path / PEERS if path.is_dir() else path).read_bytes()
        return msgspec.json.decode(content, type=dict[str, PlannedNode])
    except OSError as error:
        raise InputError(f"cannot read the plan {path}: {error.strerror}") from None
    except ValueError as error:
        raise InputError(f"{path} is not a plan that `gossamer plan` wrote: {error}") from None


def node_of_plan(path: FilePath, name: str) -> tuple[PlannedNode, dict[str, PlannedNode]]:
    """The node of this name, and the whole plan."""
    nodes = read_plan(path)
    if name not in nodes:
        close = get_close_matches(name, list(nodes), n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise InputError(f"{path} has no node {name!r}; `name` must be a name of the plan{hint}")
    return nodes[name], nodes


class PlannedPeers:
    """The peers of one node in a plan: their addresses, their topics, and their ids once they have been found."""

    def __init__(self, entry: PlanEntry) -> None:
        mine, entries = node_of_plan(entry.path, entry.name)
        self.name = entry.name
        self._topics = {peer: frozenset(entries[peer].topics) for peer in mine.peers if peer in entries}
        # A node without an address in the table is named by its address.
        self._addresses = {peer: entry.addresses.get(peer, peer) for peer in self._topics}
        for peer, address in self._addresses.items():
            try:
                split_address(address)
            except InputError:
                raise InputError(
                    f"the plan's {peer!r} has no address; give `addresses`={{{peer!r}: 'HOST:PORT', ...}}"
                ) from None
        self._found: dict[str, NodeId] = {}

    def names(self) -> dict[NodeId, str]:
        """The names in the plan of the peers that have been found, by id."""
        return {node: name for name, node in self._found.items()}

    def peers_on(self, topic: str) -> tuple[Peer, ...]:
        """The peers of the plan that hold a topic and have been found."""
        return tuple(
            Peer(node, self._addresses[name].encode())
            for name, node in self._found.items()
            if topic in self._topics[name]
        )

    async def find(self, sockets: Sockets, found: Callable[[frozenset[str]], None]) -> None:
        """Dial all peers until each has answered; `found` gets the topics of each."""
        await asyncio.gather(*(self._find(name, sockets, found) for name in self._topics))

    async def _find(self, name: str, sockets: Sockets, found: Callable[[frozenset[str]], None]) -> None:
        while True:
            node = await sockets.find(self._addresses[name].encode())
            if node is not None:
                self._found[name] = node
                found(self._topics[name])
                return
            await asyncio.sleep(AGAIN_SECONDS)
