"""Networks of StAN nodes in virtual time, with every checker."""

import io

import msgspec
import numpy as np
import pytest

from gossamer.model.values.draw import draw
from gossamer.model.values.run import Run, WorkloadLaw
from gossamer.protocols.contract import record as records
from gossamer.protocols.contract.events import Publish
from gossamer.protocols.contract.system import read_parameters
from gossamer.simulator.checkers import all_checkers
from gossamer.simulator.event_population import EventPopulation
from gossamer.simulator.execute import execute
from gossamer.simulator.links import LinkBook
from gossamer.simulator.measure import measure_topics
from gossamer.simulator.network import ConstantLatency, Network, UniformLatency
from gossamer.simulator.recorder import DeliveryLog
from gossamer.systems import decoder_of, find_system, make_machine
from gossamer.workloads.interests import make_interests

NODES = 80
SECOND_US = 1_000_000


class Net:
    """80 nodes, 3 of 8 topics each."""

    def __init__(self, seed, dissemination="flood", network=None, up=range(NODES), **settings):
        self.interest = make_interests(NODES, 8, "3", "rss", seed)
        simulated = find_system("stan")
        self.links, self.log = LinkBook(), DeliveryLog()
        self.population = EventPopulation(
            simulated,
            # Few tags: the checker looks at every byte of them.
            read_parameters(simulated, {"probe_tags": 4, **settings}),
            seed,
            self.interest,
            network or Network(ConstantLatency(20_000)),
            (self.links, self.log, *all_checkers(discloses=False)),
            dissemination=dissemination,
        )
        self.engine = self.population.engine
        self.population.start_together(list(up))

    def wait(self, seconds):
        self.engine.run(self.engine.now_us + int(seconds * SECOND_US))

    def parted_topics(self):
        up = self.engine.present_flags(NODES)
        topics = measure_topics(self.links.overlay(NODES), self.interest.among(up))
        return int((topics.components > 1).sum())

    def missed(self):
        """Publish on every topic; return how many expected deliveries are missing."""
        number = max(self.log.columns()["event"], default=-1) + 1
        expected = 0
        up = set(self.engine.present)
        for topic in range(8):
            holders = [int(node) for node in self.interest.nodes_of(topic) if int(node) in up]
            self.engine.give(holders[0], Publish(topic, b"x"))
            expected += len(holders) - 1
        self.wait(5)
        return expected - sum(1 for event in self.log.columns()["event"] if event >= number)


@pytest.mark.parametrize("dissemination", ["flood", "tree"])
@pytest.mark.parametrize("membership", ["oracle", "cyclon"])
def test_everything_published_arrives(dissemination, membership):
    net = Net(1, dissemination, membership=membership)
    net.wait(30)
    assert net.parted_topics() == 0
    assert net.missed() == 0


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 3))])
def test_a_network_that_finds_itself_by_probes_mends_after_a_third_crashes_and_half_of_them_return(seed):
    net = Net(seed, network=Network(UniformLatency(5_000, 80_000), loss=0.02), membership="cyclon")
    net.wait(30)
    gone = sorted(range(NODES), key=lambda node: draw(seed, node, 1_000_000, 0))[: NODES // 3]
    for node in gone:
        net.population.crash(node)
    net.wait(20)
    for node in gone[::2]:
        net.population.join(node)
    net.wait(30)
    assert net.parted_topics() == 0


def test_a_network_grows_from_one_node():
    net = Net(4, membership="cyclon", up=range(1))
    for node in range(1, NODES):
        net.wait(0.2)
        net.population.join(node)
    net.wait(40)
    assert net.parted_topics() == 0
    assert net.missed() == 0


def test_a_run_with_probes_replays_into_the_same_actions():
    law = WorkloadLaw(nodes=25, topics=5, subscriptions="2", popularity="rss")
    for settings in ({"membership": "cyclon"}, {"membership": "oracle"}):
        run = Run(
            system="stan", parameters=settings, seed=3, workload=law, engine="event", until_us=8 * SECOND_US, loss=0.02
        )
        log = io.BytesIO()
        execute(run, record=log)
        log.seek(0)
        header, steps = records.read_record(log)
        parameters = read_parameters(find_system("stan"), header.parameters)
        agreed, difference = records.replay(
            steps,
            lambda node, view, given=parameters: make_machine(find_system("stan"), given, 3, node, view),
            decoder_of(header),
        )
        assert difference is None
        assert agreed > 1_000
        assert msgspec.to_builtins(parameters) == header.parameters


def test_topics_share_links_once_they_are_aligned_and_keep_their_own():
    law = WorkloadLaw(nodes=200, topics=20, subscriptions="8", popularity="rss")
    result = execute(Run(system="stan", seed=1, workload=law, cycle_limit=30))
    metrics = result.metrics
    assert metrics["view_unique"] < 0.8 * metrics["view_unique_first"]
    views = result.tables["views"]
    assert len(views["topic"]) == round(metrics["view_total"] * 200)
    holds = {(int(node), int(topic)) for node in range(200) for topic in result.workload.interest.topics_of(node)}
    for side in ("node", "peer"):
        assert {(int(n), int(t)) for n, t in zip(views[side], views["topic"], strict=True)} <= holds
    pairs = {frozenset(pair) for pair in zip(views["node"].tolist(), views["peer"].tolist(), strict=True)}
    assert len(pairs) == metrics["links"]
    assert np.bincount(np.array(views["node"])).mean() == metrics["view_total"]
