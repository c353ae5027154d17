"""The interests of SpiderCast's neighbours: sent whole, as changes or in parts, and repaired after losses."""

import msgspec
import pytest

from gossamer.model.values.ids import Role, identity
from gossamer.protocols.contract.actions import Observe, Send
from gossamer.protocols.contract.events import (
    MessageReceived,
    PeerDown,
    Started,
    Subscribe,
    TimerFired,
    Unsubscribe,
)
from gossamer.protocols.contract.facts import PeerMisbehaved
from gossamer.protocols.contract.system import read_parameters
from gossamer.protocols.membership.interest_exchange import (
    PART_TOPICS,
    TOPICS_MAX,
    InterestAsk,
    InterestPart,
)
from gossamer.simulator.views import InterestOracle
from gossamer.systems import find_system, make_machine
from gossamer.systems.spidercast.messages import (
    Claims,
    ConnectOk,
    ConnectRequest,
    DisconnectOk,
    DisconnectRequest,
    Heartbeat,
    MaintenanceDue,
    MendDue,
    Task,
)
from tests.decoding import decode_message
from tests.unit.systems.spidercast.one_node import OneNode

ME, ONE, TWO = 50, 3, 90


class Node:
    """A node with topics 7 and 8, which two others hold too."""

    def __init__(self, topics=(7, 8), **settings):
        self.oracle = InterestOracle(100)
        for node in (ONE, TWO):
            self.oracle.put(node, [7, 8])
        system = find_system("spidercast")
        parameters = read_parameters(system, settings)
        self.machine = make_machine(system, parameters, 1, ME, self.oracle.view_for(parameters, 1, ME))
        self.part = self.machine._parts[-1]
        self.now_us = 0
        self.give(Started(address=b"here"))
        for topic in topics:
            self.give(Subscribe(topic, Role.FOLLOWS))

    def give(self, event):
        """What was sent, as (to, message), and what was observed."""
        sent, facts = [], []
        for action in self.machine.handle(event, self.now_us):
            if isinstance(action, Send):
                sent += [(node, action.message) for node in action.to]
            elif isinstance(action, Observe):
                facts.append(action.fact)
        return sent, facts

    def hear(self, sender, message):
        return self.give(MessageReceived(sender, message))

    def knows(self, node, task=Task.GREEDY):
        return self.part.tasks[task].neighbours[node].interest


def test_neighbours_on_a_topic_are_up_to_date_after_every_kind_of_change():
    node = Node()
    assert node.part.neighbours_on(7) == ()
    node.hear(TWO, ConnectRequest(Task.GREEDY, 0, 3, (7,), version=1, count=1))
    assert node.part.neighbours_on(7) == (TWO,)
    node.hear(ONE, ConnectRequest(Task.RANDOM, 0, 3, (7, 9), version=1, count=2))
    node.hear(ONE, ConnectRequest(Task.GREEDY, 0, 3, (7, 9), version=1, count=2))
    assert node.part.neighbours_on(7) == (ONE, TWO), "each once"
    node.hear(TWO, Heartbeat(Task.GREEDY, 0, 3, version=2, since=1, removed=(7,), added=(8,)))
    assert node.part.neighbours_on(7) == (ONE,)
    assert node.part.neighbours_on(8) == (TWO,)
    assert node.part.neighbours_on(9) == (ONE,), "the node does not hold this topic"
    assert 9 not in node.part._links._last
    node.give(PeerDown(TWO))
    assert node.part.neighbours_on(8) == ()
    node.give(Unsubscribe(7))
    assert 7 not in node.part._links._last


def test_a_heartbeat_carries_only_the_change_of_an_interest():
    node = Node(topics=[identity(b"%d" % number) for number in range(3_000)])
    node.hear(ONE, ConnectRequest(Task.GREEDY, 0, 3, (7,), version=1, count=1))
    before = node.part._version
    node.now_us = 10**15
    sent, _ = node.give(Subscribe(identity(b"one more"), Role.FOLLOWS))
    ((to, message),) = sent
    assert to == ONE
    assert message == Heartbeat(Task.GREEDY, 1, 1, 10**15, before, (identity(b"one more"),), ())
    assert len(msgspec.msgpack.encode(message)) < 200
    sent, _ = node.give(Unsubscribe(identity(b"5")))
    assert sent[0][1].removed == (identity(b"5"),)
    assert sent[0][1].since == 10**15
    assert node.give(Unsubscribe(identity(b"5")))[0] == [], "nothing changed"


def test_topics_that_do_not_fit_a_connect_are_fetched():
    node, topics = Node(), tuple(range(2_500))
    sent, _ = node.hear(ONE, ConnectRequest(Task.GREEDY, 0, 3, topics[:PART_TOPICS], version=5, count=2_500))
    assert (ONE, InterestAsk(0, 0, b"here")) in sent
    assert node.part.neighbours_on(7) == (ONE,), "known topics count already"
    for index in range(3):
        part = topics[index * PART_TOPICS : (index + 1) * PART_TOPICS]
        sent, _ = node.hear(ONE, InterestPart(5, index, 3, part))
        assert [message for _, message in sent] == ([InterestAsk(5, index + 1, b"here")] if index < 2 else [])
    assert node.knows(ONE) == set(topics)
    sent, _ = node.hear(ONE, ConnectRequest(Task.RANDOM, 0, 3, topics[:PART_TOPICS], version=5, count=2_500))
    assert node.knows(ONE, Task.RANDOM) == set(topics), "it was fetched a moment ago"
    assert not [message for _, message in sent if isinstance(message, InterestAsk)]


def test_messages_of_a_node_with_many_topics_fit_frames():
    node = Node(topics=[identity(b"%d" % number) for number in range(10_000)])
    sent, _ = node.hear(ONE, ConnectRequest(Task.GREEDY, 0, 3, (7,), version=1, count=1))
    (ok,) = [message for _, message in sent if isinstance(message, ConnectOk)]
    assert (len(ok.interest), ok.count) == (PART_TOPICS, 10_000)
    claims = []
    for look in range(1, 4):
        node.now_us = look * 15_000_000
        claims += [message for _, message in node.give(TimerFired(MendDue()))[0] if isinstance(message, Claims)]
    assert sum(len(message.claims) for message in claims) == 10_000
    assert max(len(msgspec.msgpack.encode(message)) for message in [ok, *claims]) < 64 * 1024


def test_after_a_lost_change_the_whole_interest_is_fetched():
    node = Node()
    node.hear(ONE, ConnectRequest(Task.GREEDY, 0, 3, (7,), version=10, count=1))
    sent, _ = node.hear(ONE, Heartbeat(Task.GREEDY, 0, 3, version=30, since=20, added=(8,)))
    assert sent == [(ONE, InterestAsk(0, 0, b"here"))]
    assert node.knows(ONE) == {7}
    assert node.hear(ONE, Heartbeat(Task.GREEDY, 0, 3, version=30))[0] == [], "a fetch is under way"
    node.hear(ONE, Heartbeat(Task.GREEDY, 0, 3, version=20, since=10, added=(9,)))
    assert node.knows(ONE) == {7, 9}, "a delayed change that fits the known version is applied"
    node.hear(ONE, InterestPart(30, 0, 1, (8, 9)))
    assert node.knows(ONE) == {8, 9}
    node.hear(ONE, Heartbeat(Task.GREEDY, 0, 3, version=20, since=30, added=(7,)))
    assert node.knows(ONE) == {8, 9}, "older than the known version"
    assert node.part.neighbours_on(7) == ()
    assert node.part.neighbours_on(8) == (ONE,)


def test_a_lost_request_is_repeated_after_a_heartbeat():
    node = Node()
    node.hear(ONE, ConnectRequest(Task.GREEDY, 0, 3, (7,), version=10, count=1))
    asked = []
    for second in range(6):
        node.now_us = second * 1_000_000
        sent, _ = node.hear(ONE, Heartbeat(Task.GREEDY, 0, 3, version=11))
        asked.append(len(sent))
    assert asked == [1, 0, 1, 0, 1, 0]


def test_coverage_follows_changes_of_interests():
    node = Node()
    greedy = node.part.tasks[Task.GREEDY]
    assert greedy.under_covered == 2
    for version, other in enumerate((60, 61, 62), start=1):
        node.hear(other, ConnectRequest(Task.GREEDY, 0, 3, (7, 8), version=version, count=2))
    assert greedy.under_covered == 0
    assert greedy.under_covered_without(60) == 2
    node.hear(60, Heartbeat(Task.GREEDY, 0, 3, version=9, since=1, removed=(7,)))
    assert greedy.uncovered_topics() == [7]
    assert greedy.under_covered_without(60) == 2
    node.give(Unsubscribe(7))
    assert greedy.under_covered == 0
    node.give(Subscribe(7, Role.FOLLOWS))
    assert greedy.under_covered == 1
    greedy.raise_coverage()
    assert greedy.under_covered == 2


def test_changes_cannot_grow_an_interest_without_bound():
    node = Node()
    node.hear(ONE, ConnectRequest(Task.GREEDY, 0, 3, (), version=0, count=0))
    facts = []
    for number in range(TOPICS_MAX // PART_TOPICS + 5):
        added = tuple(range(number * PART_TOPICS, (number + 1) * PART_TOPICS))
        facts += node.hear(ONE, Heartbeat(Task.GREEDY, 0, 3, version=number + 1, since=number, added=added))[1]
    assert len(node.knows(ONE)) <= TOPICS_MAX
    assert any(isinstance(fact, PeerMisbehaved) for fact in facts)


@pytest.mark.parametrize("parts", [True, False])
def test_a_node_that_cannot_cover_a_topic_still_agrees_to_part_from_redundant_neighbours(parts):
    """Topic 9 has one other holder, fewer than K_g = 3. Four neighbours hold topic 7; with `part_uncovered` one can go."""
    node = Node(topics=(7, 9), part_uncovered=parts)
    for other in (60, 61, 62, 63):
        node.hear(other, ConnectRequest(Task.GREEDY, 5, 5, (7, 9) if other == 60 else (7,), version=1, count=2))
    assert [message for to, message in node.hear(60, DisconnectRequest(Task.GREEDY))[0]] == [], (
        "it holds the rare topic 9"
    )
    agreed = [
        to for to, message in node.hear(61, DisconnectRequest(Task.GREEDY))[0] if isinstance(message, DisconnectOk)
    ]
    assert agreed == ([61] if parts else [])
    assert node.hear(62, DisconnectRequest(Task.GREEDY))[0] == [], "three are needed for topic 7"


@pytest.mark.parametrize("parts", [True, False])
def test_a_node_without_candidates_asks_a_redundant_neighbour_to_part(parts):
    node = Node(topics=(7, 9), part_uncovered=parts)
    for other in (ONE, TWO, 62, 63):
        node.hear(other, ConnectRequest(Task.GREEDY, 5, 5, (7, 9) if other == ONE else (7,), version=1, count=2))
    node.now_us = 100_000
    asked = [to for to, message in node.give(TimerFired(MaintenanceDue()))[0] if isinstance(message, DisconnectRequest)]
    assert len(asked) == parts
    assert ONE not in asked


@pytest.mark.parametrize("gone", [True, False])
def test_a_connect_to_an_unreachable_peer_is_closed_at_once(gone):
    node = Node()
    node.now_us = 100_000
    sent, _ = node.give(TimerFired(MaintenanceDue()))
    ((first, message),) = sent
    assert isinstance(message, ConnectRequest)
    node.now_us = 150_000
    node.give(PeerDown(first, hung_up=not gone))
    node.now_us = 200_000
    sent, _ = node.give(TimerFired(MaintenanceDue()))
    others = [to for to, message in sent if isinstance(message, ConnectRequest)]
    assert others == ([ONE + TWO - first] if gone else [])
    assert len(node.part._links.addresses) <= 1


@pytest.mark.parametrize("coverage", [3, 50])
def test_messages_of_a_node_with_100_000_topics_can_be_decoded_by_its_peers(coverage):
    node = OneNode(topics=range(TOPICS_MAX), greedy_coverage=coverage)
    sent = node.connect_from(2, 1, target=coverage * TOPICS_MAX) + node.turn() + node.beat(1_000_000)
    answers = [message for _, message in sent if isinstance(message, ConnectOk | Heartbeat)]
    assert max(message.target for message in answers) == coverage * TOPICS_MAX
    request = ConnectRequest(Task.GREEDY, 0, coverage * TOPICS_MAX, (1,))
    for message in (*answers, request):
        assert decode_message(msgspec.msgpack.encode(message)) == message
