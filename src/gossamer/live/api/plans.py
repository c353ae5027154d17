"""The peers that a plan gives to a node, and finding them on the network."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import msgspec

from gossamer.live.api.options import PlanEntry
from gossamer.live.transport.addresses import split_address
from gossamer.live.transport.sockets import Sockets
from gossamer.model.values.errors import InputError
from gossamer.model.values.ids import NodeId
from gossamer.protocols.contract.messages import Peer

# Chosen: the pause before a peer that does not answer is dialled again.
AGAIN_SECONDS = 1.0


class _Entry(msgspec.Struct, frozen=True):
    topics: list[str]
    peers: list[str]


class PlannedPeers:
    """The peers of one node in a plan: their addresses, their topics, and their ids once they have been found."""

    def __init__(self, entry: PlanEntry) -> None:
        path, name = entry.path, entry.name
        try:
            entries = msgspec.json.decode(Path(path).read_bytes(), type=dict[str, _Entry])
        except OSError as error:
            raise InputError(f"cannot read the plan {path}: {error.strerror}") from None
        except ValueError as error:
            raise InputError(f"{path} is not a plan that `gossamer plan` wrote: {error}") from None
        if name not in entries:
            raise InputError(f"{path} has no node {name!r}; `name` must be a name of the plan")
        self._topics = {peer: frozenset(entries[peer].topics) for peer in entries[name].peers if peer in entries}
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
