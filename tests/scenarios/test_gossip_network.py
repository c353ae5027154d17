"""Gossip in whole networks in virtual time: safety under faults, then delivery without faults."""

import pytest

from gossamer.model.values.ids import Role
from gossamer.protocols.contract.events import Publish, Subscribe, Unsubscribe
from gossamer.protocols.contract.system import read_parameters
from gossamer.simulator.checkers import DeliveryChecker, all_checkers
from gossamer.simulator.event_population import EventPopulation
from gossamer.simulator.links import LinkBook
from gossamer.simulator.network import Network, UniformLatency
from gossamer.simulator.recorder import DeliveryLog
from gossamer.systems import find_system
from gossamer.workloads.interests import make_interests

NODES = 120
SECOND_US = 1_000_000


class Net:
    """120 nodes with four links each, one of six topics each."""

    def __init__(self, seed, system="unstructured", loss=0.0, settings=None, **gossip):
        self.interest = make_interests(NODES, 6, "1", "uniform", seed)
        simulated = find_system(system)
        self.links, self.log = LinkBook(), DeliveryLog()
        self.population = EventPopulation(
            simulated,
            read_parameters(simulated, settings or {}),
            seed,
            self.interest,
            Network(UniformLatency(5_000, 50_000), loss),
            (self.links, self.log, *all_checkers("gossip")),
            dissemination="gossip",
            settings=gossip,
        )
        self.engine = self.population.engine
        self.population.start_together(range(NODES))
        self.wait(20)

    def wait(self, seconds):
        self.engine.run(self.engine.now_us + int(seconds * SECOND_US))

    def publish(self, node):
        topic = int(self.interest.topics_of(node)[0])
        self.engine.give(node, Publish(topic, b"x"))
        return set(self.interest.nodes_of(topic).tolist()) - {node}

    def delivered(self):
        columns = self.log.columns()
        found = {}
        for event, node in zip(columns["event"], columns["node"], strict=True):
            found.setdefault(event, set()).add(node)
        return found


@pytest.mark.parametrize("system", ["unstructured", "random", "spidercast"])
def test_with_gamma_one_all_subscribers_receive_every_message(system):
    net = Net(1, system, settings={"degree": "regular:4"} if system == "unstructured" else {}, gamma=1.0)
    wanted = [net.publish(node) for node in range(0, NODES, 12)]
    net.wait(5)
    assert [net.delivered().get(event, set()) for event in range(len(wanted))] == wanted


def test_messages_depend_on_relays_without_the_topic():
    """The exemption is needed: the checker without it sees a breach at once."""
    net = Net(2, settings={"degree": "regular:4"}, gamma=1.0)
    seen = []
    strict = DeliveryChecker()

    class Judge:
        def handled(self, at_us, node, event, actions):
            try:
                strict.handled(at_us, node, event, actions)
            except Exception as breach:
                seen.append(str(breach))

        def gone(self, at_us, node):
            pass

    net.engine._watchers = (*net.engine._watchers, Judge())
    net.publish(0)
    net.wait(5)
    assert any("without holding it" in breach for breach in seen)


@pytest.mark.parametrize("seed", range(4))
def test_no_message_is_delivered_wrongly_under_loss_churn_and_changes_of_interest(seed):
    net = Net(
        seed, settings={"degree": "poisson:5", "redial_us": SECOND_US}, loss=0.1, gamma=0.5, handle_us=500, buffer=8
    )
    engine = net.engine
    for turn in range(12):
        net.publish((turn * 7 + 1) % NODES)
        gone = (turn * 11 + 3) % NODES
        (net.population.crash if turn % 2 else net.population.leave)(gone)
        topic = int(net.interest.topics_of(5)[0])
        if 5 in engine.present:
            engine.give(5, Unsubscribe(topic) if turn % 2 else Subscribe(topic, Role.BOTH))
        net.wait(0.5)
        net.population.join(gone)
        net.wait(0.5)
    # After healing, a node that returned has its given links again, because the other ends dial it.
    net.wait(10)
    assert engine.present == list(range(NODES))
    assert net.links.overlay(NODES).degrees[3] > 0
    before = len(net.delivered())
    net.publish(8)
    net.wait(5)
    assert len(net.delivered()) >= before


def test_a_crashed_neighbour_is_dialled_until_it_returns():
    net = Net(3, settings={"degree": "regular:4", "redial_us": SECOND_US}, gamma=1.0)
    before = set(net.links.overlay(NODES).neighbours_of(7).tolist())
    net.population.crash(7)
    net.wait(2)
    assert len(net.links.overlay(NODES).neighbours_of(7)) == 0
    net.population.join(7)
    net.wait(5)
    assert before <= set(net.links.overlay(NODES).neighbours_of(7).tolist())
