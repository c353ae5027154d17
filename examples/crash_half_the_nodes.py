"""Machines in virtual time: 100 Cyclon nodes, half of them crash, the rest heals. One seed decides it all."""

from gossamer.protocols.contract.system import read_parameters
from gossamer.simulator.checkers import all_checkers
from gossamer.simulator.engine import EventEngine
from gossamer.simulator.links import LinkBook
from gossamer.simulator.network import Network, UniformLatency
from gossamer.simulator.population import together
from gossamer.systems import find_system, make_machine

SEED, NODES = 7, 100
system = find_system("cyclon")
parameters = read_parameters(system, {"view_size": 8, "shuffle_length": 4, "period_us": 1_000_000})
links = LinkBook()
network = Network(UniformLatency(5_000, 50_000), loss=0.01)
engine = EventEngine(
    lambda node: make_machine(system, parameters, SEED, node, None), network, SEED, watchers=(links, *all_checkers())
)
for node in range(NODES):
    engine.start(node, together(SEED, node, NODES, parameters.view_size))


def crash_half() -> None:
    """Every second node is gone without a word."""
    for node in range(0, NODES, 2):
        engine.crash(node)


def dead_entries() -> int:
    """How many view entries still point at nodes that are gone."""
    return sum(1 for mine in links.neighbours.values() for other in mine if other % 2 == 0)


engine.call_at(20_000_000, crash_half)
engine.run(20_500_000)
print(f"just after the crash, {dead_entries()} view entries point at dead nodes")
engine.run(60_000_000)
print(f"forty seconds later, {dead_entries()} do")
