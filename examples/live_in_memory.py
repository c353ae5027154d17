"""The same machines in real time: ten nodes on one asyncio loop, each joining through the first."""

import asyncio

from gossamer.live.transport.driver import LiveDriver
from gossamer.live.transport.memory import MemoryTransport
from gossamer.protocols.contract.events import Started
from gossamer.protocols.contract.facts import Fact, NeighbourUp
from gossamer.protocols.contract.messages import Peer
from gossamer.protocols.contract.system import read_parameters
from gossamer.systems import find_system, make_machine


async def main() -> None:
    """Start the nodes and wait until every one has met four others."""
    system = find_system("cyclon")
    parameters = read_parameters(system, {"view_size": 5, "shuffle_length": 3, "period_us": 5_000})
    transport = MemoryTransport()
    met: dict[int, set[int]] = {node: set() for node in range(10)}
    drivers = []
    for node in range(10):

        def watch(fact: Fact, node: int = node) -> None:
            if isinstance(fact, NeighbourUp):
                met[node].add(fact.node)

        driver = LiveDriver(make_machine(system, parameters, 1, node, None), node, b"node-%d" % node, transport, watch)
        driver.start(Started((Peer(0, b"node-0"),) if node else (), address=driver.address))
        drivers.append(driver)
    async with asyncio.timeout(10):
        while min(map(len, met.values())) < 4:
            await asyncio.sleep(0.005)
    for driver in drivers:
        driver.stop()
    print("every node has met at least", min(map(len, met.values())), "others")


asyncio.run(main())
