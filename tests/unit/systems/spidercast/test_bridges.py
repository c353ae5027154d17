"""Detecting disconnected topics and bridging them: claims of neighbours, impossible claims, and the end of bridges."""

from gossamer.model.values.ids import Role
from gossamer.protocols.contract.actions import Observe, Send
from gossamer.protocols.contract.events import (
    MessageReceived,
    Started,
    Subscribe,
    TimerFired,
    Unsubscribe,
)
from gossamer.protocols.contract.facts import PeerMisbehaved
from gossamer.protocols.contract.system import read_parameters
from gossamer.protocols.roots import PATIENCE
from gossamer.simulator.views import InterestOracle
from gossamer.systems import find_system, make_machine
from gossamer.systems.spidercast.messages import (
    Claims,
    ConnectOk,
    ConnectRequest,
    Heartbeat,
    LeaveNotice,
    MendDue,
    Redirect,
    Task,
)

ME, LOW, HIGH = 50, 3, 90
CHECK_US = 15_000_000


class Lonely:
    """One node with topic 7, which node 3 and node 90 hold too."""

    def __init__(self, **settings):
        self.oracle = InterestOracle(100)
        for node in (ME, LOW, HIGH):
            self.oracle.put(node, [7])
        system = find_system("spidercast")
        parameters = read_parameters(system, settings)
        self.machine = make_machine(system, parameters, 1, ME, self.oracle.view_for(parameters, 1, ME))
        self.now_us = 0
        self.sent = []
        self.facts = []
        self.give(Started((), b"here"))
        self.give(Subscribe(7, Role.FOLLOWS))
        # The first check is skipped, because neighbours may have changed.
        self.check()

    @property
    def part(self):
        return self.machine._parts[-1]

    def give(self, event):
        for action in self.machine.handle(event, self.now_us):
            if isinstance(action, Send):
                self.sent += [(node, action.message) for node in action.to]
            elif isinstance(action, Observe):
                self.facts.append(action.fact)

    def hear(self, sender, message):
        self.give(MessageReceived(sender, message))

    def check(self, times=1):
        for _ in range(times):
            self.now_us += CHECK_US
            self.give(TimerFired(MendDue()))

    def bridge_requests(self):
        return [node for node, message in self.sent if isinstance(message, ConnectRequest) and message.is_bridge]


def test_a_node_that_hears_of_no_lower_id_asks_a_lower_holder_for_a_bridge():
    node = Lonely()
    node.check(PATIENCE - 1)
    assert node.bridge_requests() == []
    node.check()
    assert node.bridge_requests() == [LOW]
    node.hear(LOW, ConnectOk(Task.RANDOM, 1, 0, (7,)))
    assert node.part.tasks[Task.RANDOM].neighbours[LOW].is_bridge
    node.check(3 * PATIENCE)
    assert node.bridge_requests() == [LOW], "one bridge is enough"


def test_a_node_whose_neighbours_change_skips_the_check():
    node = Lonely()
    node.hear(HIGH, ConnectRequest(Task.GREEDY, 0, 3, (7,)))
    node.check()
    assert not [message for _, message in node.sent if isinstance(message, Claims)]
    node.check()
    assert (HIGH, Claims(((7, ME, 0),))) in node.sent
    for _ in range(2 * PATIENCE):
        node.hear(HIGH, LeaveNotice(Task.GREEDY))
        node.check()
        node.hear(HIGH, ConnectRequest(Task.GREEDY, 0, 3, (7,)))
    assert node.bridge_requests() == []


def test_a_lower_neighbour_counts_without_a_claim():
    node = Lonely()
    node.hear(LOW, ConnectRequest(Task.GREEDY, 0, 3, (7,)))
    node.check(3 * PATIENCE)
    assert node.bridge_requests() == []


def test_only_the_random_task_has_bridges_and_only_with_a_shared_topic():
    node = Lonely()
    node.hear(60, ConnectRequest(Task.GREEDY, 0, 3, (7,), b"", True))
    node.hear(61, ConnectRequest(Task.RANDOM, 0, 3, (8,), b"", True))
    node.hear(62, ConnectRequest(Task.RANDOM, 0, 3, (7,), b"", True))
    greedy, random = node.part.tasks
    assert not greedy.neighbours[60].is_bridge
    assert not random.neighbours[61].is_bridge
    assert random.neighbours[62].is_bridge


def test_a_bridge_without_a_shared_topic_is_removed():
    node = Lonely()
    node.hear(62, ConnectRequest(Task.RANDOM, 0, 3, (7,), b"", True))
    node.give(Unsubscribe(7))
    node.check()
    assert (62, LeaveNotice(Task.RANDOM)) in node.sent
    assert not node.part.tasks[Task.RANDOM].neighbours


def test_a_bridge_is_removed_when_the_other_end_leaves_the_topic():
    node = Lonely()
    node.hear(62, ConnectRequest(Task.RANDOM, 0, 3, (7,), b"", True))
    node.hear(62, Heartbeat(Task.RANDOM, 1, 0, version=1, since=0, added=(9,), removed=(7,)))
    node.check()
    assert not node.part.tasks[Task.RANDOM].neighbours


def test_a_bridge_stays_a_bridge_when_its_other_end_connects_again():
    node = Lonely()
    node.hear(62, ConnectRequest(Task.RANDOM, 0, 3, (7,), b"", True))
    node.hear(62, ConnectRequest(Task.RANDOM, 0, 3, (7,)))
    assert node.part.tasks[Task.RANDOM].neighbours[62].is_bridge


def test_another_subscription_does_not_restart_the_wait():
    node = Lonely()
    for topic in range(100, 100 + PATIENCE):
        node.check()
        node.give(Subscribe(topic, Role.FOLLOWS))
    assert node.bridge_requests() == [LOW]


def test_impossible_claims_are_refused_and_reported():
    node = Lonely()
    node.hear(HIGH, ConnectRequest(Task.GREEDY, 0, 3, (7,)))
    for claims in (((7, -7, 0),), ((7, LOW, 0),), ((7, HIGH, 3),)):
        node.facts.clear()
        node.hear(HIGH, Claims(claims))
        assert any(isinstance(fact, PeerMisbehaved) for fact in node.facts), claims
    assert node.part.tasks[Task.GREEDY].neighbours[HIGH].roots == {}


def test_only_claims_on_shared_topics_are_kept():
    node = Lonely()
    node.hear(HIGH, ConnectRequest(Task.GREEDY, 0, 3, (*range(1_000),)))
    node.hear(HIGH, Claims(tuple((topic, LOW, 1) for topic in range(1_000))))
    assert node.part.tasks[Task.GREEDY].neighbours[HIGH].roots == {7: (7, LOW, 1)}
    node.hear(12, Claims(((7, 1, 1),)))
    node.check(2 * PATIENCE)
    assert node.bridge_requests() == [], "it has heard of a lower id"


def test_addresses_of_peers_that_redirected_the_node_are_not_kept():
    node = Lonely()
    for _ in range(20):
        node.check(PATIENCE)
        node.hear(LOW, Redirect(Task.RANDOM, None))
    assert len(node.part._links.addresses) <= 1
