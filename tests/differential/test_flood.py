"""The flooding machine and the flooding kernel agree on the same overlay."""

import numpy as np
import pytest

from gossamer.kernels.flood import flood
from gossamer.protocols.contract.events import Publish
from gossamer.protocols.contract.system import read_parameters
from gossamer.simulator.checkers import all_checkers
from gossamer.simulator.event_population import EventPopulation
from gossamer.simulator.links import LinkBook
from gossamer.simulator.network import ConstantLatency, Network
from gossamer.simulator.recorder import DeliveryLog
from gossamer.systems import find_system
from gossamer.workloads.interests import make_interests


@pytest.mark.parametrize("seed", range(5))
def test_machine_and_kernel_agree_on_hops_copies_and_messages(seed):
    interest = make_interests(120, 12, "3", "rss", seed)
    simulated = find_system("spidercast")
    links, log = LinkBook(), DeliveryLog()
    population = EventPopulation(
        simulated,
        read_parameters(simulated, {}),
        seed,
        interest,
        Network(ConstantLatency(20_000)),
        (links, log, *all_checkers()),
        dissemination="flood",
    )
    population.start_together(range(120))
    population.engine.run(30_000_000)
    overlay = links.overlay(120)
    hops, copies = np.zeros(120, np.int32), np.zeros(120, np.int32)
    sent = 0
    for number, node in enumerate(range(0, 120, 7)):
        topic = int(interest.topics_of(node)[0])
        population.engine.give(node, Publish(topic, b"x"))
        population.engine.run(population.engine.now_us + 2_000_000)
        holds = np.zeros(120, np.bool_)
        holds[interest.nodes_of(topic)] = True
        sent += flood(node, holds, overlay.starts, overlay.neighbours, hops, copies)
        columns = log.columns()
        rows = [row for row, event in enumerate(columns["event"]) if event == number]
        got = {columns["node"][row]: (columns["hops"][row], columns["duplicates"][row]) for row in rows}
        assert got == {int(other): (int(hops[other]), int(copies[other]) - 1) for other in np.flatnonzero(hops > 0)}
        assert log.facts(1)["data_messages"] == sent
