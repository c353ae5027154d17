"""What a peer may make an OMen node keep, send and believe."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.live.transport import wire
from gossamer.model.values.ids import Role
from gossamer.protocols.contract.actions import Observe, Send
from gossamer.protocols.contract.events import MessageReceived, PeerDown, Started, Subscribe, TimerFired, Unsubscribe
from gossamer.protocols.contract.facts import PeerMisbehaved
from gossamer.protocols.contract.messages import NUMBER_MAX, Peer
from gossamer.protocols.contract.system import read_parameters
from gossamer.systems import find_system, make_machine
from gossamer.systems.omen.circle import FAILED_MAX, FAILED_TURNS
from gossamer.systems.omen.linking import COMMANDED_MAX
from gossamer.systems.omen.links import ASKS_MAX
from gossamer.systems.omen.messages import (
    BridgeCheckDue,
    ChurnEvent,
    ChurnKind,
    ChurnNotice,
    ComponentClaims,
    Departure,
    DoneNotice,
    DropOk,
    DropRefusal,
    DropRequest,
    InterestUpdate,
    LinkCommand,
    LinkDone,
    LinkMissing,
    LinkOk,
    LinkPulse,
    LinkRefusal,
    LinkRequest,
    NoticeOk,
    RendezvousAnswer,
    RendezvousAsk,
    RingDescriptor,
    RingReply,
    RingRequest,
    ShadowAsk,
    ShadowLink,
    ShadowState,
    Suspicion,
    TurnDue,
    WatchEnd,
    WatchOk,
    WatchPulse,
    WatchState,
)
from gossamer.systems.omen.repairs import DONE_MAX, OPEN_MAX
from gossamer.systems.omen.watching import ANSWERS_MAX

ME = 50
LINKS = 20
SYSTEM = find_system("omen")


class OneNode:
    """A live node that holds `topics`."""

    def __init__(self, topics=(5, 6, 7), **own):
        parameters = read_parameters(SYSTEM, {**SYSTEM.live[0].settings, "links_max": LINKS, **own})
        self.machine = make_machine(SYSTEM, parameters, 1, ME, None)
        self.part = self.machine._parts[-1]
        self.now_us = 10_000_000
        self.give(Started((), address=b"here"))
        for topic in topics:
            self.give(Subscribe(topic, Role.FOLLOWS))

    def give(self, event):
        self.actions = self.machine.handle(event, self.now_us)
        return [(node, action.message) for action in self.actions if isinstance(action, Send) for node in action.to]

    def hear(self, sender, message):
        return self.give(MessageReceived(sender, message))

    def turn(self):
        self.now_us += 1_000_000
        return self.give(TimerFired(TurnDue()))

    @property
    def offences(self):
        facts = [action.fact for action in self.actions if isinstance(action, Observe)]
        return [fact for fact in facts if isinstance(fact, PeerMisbehaved)]


def of_kind(sent, kind):
    return [node for node, message in sent if isinstance(message, kind)]


def test_a_node_accepts_links_up_to_its_bound_and_only_with_a_shared_topic():
    node = OneNode()
    assert of_kind(node.hear(99, LinkRequest(1, 1, 1, (8,))), LinkRefusal) == [99]
    for peer in range(100, 150):
        sent = node.hear(peer, LinkRequest(1, 1, 1, (7,)))
        assert of_kind(sent, LinkOk if peer < 100 + LINKS else LinkRefusal) == [peer]
    assert len(node.part.links.neighbours) == LINKS


def test_a_coordinator_that_lies_makes_a_node_ask_a_bounded_number_of_others():
    node = OneNode()
    event = ChurnEvent(3, 1, ChurnKind.LEAVE)
    asked = 0
    for first in range(0, 5_000, 1_000):
        sent = node.hear(1, LinkCommand(event, tuple(Peer(1_000 + first + each) for each in range(1_000))))
        asked += len(of_kind(sent, LinkRequest))
    assert asked == COMMANDED_MAX
    for _ in range(10):
        node.turn()
        node.hear(1, LinkCommand(event, tuple(Peer(9_000 + each) for each in range(1_000))))
        assert len(node.part.asks._open) <= ASKS_MAX
    assert not node.part.links.neighbours, "an end that does not answer is no neighbour"


def test_a_command_is_answered_once_when_all_of_its_links_are_up_or_cannot_be():
    node = OneNode()
    event = ChurnEvent(3, 1, ChurnKind.LEAVE)
    node.hear(100, LinkRequest(1, 1, 1, (7,)))
    command = LinkCommand(event, (Peer(100), Peer(101), Peer(102), Peer(ME)))
    assert of_kind(node.hear(1, command), LinkDone) == []
    assert of_kind(node.hear(101, LinkOk(1, 1, 1, (7,))), LinkDone) == []
    sent = node.hear(102, LinkRefusal())
    assert [each for each in sent if isinstance(each[1], LinkDone)] == [(1, LinkDone(event, (100, 101), (ME, 102)))]
    assert of_kind(node.hear(1, LinkCommand(event, (Peer(101),))), LinkDone) == [1], "if the answer was lost"


def test_a_coordinator_that_never_stops_commanding_is_answered_about_its_last_command_only():
    node = OneNode()
    event = ChurnEvent(3, 1, ChurnKind.LEAVE)
    answers = []
    for turn in range(40):
        peers = tuple(Peer(1_000 * (turn + 1) + each) for each in range(COMMANDED_MAX))
        sent = node.hear(1, LinkCommand(event, peers)) + node.turn()
        answers += [message for _, message in sent if isinstance(message, LinkDone)]
        assert len(node.part.asks._orders) <= 1
    assert answers
    assert all(len(each.up) + len(each.down) <= COMMANDED_MAX for each in answers)


def test_a_flood_of_questions_is_answered_a_bounded_number_of_times_in_a_turn():
    node = OneNode()
    sent = [each for _ in range(1_000) for each in node.hear(1, ShadowAsk(3, 1, 0, (7,)))]
    assert len(of_kind(sent, ShadowState)) == ANSWERS_MAX
    node.turn()
    assert of_kind(node.hear(1, ShadowAsk(3, 1, 0, (7,))), ShadowState) == [1]


def test_a_false_report_of_a_death_does_not_outlast_the_next_word_of_the_node():
    node = OneNode()
    node.hear(2, WatchPulse(1_024, 1))
    node.hear(2, WatchState(1_024, 1, 1, 1, (7,), (Peer(3), Peer(4))))
    assert of_kind(node.hear(1, ChurnNotice(ChurnEvent(2, NUMBER_MAX, ChurnKind.LEAVE))), Suspicion) == [2]
    assert node.part.circle.is_failed(2)
    # The node refutes: an incarnation of a thousand more at most is asked of it.
    assert of_kind(node.hear(2, WatchPulse(1_024, 1)), Suspicion) == [2]
    node.hear(2, WatchPulse(2 * 1_024 + 1, 1))
    assert not node.part.circle.is_failed(2)


def test_a_death_that_nobody_confirms_is_forgotten_after_a_while():
    node = OneNode()
    node.hear(2, RingRequest((RingDescriptor(2, b"", NUMBER_MAX, 0),)))
    node.give(PeerDown(2))
    assert node.part.circle.is_failed(2)
    for _ in range(FAILED_TURNS + 1):
        node.turn()
    assert not node.part.circle.is_failed(2)


def test_a_node_refutes_its_own_death_but_not_with_an_absurd_incarnation():
    node = OneNode()
    before = node.part.watchers.incarnation
    node.hear(1, Suspicion(NUMBER_MAX))
    assert node.part.watchers.incarnation == before
    node.hear(1, Suspicion(before))
    assert node.part.watchers.incarnation == before + 1
    node.hear(1, ChurnNotice(ChurnEvent(ME, before + 1, ChurnKind.LEAVE)))
    assert node.part.watchers.incarnation == before + 2


def test_a_reporter_speaks_for_itself_only():
    node = OneNode()
    node.hear(2, WatchPulse(1_024, 1))
    node.hear(2, WatchState(1_024, 1, 1, 1, (7,), (Peer(3), Peer(4))))
    event = ChurnEvent(2, 1_024, ChurnKind.LEAVE)
    node.hear(8, ChurnNotice(event, tuple(map(Peer, range(100, 900)))))
    assert set(node.part.repairs.open[event].terminals) == {3, 4}
    node.hear(8, ChurnNotice(event, (Peer(8),)))
    assert set(node.part.repairs.open[event].terminals) == {3, 4, 8}


def test_no_more_predecessors_are_watched_than_twice_the_resilience_and_two():
    node = OneNode(resilience=2)
    for peer in range(100, 400):
        assert of_kind(node.hear(peer, WatchPulse(1_024, 1)), WatchOk) == [peer]
        assert len(node.part.watching.watched) <= 6
    distances = {peer: node.part.circle.distance_before(peer) for peer in range(100, 400)}
    assert set(node.part.watching.watched) == set(sorted(distances, key=distances.get)[:6])


@pytest.mark.parametrize(
    "message", [LinkRequest(1, 1, 1, (7,)), WatchPulse(1, 1), LinkOk(1, 1, 1, (7,)), LinkMissing()]
)
def test_a_message_with_the_nodes_own_id_is_an_offence_and_changes_nothing(message):
    node = OneNode()
    assert node.hear(ME, message) == []
    assert len(node.offences) == 1
    assert not node.part.links.neighbours
    assert not node.part.watching.watched


def test_an_agreed_drop_needs_witnesses_for_all_shared_topics():
    node = OneNode()
    for peer, topics in ((1, (5, 6)), (2, (5,)), (3, (6,))):
        node.hear(peer, LinkRequest(1, 1, len(topics), topics))
    assert of_kind(node.hear(1, DropRequest((2,))), DropRefusal) == [1]
    assert of_kind(node.hear(1, DropRequest((2, 99))), DropRefusal) == [1]
    assert of_kind(node.hear(1, DropRequest((2, 3))), DropOk) == [1]
    assert sorted(node.part.links.neighbours) == [2, 3]


ids = st.integers(0, 12) | st.just(ME)
numbers = st.integers(0, 3_000) | st.just(NUMBER_MAX)
topics = st.lists(st.integers(4, 9), max_size=4).map(tuple)
peers = st.lists(ids.map(Peer), max_size=6).map(tuple)
node_ids = st.lists(ids, max_size=6).map(tuple)
churn = st.builds(ChurnEvent, ids, numbers, st.sampled_from(ChurnKind))
descriptors = st.lists(st.builds(RingDescriptor, ids, st.just(b""), numbers, st.integers(-5, 300)), max_size=5).map(
    tuple
)
shadow_links = st.lists(st.builds(ShadowLink, ids, st.just(b""), topics), max_size=5).map(tuple)
counts = st.integers(0, 6)
claims = st.lists(st.tuples(st.integers(4, 9), ids, st.integers(0, 16)), max_size=4).map(tuple)
messages = st.one_of(
    st.builds(RingRequest, descriptors),
    st.builds(RingReply, descriptors),
    st.builds(WatchPulse, numbers, numbers),
    st.builds(WatchOk, numbers),
    st.builds(WatchState, numbers, numbers, numbers, counts, topics, peers, topics),
    st.just(WatchEnd()),
    st.builds(ShadowAsk, ids, counts, counts, topics, st.booleans()),
    st.builds(ShadowState, counts, st.integers(0, 1), counts, topics, shadow_links),
    st.builds(ChurnNotice, churn, peers, st.booleans()),
    st.builds(NoticeOk, churn),
    st.builds(Suspicion, numbers),
    st.builds(DoneNotice, churn),
    st.builds(LinkCommand, churn, peers),
    st.builds(LinkDone, churn, st.lists(ids, max_size=4).map(tuple), st.lists(ids, max_size=4).map(tuple)),
    st.builds(LinkRequest, numbers, numbers, counts, topics),
    st.builds(LinkOk, numbers, numbers, counts, topics),
    st.just(LinkRefusal()),
    st.just(LinkMissing()),
    st.builds(LinkPulse, numbers, numbers, peers, st.none() | node_ids),
    st.builds(InterestUpdate, numbers, numbers, topics, topics),
    st.just(Departure()),
    st.builds(DropRequest, node_ids),
    st.just(DropOk()),
    st.just(DropRefusal()),
    st.builds(ComponentClaims, claims),
    st.builds(RendezvousAsk, st.integers(4, 9), ids.map(Peer), st.integers(0, 64)),
    st.builds(RendezvousAnswer, st.integers(4, 9), ids.map(Peer)),
)
events = st.one_of(
    st.builds(MessageReceived, ids, messages),
    st.builds(MessageReceived, ids, messages),
    st.builds(PeerDown, ids, st.booleans()),
    st.sampled_from([TimerFired(TurnDue()), TimerFired(BridgeCheckDue()), Subscribe(8, Role.FOLLOWS), Unsubscribe(8)]),
)


@settings(max_examples=150)
@given(st.lists(st.tuples(events, st.integers(0, 1_500_000)), max_size=60))
def test_whatever_peers_send_a_node_raises_nothing_keeps_bounded_state_and_sends_readable_messages(told):
    node = OneNode()
    decode = wire.message_decoder(node.machine.part_classes).decode
    for event, later_us in told:
        node.now_us += later_us
        for _, message in node.give(event):
            decode(wire.frame(message)[4:])
        part = node.part
        assert len(part.links.neighbours) <= LINKS
        assert len(part.repairs.open) <= OPEN_MAX
        assert len(part.repairs._done) <= DONE_MAX
        assert len(part.watching.watched) <= 6
        assert len(part.circle.failed) <= FAILED_MAX
        assert part.circle.failed.keys() == part.circle._failed_at.keys()
        assert len(part.circle.view) <= part.circle.size
        assert ME not in part.links.neighbours
        assert ME not in part.circle.view
        assert set(part.links.addresses) <= set(part.links.neighbours)
