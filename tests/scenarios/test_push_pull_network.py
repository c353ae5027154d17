"""Push and pull in whole networks in virtual time: safety under faults, delivery, and the end of traffic."""

from collections import Counter

import pytest

from gossamer.model.values.ids import Role
from gossamer.protocols.contract.actions import Send
from gossamer.protocols.contract.events import Outcome, Publish, PublishBurst, Subscribe, Unsubscribe, Validated
from gossamer.protocols.contract.messages import data_in
from gossamer.protocols.contract.system import read_parameters
from gossamer.simulator.checkers import all_checkers
from gossamer.simulator.event_population import EventPopulation
from gossamer.simulator.links import LinkBook
from gossamer.simulator.measure import measure_topics
from gossamer.simulator.network import Network, UniformLatency
from gossamer.simulator.recorder import DeliveryLog
from gossamer.systems import find_system
from gossamer.workloads.interests import make_interests

NODES = 60
SECOND_US = 1_000_000
CONTROL = ("Call", "Wake")


class Sent:
    """A watcher that counts the messages of push and pull that nodes send."""

    def __init__(self):
        self.count = Counter()

    def handled(self, at_us, node, event, actions):
        for action in actions:
            if isinstance(action, Send):
                kind = type(action.message).__name__
                if kind in CONTROL:
                    self.count[kind] += len(action.to)
                self.count["data"] += len(action.to) * len(data_in(action.message))

    def gone(self, at_us, node):
        pass


class Net:
    """60 nodes that follow two of eight topics each."""

    def __init__(self, seed, system="spidercast", loss=0.0, recovery=None, watchers=(), **parameters):
        self.interest = make_interests(NODES, 8, "2", "uniform", seed)
        simulated = find_system(system)
        self.links, self.log, self.sent = LinkBook(), DeliveryLog(), Sent()
        checkers = all_checkers("push-pull", simulated.discloses, recovery is not None)
        self.population = EventPopulation(
            simulated,
            read_parameters(simulated, {"random_coverage": 1} if system == "spidercast" else {}),
            seed,
            self.interest,
            Network(UniformLatency(2_000, 30_000), loss),
            (self.links, self.log, self.sent, *checkers, *watchers),
            dissemination="push-pull",
            settings=parameters,
            recovery=recovery,
        )
        self.engine = self.population.engine
        self.population.start_together(range(NODES))
        self.wait(20)
        topics = measure_topics(self.links.overlay(NODES), self.interest)
        assert (topics.components == 1).all(), "messages cannot reach all nodes of a disconnected topic"

    def wait(self, seconds):
        self.engine.run(self.engine.now_us + int(seconds * SECOND_US))

    def publish(self, node, place=0):
        topic = int(self.interest.topics_of(node)[place])
        self.engine.give(node, Publish(topic, b"x"))
        return set(self.interest.nodes_of(topic).tolist()) - {node}

    def delivered(self):
        columns = self.log.columns()
        found = {}
        for event, node in zip(columns["event"], columns["node"], strict=True):
            found.setdefault(event, set()).add(node)
        return found


@pytest.mark.parametrize("system", ["spidercast", "stan"])
@pytest.mark.parametrize("recovery", [None, {}], ids=["alone", "with recovery"])
def test_every_subscriber_gets_every_message_once(system, recovery):
    net = Net(1, system, recovery=recovery)
    wanted = []
    for number in range(20):
        wanted.append(net.publish(number * 7 % NODES, number % 2))
        net.wait(0.13)
    net.wait(10)
    found = [net.delivered().get(event, set()) for event in range(len(wanted))]
    if recovery is not None:
        assert found == wanted
    # Alone, the age limit leaves out a node now and then.
    assert sum(map(len, found)) >= 0.99 * sum(map(len, wanted))


def test_with_recovery_everybody_gets_every_message_in_order_under_loss():
    """The checkers raise if a publisher's order is violated or a message is delivered twice."""
    net = Net(2, loss=0.1, recovery={})
    wanted = []
    for number in range(60):
        wanted.append(net.publish(number % 6, number % 2))
        net.wait(0.05)
    net.wait(20)
    assert [net.delivered().get(event, set()) for event in range(len(wanted))] == wanted
    assert net.log.facts(1)["gaps_given_up"] == 0


def test_bursts_reach_everybody_in_order():
    net = Net(3, recovery={})
    topic = int(net.interest.topics_of(4)[0])
    for _ in range(5):
        net.engine.give(4, PublishBurst(topic, tuple((net.engine.now_us, b"x") for _ in range(100))))
        net.wait(0.05)
    net.wait(10)
    others = set(net.interest.nodes_of(topic).tolist()) - {4}
    found = net.delivered()
    assert len(found) == 500
    assert all(nodes == others for nodes in found.values())


def test_the_age_rule_stops_all_traffic():
    net = Net(4)
    net.publish(0)
    net.wait(5)
    assert net.sent.count["data"] > 0
    before = net.sent.count.copy()
    net.wait(60)
    assert net.sent.count == before


@pytest.mark.parametrize("parameters", [{"repeat_pushes": True}, {"repeat_pushes": False}], ids=["repeated", "once"])
def test_without_the_age_rule_traffic_never_stops(parameters):
    net = Net(4, age_rule=False, **parameters)
    net.publish(0)
    for _ in range(4):
        before = net.sent.count.copy()
        net.wait(15)
        assert net.sent.count["Call"] > before["Call"]
        if parameters["repeat_pushes"]:
            assert net.sent.count["data"] > before["data"]


@pytest.mark.parametrize("seed", range(3))
def test_no_message_is_delivered_wrongly_under_loss_churn_and_changes_of_interest(seed):
    net = Net(seed, loss=0.1, recovery={}, kept=8)
    engine = net.engine
    for turn in range(12):
        for node in engine.present[turn::9]:
            net.publish(node)
        gone = (turn * 11 + 3) % NODES
        (net.population.crash if turn % 2 else net.population.leave)(gone)
        topic = int(net.interest.topics_of(5)[0])
        if 5 in engine.present:
            engine.give(5, Unsubscribe(topic) if turn % 2 else Subscribe(topic, Role.BOTH))
        net.wait(0.5)
        net.population.join(gone)
        net.wait(0.5)
    # After healing every subscriber gets a new message.
    if 5 in engine.present:
        engine.give(5, Subscribe(topic, Role.BOTH))
    net.wait(40)
    wanted = net.publish(8)
    net.wait(10)
    assert net.delivered()[max(net.delivered())] == wanted


def test_validated_topics_pass_on_what_the_validator_accepts():
    """A validator at every node that takes 150 ms, longer than a round, and rejects every third message."""

    class Validators:
        def handled(self, at_us, node, event, actions):
            for action in actions:
                if type(action).__name__ == "Validate":
                    outcome = Outcome.REJECT if action.payload == b"bad" else Outcome.ACCEPT
                    answer = Validated(action.ticket, outcome)
                    net.engine.call_at(at_us + 150_000, lambda node=node, answer=answer: net.engine.give(node, answer))

        def gone(self, at_us, node):
            pass

    net = Net(5, watchers=(Validators(),), topic_size=1_000_000)
    topic = int(net.interest.topics_of(7)[0])
    members = net.interest.nodes_of(topic).tolist()
    for node in members:
        net.engine.give(node, Subscribe(topic, Role.BOTH, validates=True))
    for payload in (b"good", b"bad", b"good"):
        net.engine.give(7, Publish(topic, payload))
        net.wait(0.3)
    net.wait(15)
    others = set(members) - {7}
    assert [net.delivered().get(event, set()) for event in range(3)] == [others, set(), others]
