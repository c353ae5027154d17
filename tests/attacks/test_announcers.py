"""Neighbours that announce nothing, or messages that they do not have: honest messages arrive, and the cost is bounded.

A neighbour that uses a number that it never defined is in `tests/live/test_attacks.py`.
"""

from typing import ClassVar

import pytest

from gossamer.protocols.contract.actions import Observe, Send
from gossamer.protocols.contract.facts import PeerMisbehaved
from gossamer.protocols.contract.node import NodeMachine
from gossamer.protocols.delivery.announcements import Announce, MessageRun
from gossamer.protocols.delivery.recovery.messages import Ask
from gossamer.protocols.dissemination.tree_messages import Graft, TreeData
from tests.scenarios.test_announcements_network import ROUND_TRIP, losses, relays
from tests.scenarios.test_recovery_network import TOPICS, Net

# Numbers that no publisher reaches, and publishers that do not exist.
NEVER, NOBODY = 2**60, 1_000_000


class Mute(NodeMachine):
    """A machine that announces nothing."""

    __slots__ = ()

    def handle(self, event, now_us):
        return [a for a in super().handle(event, now_us) if not (type(a) is Send and type(a.message) is Announce)]


class Liar(NodeMachine):
    """A machine that adds false runs to everything that it announces: of real publishers, of others, on topics of nobody."""

    __slots__ = ()
    count: ClassVar = 0

    def handle(self, event, now_us):
        return [self._lie(action) for action in super().handle(event, now_us)]

    def _lie(self, action):
        if type(action) is not Send or type(action.message) is not Announce:
            return action
        Liar.count += 1
        runs = action.message.runs
        false = [MessageRun(run.topic, run.publisher, NEVER + Liar.count, 0, 5) for run in runs]
        false += [MessageRun(run.topic, NOBODY + Liar.count, NEVER, 0) for run in runs]
        return Send(action.to, Announce((*runs, *false, MessageRun(NOBODY, NOBODY, NEVER))))


class Counter:
    """Counts reports of peers, and requests, by node."""

    def __init__(self):
        self.reported, self.requests = {}, 0

    def handled(self, at_us, node, event, actions):
        for action in actions:
            if type(action) is Observe and type(action.fact) is PeerMisbehaved:
                self.reported[action.fact.node] = self.reported.get(action.fact.node, 0) + 1
            elif type(action) is Send and type(action.message) in (Ask, Graft):
                self.requests += len(action.to)

    def gone(self, at_us, node):
        pass


def with_attacker(seed, kind):
    """A network in which a relay with many neighbours behind it is an attacker."""
    net = Net(seed)
    net.traffic(100)
    topic = max(range(TOPICS), key=lambda topic: len(relays(net, topic)))
    attacker = relays(net, topic)[0]
    net.engine._machines[attacker].__class__ = kind
    return net, attacker


@pytest.mark.parametrize("seed", range(2))
def test_lost_messages_are_found_although_a_neighbour_announces_nothing(seed):
    """Others announce too; at the latest all other neighbours on the topic do, within eight seconds."""
    net, _ = with_attacker(seed, Mute)
    net.traffic(100)
    assert losses(net, 8 + 2 * ROUND_TRIP, count=16) == []
    assert not net.log.lost


@pytest.mark.parametrize("seed", range(2))
def test_false_announcements_are_counted_and_cost_a_bounded_number_of_requests(seed):
    net, attacker = with_attacker(seed, Liar)
    counter = Counter()
    net.engine._watchers = (*net.engine._watchers, counter)
    Liar.count = 0
    net.traffic(200)
    net.wait(20)
    assert not net.missing(), "honest messages arrive"
    assert counter.reported == {attacker: Liar.count}, "each false frame names a topic that its receiver does not hold"
    assert all(fact.before > NEVER for _, fact in net.log.lost), "only false messages are reported as lost"
    # Each false frame has two or more false runs, and each is requested from the neighbours for up to four seconds.
    assert counter.requests < 50 * Liar.count
    assert net.log.sent[TreeData] < 1.3 * sum(map(len, net.expected.values())), "the tree does not turn into a flood"
