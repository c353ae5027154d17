"""A stranger that knows a topic's id: it is no neighbour on the topic, and must neither learn nor change anything."""

import pytest

from gossamer.model.values.draw import draw
from gossamer.model.values.ids import Role
from gossamer.protocols.contract.actions import Deliver, Observe, Send
from gossamer.protocols.contract.events import MessageReceived, Publish, Started, Subscribe, Unsubscribe
from gossamer.protocols.contract.facts import PeerMisbehaved
from gossamer.protocols.contract.messages import Data, Peer
from gossamer.protocols.delivery.announcements import Announce, MessageRun
from gossamer.protocols.delivery.recovery.messages import Answer, Ask, AskHistory, Past
from gossamer.protocols.dissemination.tree_messages import Graft, Prune, TreeBurst, TreeData
from gossamer.systems import find_system, make_machine
from gossamer.systems.stan.messages import Collect, Enter, Held, Hold, TopicLeave
from gossamer.systems.stan.parameters import StanParameters
from gossamer.systems.stan.proofs import prove, topic_key

PEERS = tuple(Peer(node) for node in range(10, 20))
TOPIC, OTHER, STRANGER, MEMBER = 4, 5, 15, 12
DATA = Data(TOPIC, STRANGER, 9, 0, 0, b"forged")
MESSAGES = (
    Graft(TOPIC, ()),
    Graft(TOPIC, ((1, 101),)),
    Prune(TOPIC),
    TreeData(TOPIC, STRANGER, 9, 0, 0, b"forged"),
    TreeBurst(TOPIC, STRANGER, 9, 0, ((0, b"forged"), (0, b"forged"))),
    Ask(TOPIC, 1, 0, 2**40),
    AskHistory(TOPIC, 100, 10**9),
    Announce((MessageRun(TOPIC, STRANGER, 9, 0),)),
    Announce(()),
    Answer(TOPIC, STRANGER, (DATA,)),
    Past(TOPIC, (DATA,), False, (0,)),
)


def node_with(topics, seed=1):
    machine = make_machine(
        find_system("stan"), StanParameters(membership="cyclon"), seed, 1, None, "tree", None, recovery={}
    )
    machine.handle(Started(PEERS, joining=False, secret=b"s" * 32), 0)
    for topic in topics:
        machine.handle(Subscribe(topic, Role.FOLLOWS), 0)
    return machine


def hear(machine, sender, message, now_us=1_000_000):
    return list(machine.handle(MessageReceived(sender, message), now_us))


def proof(sender, topic=TOPIC, secret=b""):
    return prove(topic_key(topic, secret), b"stan", sender, 1)


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_a_member_answers_a_stranger_as_a_node_without_the_topic_does(message):
    member, other = node_with([TOPIC]), node_with([OTHER])
    member.handle(Publish(TOPIC, b"secret"), 500_000)
    for machine in (member, other):
        machine.handle(Subscribe(6, Role.FOLLOWS), 0)
    actions = hear(member, STRANGER, message)
    assert actions == hear(other, STRANGER, message)
    assert all(isinstance(action, Observe) for action in actions), "nothing is sent, delivered or waited for"


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_a_neighbour_on_another_topic_is_a_stranger_on_this_one(message):
    member = node_with([TOPIC, OTHER])
    hear(member, STRANGER, Hold(OTHER, proof(STRANGER, OTHER)))
    assert STRANGER in member.overlay.neighbours_on(OTHER)
    assert all(isinstance(action, Observe) for action in hear(member, STRANGER, message))


def test_strangers_guess_membership_at_chance_level_in_a_thousand_trials():
    right = 0
    for trial in range(1_000):
        is_member = draw(1, trial, 1, 0) % 2 == 1
        machine = node_with([TOPIC if is_member else OTHER], seed=trial)
        message = MESSAGES[trial % len(MESSAGES)]
        answers = [action for action in hear(machine, STRANGER, message) if not isinstance(action, Observe)]
        guess = bool(answers) or draw(2, trial, 1, 0) % 2 == 1
        right += guess == is_member
    assert 430 < right < 570


def test_a_neighbour_that_proved_to_know_the_key_is_heard():
    """The tests above would also pass if nobody were heard."""
    member = node_with([TOPIC])
    hear(member, MEMBER, Hold(TOPIC, proof(MEMBER)))
    delivered = hear(member, MEMBER, TreeData(TOPIC, MEMBER, 9, 0, 0, b"real"))
    assert [action.payload for action in delivered if isinstance(action, Deliver)] == [b"real"]


@pytest.mark.parametrize("secret", [b"", b"another"])
def test_a_wrong_secret_makes_no_neighbour(secret):
    member = make_machine(find_system("stan"), StanParameters(membership="cyclon"), 1, 1)
    member.handle(Started(PEERS, joining=False, secret=b"s" * 32), 0)
    member.handle(Subscribe(TOPIC, Role.FOLLOWS, secret=b"right"), 0)
    for kind in (Hold, Held, TopicLeave):
        actions = hear(member, MEMBER, kind(TOPIC, proof(MEMBER, secret=secret)))
        assert [type(action) for action in actions] == [Observe]
    assert not member.overlay.neighbours_on(TOPIC)
    hear(member, MEMBER, Hold(TOPIC, proof(MEMBER, secret=b"right")))
    assert list(member.overlay.neighbours_on(TOPIC)) == [MEMBER]


def test_a_node_that_others_named_gets_nothing_until_it_has_proved_that_it_is_in_the_topic():
    """A member may name a stranger: the stranger enters the view, but is no neighbour."""
    member = node_with([TOPIC])
    hear(member, MEMBER, Collect(TOPIC, proof(MEMBER), Peer(STRANGER), 7, 0, True, ()))
    assert list(member.overlay.neighbours_on(TOPIC)) == [MEMBER]
    sent = [action for action in member.handle(Publish(TOPIC, b"x"), 2_000_000) if isinstance(action, Send)]
    assert [action.to for action in sent if isinstance(action.message, TreeData)] == [(MEMBER,)]
    hear(member, STRANGER, Held(TOPIC, proof(STRANGER)))
    assert list(member.overlay.neighbours_on(TOPIC)) == [MEMBER, STRANGER]


def test_frames_that_were_under_way_when_a_node_left_a_topic_are_no_offence():
    machine = node_with([TOPIC])
    hear(machine, MEMBER, Hold(TOPIC, proof(MEMBER)))
    machine.handle(Unsubscribe(TOPIC), 1_500_000)
    late = (TreeData(TOPIC, MEMBER, 9, 0, 0, b"late"), Collect(TOPIC, proof(MEMBER), Peer(MEMBER), 7, 3, True, ()))
    for message in (*late, Enter(TOPIC, proof(MEMBER), Peer(MEMBER))):
        assert hear(machine, MEMBER, message) == []
    forged = hear(machine, STRANGER, Hold(TOPIC, b"x" * 16))
    assert [type(action.fact) for action in forged] == [PeerMisbehaved]
