"""A transport inside one process, for tests without ports."""

import asyncio
from collections.abc import Callable, Sequence

from gossamer.live.transport.driver import LiveDriver
from gossamer.live.transport.queues import Parcel
from gossamer.live.transport.wire import PREFIX_BYTES
from gossamer.model.values.ids import NodeId


class MemoryTransport:
    """Passes frames through the event loop, so that no machine gets an event while it handles another."""

    def __init__(self) -> None:
        self.lost_count = 0
        self._drivers: dict[bytes, LiveDriver] = {}
        self._kept: dict[NodeId, dict[NodeId, LiveDriver]] = {}

    def open(self, driver: LiveDriver) -> None:
        """See `interface.Transport`."""
        self._drivers[driver.address] = driver
        self._kept[driver.node] = {}

    def close(self, driver: LiveDriver) -> None:
        """See `interface.Transport`."""
        del self._drivers[driver.address]
        for node in list(self._kept.pop(driver.node)):
            self._break(driver.node, node)

    def send(self, sender: NodeId, node: NodeId, address: bytes, parcel: Parcel, patient: bool = True) -> str | None:
        """See `interface.Transport`. A message to an unknown address is lost, as on a network."""
        driver = self._drivers.get(address) if address else self._kept.get(sender, {}).get(node)
        if driver is None:
            self.lost_count += parcel.count
            return "no link"
        bodies = [frame[PREFIX_BYTES:] for frame in parcel.frames]
        asyncio.get_running_loop().call_soon(driver.receive, sender, bodies, driver.make_reader(2))
        return None

    def end_event(self) -> None:
        """See `interface.Transport`. Frames never wait here."""

    def gather(self, nodes: Sequence[NodeId]) -> None:
        """See `interface.Transport`. Frames never wait here."""

    def is_gathering(self, nodes: Sequence[NodeId]) -> bool:
        """See `interface.Transport`. Frames never wait here."""
        return False

    def has_proved(self, node: NodeId, address: bytes) -> bool:
        """See `interface.Transport`."""
        return True

    def prove(self, node: NodeId, address: bytes, then: Callable[[bool], None]) -> None:
        """See `interface.Transport`. Never called, because every address is proved."""

    def connect(self, driver: LiveDriver, node: NodeId, address: bytes) -> None:
        """See `interface.Transport`."""
        other = self._drivers.get(address)
        if other is None or other.node != node:
            asyncio.get_running_loop().call_soon(driver.peer_down, node)
        elif node not in self._kept[driver.node]:
            self._kept[driver.node][node] = other
            self._kept[node][driver.node] = driver
            asyncio.get_running_loop().call_soon(driver.peer_up, node)
            asyncio.get_running_loop().call_soon(other.peer_up, driver.node)

    def disconnect(self, driver: LiveDriver, node: NodeId) -> None:
        """See `interface.Transport`."""
        if self._kept[driver.node].pop(node, None) is not None:
            self._break(driver.node, node)

    def _break(self, gone: NodeId, node: NodeId) -> None:
        """Report a broken connection to its other end."""
        other = self._kept.get(node, {}).pop(gone, None)
        for driver in self._drivers.values():
            if other is not None and driver.node == node:
                asyncio.get_running_loop().call_soon(driver.peer_down, gone)
