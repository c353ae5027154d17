"""A plan that a live node starts from: what `gossamer plan` wrote, and where its peers are."""

import asyncio
import os
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from gossamer.live.transport.addresses import split_address
from gossamer.live.transport.sockets import Sockets
from gossamer.model.values.errors import InputError
from gossamer.model.values.ids import NodeId
from gossamer.protocols.contract.messages import Peer

# Chosen: how long to wait before a peer that is not up yet is looked for again.
AGAIN_SECONDS = 1.0


class _Entry(msgspec.Struct, frozen=True):
    topics: list[str]
    peers: list[str]


class PlannedPeers:
    """One node's part of a plan: its peers, the topics that each of them holds, and who they turn out to be."""

    def __init__(self, path: str | os.PathLike[str], name: str, addresses: Mapping[str, str]) -> None:
        try:
            entries = msgspec.json.decode(Path(path).read_bytes(), type=dict[str, _Entry])
        except OSError as error:
            raise InputError(f"cannot read the plan {path}: {error.strerror}") from None
        except ValueError as error:
            raise InputError(f"{path} is not a plan that `gossamer plan` wrote: {error}") from None
        if name not in entries:
            raise InputError(f"{path} has no node {name!r}; name the node as the plan does")
        self._topics = {peer: frozenset(entries[peer].topics) for peer in entries[name].peers if peer in entries}
        # A plan whose nodes are named by address needs no table of addresses.
        self._addresses = {peer: addresses.get(peer, peer) for peer in self._topics}
        for peer, address in self._addresses.items():
            try:
                split_address(address)
            except InputError:
                raise InputError(
                    f"the plan's {peer!r} has no address; give addresses={{{peer!r}: 'HOST:PORT', ...}}"
                ) from None
        self._found: dict[str, NodeId] = {}

    def peers_on(self, topic: str) -> tuple[Peer, ...]:
        """The plan's peers that hold a topic and have been found."""
        return tuple(
            Peer(node, self._addresses[name].encode())
            for name, node in self._found.items()
            if topic in self._topics[name]
        )

    async def look(self, sockets: Sockets, found: Callable[[frozenset[str]], None]) -> None:
        """Look for all peers until they are found; `found` is told the topics of each."""
        await asyncio.gather(*(self._look_for(name, sockets, found) for name in self._topics))

    async def _look_for(self, name: str, sockets: Sockets, found: Callable[[frozenset[str]], None]) -> None:
        while True:
            node = await sockets.find(self._addresses[name].encode())
            if node is not None:
                self._found[name] = node
                found(self._topics[name])
                return
            await asyncio.sleep(AGAIN_SECONDS)
