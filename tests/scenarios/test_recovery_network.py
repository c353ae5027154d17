"""Recovery in whole networks, in virtual time: lost messages are recovered and delivered once and in order."""

import io

import msgspec
import pytest

from gossamer.model.values.draw import draw
from gossamer.protocols.contract import record as records
from gossamer.protocols.contract.actions import Deliver, Observe, Send
from gossamer.protocols.contract.events import Publish, PublishBurst
from gossamer.protocols.contract.facts import Lost
from gossamer.protocols.contract.system import read_parameters
from gossamer.protocols.delivery.announcements import Announce
from gossamer.protocols.delivery.recovery.messages import Answer, Ask
from gossamer.protocols.dissemination.tree_messages import TreeBurst
from gossamer.simulator.checkers import all_checkers
from gossamer.simulator.event_population import EventPopulation
from gossamer.simulator.network import ConstantLatency, Network, Partition, UniformLatency
from gossamer.simulator.recorder import Recorder
from gossamer.systems import decoder_of, find_system, make_machine
from gossamer.workloads.interests import make_interests

NODES, TOPICS = 60, 8
SECOND_US = 1_000_000


class Log:
    """Deliveries by node in order, losses that were reported, and messages by kind."""

    def __init__(self):
        self.delivered, self.lost, self.sent = {}, [], {}

    def handled(self, at_us, node, event, actions):
        for action in actions:
            if type(action) is Deliver:
                self.delivered.setdefault(node, []).append((action.publisher, action.sequence, at_us))
            elif type(action) is Observe and type(action.fact) is Lost:
                self.lost.append((node, action.fact))
            elif type(action) is Send:
                kind = type(action.message)
                self.sent[kind] = self.sent.get(kind, 0) + len(action.to)

    def gone(self, at_us, node):
        self.delivered.pop(node, None)

    def names(self, node):
        return {(publisher, sequence) for publisher, sequence, _ in self.delivered.get(node, ())}


class Net:
    """60 nodes, 3 of 8 topics each, started together, after twenty seconds without messages, with every checker."""

    def __init__(self, seed, dissemination="tree", network=None, system="spidercast", record=None, **settings):
        self.interest = make_interests(NODES, TOPICS, "3", "zipf:0.5", seed)
        simulated = find_system(system)
        parameters = read_parameters(simulated, settings)
        self.log = Log()
        watchers = [self.log, *all_checkers(dissemination, simulated.discloses, recovers=True)]
        answers = None
        if record is not None:
            answers = []
            header = records.Header(
                system=system,
                parameters=msgspec.to_builtins(parameters),
                seed=seed,
                dissemination=dissemination,
                recovery={},
            )
            watchers.append(Recorder(record, header, answers))
        self.population = EventPopulation(
            simulated,
            parameters,
            seed,
            self.interest,
            network or Network(ConstantLatency(20_000)),
            watchers,
            answers,
            dissemination=dissemination,
            recovery={},
        )
        self.engine = self.population.engine
        self.population.start_together(range(NODES))
        self.seed, self.expected, self.sequences = seed, {}, {}
        self.wait(20)

    def wait(self, seconds):
        self.engine.run(self.engine.now_us + int(seconds * SECOND_US))

    def publish(self, node, topic, count=1):
        """Publish one message, or several as a burst, and note the nodes that must receive them."""
        sequence = max(self.sequences.get(node, 0), self.engine.now_us) + 1
        self.sequences[node] = sequence + count - 1
        if count == 1:
            self.engine.give(node, Publish(topic, b"x", sequence=sequence))
        else:
            self.engine.give(node, PublishBurst(topic, ((self.engine.now_us, b"x"),) * count, sequence))
        up = set(self.engine.present)
        names = {(node, number) for number in range(sequence, sequence + count)}
        for other in self.interest.nodes_of(topic).tolist():
            if other in up and other != node:
                self.expected.setdefault(other, set()).update(names)
        return node, sequence

    def holders(self, topic):
        up = set(self.engine.present)
        nodes = [node for node in self.interest.nodes_of(topic).tolist() if node in up]
        return sorted(nodes, key=lambda node: draw(1, node, 0, topic))

    def traffic(self, count, every=0.05, burst=1):
        """Make `count` publications, by five publishers on each topic in turn; every third of them is a burst."""
        for number in range(count):
            topic = number % TOPICS
            self.publish(self.holders(topic)[number // TOPICS % 5], topic, burst if number % 3 == 0 else 1)
            self.wait(every)

    def missing(self):
        return {
            (node, name)
            for node in self.engine.present
            for name in self.expected.get(node, set()) - self.log.names(node)
        }


@pytest.mark.parametrize(
    ("system", "dissemination"), [("spidercast", "tree"), ("spidercast", "flood"), ("stan", "tree")]
)
@pytest.mark.parametrize("seed", range(3))
def test_with_five_percent_loss_every_subscriber_receives_all_messages_in_order(seed, system, dissemination):
    net = Net(seed, dissemination, Network(UniformLatency(5_000, 50_000), loss=0.05), system)
    net.traffic(400)
    net.wait(15)
    assert not net.missing()
    assert not net.log.lost
    if dissemination == "tree":
        assert net.log.sent[Answer] >= 1, "something was lost and asked for"


@pytest.mark.parametrize("seed", range(3))
def test_with_five_percent_loss_bursts_arrive_complete_and_in_order(seed):
    net = Net(seed, network=Network(UniformLatency(5_000, 50_000), loss=0.05))
    net.traffic(200, burst=20)
    net.wait(15)
    assert not net.missing()
    assert not net.log.lost
    # 67 were published, each for a third of the nodes.
    assert net.log.sent[TreeBurst] > 67 * 10
    assert net.log.sent[Answer] >= 1, "something was lost and asked for"


def test_without_loss_no_node_requests_messages_and_an_idle_network_is_silent():
    net = Net(1)
    net.traffic(200)
    net.wait(15)
    assert not net.missing()
    assert Ask not in net.log.sent
    before = net.log.sent[Announce]
    net.wait(30)
    assert net.log.sent[Announce] == before


@pytest.mark.parametrize("seconds", [3, 25])
def test_after_a_partition_both_sides_receive_the_messages_of_the_other_side(seconds):
    """In three seconds no link breaks. In twenty-five, all links between the sides break, and new ones are made."""
    side = frozenset(range(0, NODES, 2))
    partition = Partition(30 * SECOND_US, (30 + seconds) * SECOND_US, side)
    net = Net(2, network=Network(ConstantLatency(20_000), 0.0, (partition,)), mend_us=2 * SECOND_US)
    net.traffic(100)
    net.wait(30 - net.engine.now_us / SECOND_US)
    net.traffic(int(seconds * 18))
    assert net.missing(), "the sides are parted"
    net.wait(180)
    assert not net.missing()


def test_a_late_subscriber_that_asks_for_ten_messages_receives_the_last_ten():
    net = Net(3)
    late = net.holders(0)[-1]
    topics = set(net.interest.topics_of(late).tolist())
    net.population.crash(late)
    net.wait(10)
    published = {}
    for number in range(240):
        topic = number % TOPICS
        published.setdefault(topic, []).append(net.publish(net.holders(topic)[number // TOPICS % 4], topic))
        net.wait(0.05)
    net.wait(5)
    net.population.join(late, last=10)
    net.wait(10)
    wanted = {name for topic in topics for name in published[topic][-10:]}
    assert net.log.names(late) == wanted
    net.traffic(80)
    net.wait(5)
    assert not {name for name in net.expected[late] if name[1] > net.engine.now_us - 20 * SECOND_US} - net.log.names(
        late
    )


def test_a_node_that_restarts_after_a_crash_receives_the_messages_of_the_last_minute():
    net = Net(4)
    net.traffic(80)
    net.wait(100)
    gone = net.holders(0)[-1]
    mine = set(net.interest.topics_of(gone).tolist())
    net.population.crash(gone)
    missed = set()
    for number in range(160):
        topic = number % TOPICS
        name = net.publish(net.holders(topic)[number // TOPICS % 4], topic)
        if topic in mine:
            missed.add(name)
        net.wait(0.05)
    net.population.join(gone, last_us=60 * SECOND_US)
    net.traffic(80)
    net.wait(15)
    assert missed <= net.log.names(gone)
    assert not {(node, name) for node, name in net.missing() if node != gone}
    assert len(net.log.names(gone)) < len(missed) + 120, "nothing from before the minute"


@pytest.mark.parametrize("seed", range(3))
def test_after_a_fifth_crashes_the_other_nodes_receive_all_messages_of_each_other(seed):
    # Topics that the crashes disconnect are found as fast as by live nodes.
    net = Net(seed, network=Network(UniformLatency(5_000, 50_000)), mend_us=500_000)
    net.traffic(100)
    victims = [node for node in range(NODES) if draw(seed, node, 2, 0) % 5 == 0]
    net.wait(0.01)
    for node in victims:
        net.population.crash(node)
    net.traffic(200)
    net.wait(60)
    stayed = {(node, name) for node, name in net.missing() if name[0] not in victims}
    assert not stayed


def test_a_record_of_a_run_with_recovery_replays():
    out = io.BytesIO()
    net = Net(5, network=Network(UniformLatency(5_000, 50_000), loss=0.05), record=out)
    net.traffic(100)
    net.wait(5)
    header, steps = records.read_record(io.BytesIO(out.getvalue()))
    system = find_system(header.system)
    parameters = read_parameters(system, header.parameters)
    count, difference = records.replay(
        steps,
        lambda node, view: make_machine(
            system, parameters, header.seed, node, view, header.dissemination, {}, header.recovery
        ),
        decoder_of(header),
    )
    assert difference is None
    assert count > 10_000


def test_a_gap_that_no_neighbour_can_fill_is_reported_and_later_messages_are_delivered():
    """The one copy that leaves the publisher is destroyed, and the publisher forgets it."""
    net = Net(6)
    publisher = net.holders(0)[0]
    net.publish(publisher, 0)
    net.wait(2)
    machine = net.engine._machines[publisher]
    lost = max(net.sequences[publisher], net.engine.now_us) + 1
    actions = machine.handle(Publish(0, b"gone", sequence=lost), net.engine.now_us)
    assert any(isinstance(action, Send) for action in actions)
    machine._parts[-1]._answers._history.drop(0)
    net.sequences[publisher] = lost
    name = net.publish(publisher, 0)
    net.wait(1)
    followers = [node for node in net.holders(0) if node != publisher]
    assert not any(name in net.log.names(node) for node in followers), "they wait for the one before"
    net.wait(20)
    assert all(name in net.log.names(node) for node in followers)
    assert {fact.before for _, fact in net.log.lost} == {name[1]}
    assert sorted(node for node, _ in net.log.lost) == sorted(followers), "each says so once"
