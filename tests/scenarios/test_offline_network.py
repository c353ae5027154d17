"""Nodes with a history on disk that go away and return, in virtual time: each gets what it missed, once and in order."""

import io

import msgspec
import pytest

from gossamer.model.values.draw import draw
from gossamer.protocols.contract import record as records
from gossamer.protocols.contract.actions import Deliver, Observe
from gossamer.protocols.contract.events import Publish
from gossamer.protocols.contract.facts import Lost
from gossamer.protocols.contract.system import read_parameters
from gossamer.simulator.checkers import all_checkers
from gossamer.simulator.disks import ROW_BYTES, SimulatedDisks
from gossamer.simulator.event_population import EventPopulation
from gossamer.simulator.network import ConstantLatency, Network
from gossamer.simulator.recorder import Recorder
from gossamer.systems import decoder_of, find_system, machine_of
from gossamer.workloads.interests import make_interests

NODES, TOPIC = 12, 0
SECOND_US = 1_000_000
HOUR_US = 3_600 * SECOND_US
# Memory keeps 8 messages of the topic, so that everything else must come from disks.
RECOVERY = {"stores": True, "history": 8}


class Net:
    """Twelve nodes on one topic, each with a disk that keeps its content over crashes, and every checker."""

    def __init__(
        self, seed=1, size_bytes=10**8, age_us=HOUR_US, system="spidercast", record=None, loss=0.0, **recovery
    ):
        found = find_system(system)
        parameters = read_parameters(found, {})
        recovery = {**RECOVERY, **recovery}
        watchers = [self, *all_checkers("tree", found.discloses, recovers=True, has_disk=True)]
        answers = [] if record is not None else None
        if record is not None:
            values = {"system": system, "parameters": msgspec.to_builtins(parameters), "seed": seed}
            header = records.Header(**values, dissemination="tree", recovery=recovery)
            watchers.append(Recorder(record, header, answers))
        self.delivered, self.lost, self.published = {}, [], []
        self.population = EventPopulation(
            found,
            parameters,
            seed,
            make_interests(NODES, 1, "1", "zipf:0.5", seed),
            Network(ConstantLatency(20_000), loss),
            watchers,
            answers,
            "tree",
            recovery=recovery,
            disks=SimulatedDisks(size_bytes, age_us),
        )
        self.seed, self.engine = seed, self.population.engine
        self.population.start_together(range(NODES))
        self.wait(20)

    def handled(self, at_us, node, event, actions):
        for action in actions:
            if type(action) is Deliver:
                self.delivered.setdefault(node, []).append(action.payload)
            elif type(action) is Observe and type(action.fact) is Lost:
                self.lost.append((node, action.fact))

    def gone(self, at_us, node):
        pass

    def wait(self, seconds):
        self.engine.run(self.engine.now_us + int(seconds * SECOND_US))

    def publish(self, node, count, every_seconds=0.02):
        for _ in range(count):
            payload = b"%d %d" % (node, len(self.published))
            self.published.append(payload)
            self.engine.give(node, Publish(TOPIC, payload))
            self.wait(every_seconds)

    def missing(self, node):
        """What a node did not deliver of the messages of others."""
        own = b"%d " % node
        return [
            each for each in self.published if not each.startswith(own) and each not in self.delivered.get(node, ())
        ]


@pytest.mark.parametrize(
    ("system", "crashes"),
    [
        ("spidercast", True),
        ("spidercast", False),
        ("stan", True),
        pytest.param("feverfew", True, marks=pytest.mark.slow),
    ],
)
def test_a_returning_node_gets_everything_that_it_missed_once_and_in_order(system, crashes):
    net = Net(system=system)
    net.publish(1, 10)
    net.wait(5)
    (net.population.crash if crashes else net.population.leave)(0)
    net.publish(1, 300)
    net.publish(2, 300)
    net.wait(60)
    net.population.join(0)
    net.wait(60)
    # The checkers fail on a message that is delivered twice or out of order, also over the restart.
    assert net.missing(0) == []
    assert net.lost == []


def test_without_disks_a_returning_node_gets_nothing_that_it_missed():
    net = Net(stores=False)
    net.publish(1, 10)
    net.population.crash(0)
    net.publish(1, 300)
    net.wait(60)
    net.population.join(0)
    net.wait(60)
    assert len(net.missing(0)) >= 292


def test_messages_of_a_publisher_that_went_away_too_come_from_other_disks():
    net = Net()
    net.population.crash(0)
    net.publish(1, 200)
    net.wait(5)
    net.population.crash(1)
    net.wait(300)
    net.population.join(0)
    net.wait(60)
    assert net.missing(0) == []


def test_disks_still_answer_after_every_node_was_restarted():
    net = Net()
    net.population.crash(0)
    net.publish(1, 200)
    net.wait(5)
    for node in range(1, NODES):
        net.population.crash(node)
    net.wait(60)
    for node in range(NODES):
        net.population.join(node)
    net.wait(120)
    assert [net.missing(node) for node in range(NODES)] == [[]] * NODES


def test_a_node_that_is_new_gets_no_messages_from_before_it_came():
    net = Net(seed=3)
    net.population.crash(0)
    # A node that forgets its disk is a new one.
    net.publish(1, 100)
    net.wait(60)
    net.population._disks._disks.pop(0)
    net.population.join(0)
    net.wait(60)
    assert not net.delivered.get(0)


def test_messages_that_go_on_while_a_node_catches_up_do_not_make_it_give_up():
    net = Net(waiting=32)
    net.publish(1, 5)
    net.population.crash(0)
    net.publish(1, 800, every_seconds=0.005)
    net.population.join(0)
    net.publish(1, 600, every_seconds=0.01)
    net.wait(60)
    assert net.missing(0) == []
    assert net.lost == []


def test_many_streams_that_share_a_small_limit_of_bytes_are_all_caught_up():
    # A neighbour sends 20 kB a second: every stream waits for many seconds.
    net = Net(answer_bytes=20_000)
    net.population.crash(0)
    for publisher in range(1, NODES):
        net.publish(publisher, 120, every_seconds=0.005)
    net.population.join(0)
    net.wait(120)
    assert net.missing(0) == []
    assert net.lost == []


def test_a_disk_that_is_too_small_gives_the_newest_messages_and_the_rest_is_reported():
    kept = 50
    net = Net(size_bytes=kept * (ROW_BYTES + 5))
    net.publish(1, 5)
    net.wait(5)
    net.population.crash(0)
    net.publish(1, 300)
    net.population.join(0)
    net.wait(120)
    missing = net.missing(0)
    assert 300 - kept - 8 <= len(missing) <= 300 - kept + 8
    assert missing == net.published[5 : 5 + len(missing)]
    assert [node for node, _ in net.lost] == [0]


def test_messages_that_are_older_than_the_history_are_not_asked_for():
    net = Net(age_us=60 * SECOND_US)
    net.publish(1, 5)
    net.wait(5)
    net.population.crash(0)
    net.publish(1, 50)
    net.wait(100)
    net.publish(1, 50)
    net.population.join(0)
    net.wait(60)
    assert net.missing(0) == net.published[5:55]


def test_a_node_that_crashes_again_and_again_while_it_catches_up_misses_nothing_and_repeats_nothing():
    net = Net(seed=5)
    net.publish(1, 5)
    net.population.crash(0)
    net.publish(1, 1_500, every_seconds=0.001)
    for round in range(6):
        net.population.join(0)
        net.wait(1 + draw(net.seed, round, 0, 0) % 4_000 / 1_000)
        net.population.crash(0)
        net.publish(2, 20)
    net.population.join(0)
    net.wait(120)
    assert net.missing(0) == []


def test_a_record_of_nodes_with_disks_is_replayed_without_a_difference():
    out = io.BytesIO()
    net = Net(record=out)
    net.publish(1, 5)
    net.population.crash(0)
    net.publish(1, 50)
    net.population.join(0)
    net.wait(30)
    out.seek(0)
    header, steps = records.read_record(out)
    count, difference = records.replay(steps, lambda node, view: machine_of(header, node, view), decoder_of(header))
    assert difference is None
    assert count > 1_000


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 12))])
def test_every_missed_message_that_a_holder_has_arrives_whatever_the_order_of_crashes(seed):
    net = Net(seed=seed, loss=0.02)
    away = []
    for round in range(12):
        pick = draw(seed, round, 1, 0)
        if pick % 3 == 0 and len(away) < NODES // 2:
            node = next(each for each in [pick // 3 % NODES, *range(NODES)] if each not in away)
            net.population.crash(node)
            away.append(node)
        elif pick % 3 == 1 and away:
            net.population.join(away.pop(pick // 3 % len(away)))
        publisher = next(each for each in range(NODES) if each not in away)
        net.publish(publisher, 40)
        net.wait(pick % 7)
    for node in away:
        net.population.join(node)
    net.wait(180)
    reported = {node for node, _ in net.lost}
    assert [node for node in range(NODES) if net.missing(node) and node not in reported] == []
    # A message is lost only if its publisher crashed before any other node had it.
    assert sum(len(net.missing(node)) for node in range(NODES)) <= NODES
