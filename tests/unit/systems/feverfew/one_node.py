"""One Feverfew node, and what it sends."""

from gossamer.model.values.ids import Role
from gossamer.protocols.contract.actions import Observe, Send
from gossamer.protocols.contract.events import MessageReceived, Started, Subscribe, TimerFired
from gossamer.protocols.contract.facts import PeerMisbehaved
from gossamer.protocols.contract.messages import Digest, Peer
from gossamer.protocols.contract.system import read_parameters
from gossamer.simulator.views import InterestOracle
from gossamer.systems import find_system, make_machine
from gossamer.systems.feverfew.messages import (
    BridgeDue,
    CoverDue,
    Exchange,
    ExchangeDue,
    HoldOk,
    HoldRequest,
    Match,
    PulseDue,
    SimilarEntry,
)

ME = 50
PERIOD_US = 1_000_000
LIVE = find_system("feverfew").live[0].settings


class OneNode:
    """A node that holds `topics`. With a `view` an oracle knows the interests of peers; otherwise it is a live node."""

    def __init__(self, topics=(7,), view=None, contacts=(), seed=1, **settings):
        system, oracle = find_system("feverfew"), None
        if view is None:
            settings = {**LIVE, **settings}
        parameters = read_parameters(system, settings)
        if view is not None:
            self.oracle = InterestOracle(100)
            for node, interest in {**view, ME: topics}.items():
                self.oracle.put(node, list(interest))
            oracle = self.oracle.view_for(parameters, seed, ME)
        self.machine = make_machine(system, parameters, seed, ME, oracle)
        self.part = self.machine._parts[-1]
        self.links = self.part._links
        self.now_us = 10 * PERIOD_US
        self.give(Started(tuple(map(Peer, contacts)), joining=False, address=b"here"))
        for topic in topics:
            self.give(Subscribe(topic, Role.FOLLOWS))

    @property
    def neighbours(self):
        return sorted(self.links.neighbours)

    @property
    def offences(self):
        """What the last event made the node report about peers."""
        facts = [action.fact for action in self.actions if isinstance(action, Observe)]
        return [fact for fact in facts if isinstance(fact, PeerMisbehaved)]

    def give(self, event):
        """Handle an event; what was sent, as (receiver, message)."""
        self.actions = self.machine.handle(event, self.now_us)
        return [(node, action.message) for action in self.actions if isinstance(action, Send) for node in action.to]

    def hear(self, sender, message):
        return self.give(MessageReceived(sender, message))

    def wait(self, timer, periods=1):
        """Have a timer fire some periods later; what was sent."""
        self.now_us += int(periods * PERIOD_US)
        return self.give(TimerFired(timer))

    def exchange_turn(self, periods=1):
        return self.wait(ExchangeDue(), periods)

    def cover_turn(self, periods=1):
        return self.wait(CoverDue(), periods)

    def pulse_turn(self, periods=1):
        return self.wait(PulseDue(), periods)

    def mend_turn(self, periods=2):
        return self.wait(BridgeDue(), periods)

    def meet(self, sender, *others):
        """Receive an exchange that names the sender and others, each as (node, topics) or as a node without a digest."""
        return self.hear(sender, Exchange(tuple(map(entry, (sender, *others)))))

    def hold_from(self, sender, *topics, version=1):
        return self.hear(sender, HoldRequest(version, len(topics), topics))

    def hold_ok_from(self, sender, *topics, version=1):
        return self.hear(sender, HoldOk(version, len(topics), topics))

    def link_to(self, node, *topics):
        """Choose a node that holds these topics, and have it answer."""
        self.hear(99, Match(topics[0], node, b"", Digest(1, len(topics), topics)))
        self.cover_turn()
        assert node in self.part.cover
        self.hold_ok_from(node, *topics)


def entry(told):
    if isinstance(told, int):
        return SimilarEntry(told)
    node, topics = told
    return SimilarEntry(node, 0, b"", Digest(1, len(topics), tuple(topics)))


def of_kind(sent, kind):
    """The receivers of messages of a class."""
    return [node for node, message in sent if isinstance(message, kind)]


def messages_of(sent, kind):
    return [message for _, message in sent if isinstance(message, kind)]
