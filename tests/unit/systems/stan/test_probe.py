"""Probes: which nodes recognise them, and what they do not disclose."""

from gossamer.model.values.ids import Role
from gossamer.protocols.contract.actions import Send
from gossamer.protocols.contract.events import (
    MessageReceived,
    Started,
    Subscribe,
    TimerFired,
    Unsubscribe,
)
from gossamer.protocols.contract.messages import Peer
from gossamer.systems import find_system, make_machine
from gossamer.systems.stan.messages import Enter, Probe, ProbeDue, ProbeReply
from gossamer.systems.stan.parameters import StanParameters
from gossamer.systems.stan.proofs import prove, topic_key

PARAMETERS = StanParameters(membership="cyclon", probes=3)
PEERS = tuple(Peer(node, bytes([node])) for node in range(10, 20))


def node_with(topics, node=1, secret=b""):
    machine = make_machine(find_system("stan"), PARAMETERS, 5, node)
    machine.handle(Started(PEERS, joining=False, address=b"me"), 0)
    for topic in topics:
        machine.handle(Subscribe(topic, Role.FOLLOWS, secret=secret), 0)
    return machine


def sent(actions, kind):
    return [
        (action.to[0], action.message) for action in actions if type(action) is Send and type(action.message) is kind
    ]


def turn(machine, number=1):
    return sent(machine.handle(TimerFired(ProbeDue()), number * PARAMETERS.probe_us), Probe)


def answer(machine, sender, probe):
    ((to, reply),) = sent(machine.handle(MessageReceived(sender, probe), 9), ProbeReply)
    assert to == sender
    return reply


def tags_of(message):
    return [message.tags[place : place + 16] for place in range(0, len(message.tags), 16)]


def test_the_number_and_size_of_probes_do_not_depend_on_the_topics():
    for topics in ((), (4,), range(30)):
        machine = node_with(topics)
        for number in range(1, 6):
            probes = turn(machine, number)
            assert len(probes) == PARAMETERS.probes
            assert {len(probe.tags) for _, probe in probes} == {32 * 16}
            assert all(tags_of(probe) == sorted(tags_of(probe)) for _, probe in probes)


def test_a_probe_finds_every_topic_that_the_two_nodes_share():
    machine, holder = node_with([4, 5, 6]), node_with([3, 4, 5], node=12)
    to, probe = next((to, probe) for number in range(1, 20) for to, probe in turn(machine, number) if to == 12)
    reply = answer(holder, 1, probe)
    entered = sent(machine.handle(MessageReceived(to, reply), 10**7), Enter)
    assert sorted(message.topic for _, message in entered) == [4, 5]


def test_more_topics_than_fit_a_probe_are_probed_in_turn():
    machine = node_with(range(3_000))
    found = set()
    for number in range(1, 4):
        for to, probe in turn(machine, number):
            tags = set(tags_of(probe))
            found |= {
                topic for topic in range(3_000) if prove(topic_key(topic, b""), b"probe", 1, to, probe.nonce) in tags
            }
    assert found == set(range(3_000))


def test_a_holder_recognises_the_probe_and_the_prober_its_answer():
    machine, holder = node_with([4]), node_with([3, 4, 5], node=12)
    number, probe = 0, None
    while probe is None:
        number += 1
        probe = next((probe for to, probe in turn(machine, number) if to == 12), None)
    reply = answer(holder, 1, probe)
    entered = sent(machine.handle(MessageReceived(12, reply), number * PARAMETERS.probe_us + 1), Enter)
    assert [(to, message.topic) for to, message in entered] == [(12, 4)]
    # A reply counts once.
    assert not sent(machine.handle(MessageReceived(12, reply), number * PARAMETERS.probe_us + 2), Enter)


def test_every_node_answers_every_probe_with_as_many_tags():
    probe = Probe(7, prove(topic_key(4, b""), b"probe", 1, 12, 7) + b"x" * 48, b"")
    replies = [answer(node_with(topics, node=12), 1, probe) for topics in ((), (3,), (4,), range(9))]
    assert {len(reply.tags) for reply in replies} == {64}
    proof = prove(topic_key(4, b""), b"reply", 12, 1, 7)
    assert [proof in tags_of(reply) for reply in replies] == [False, False, True, True]


def test_a_node_that_overhears_a_probe_cannot_use_it():
    """With another sender, receiver or nonce the tag is not recognised."""
    tag = prove(topic_key(4, b""), b"probe", 1, 12, 7)
    for sender, receiver, nonce in ((2, 12, 7), (1, 13, 7), (1, 12, 8)):
        reply = answer(node_with([4], node=receiver), sender, Probe(nonce, tag, b""))
        assert tags_of(reply) != [prove(topic_key(4, b""), b"reply", receiver, sender, nonce)]


def test_an_eavesdropper_can_test_a_guessed_name_but_not_without_the_secret():
    """docs/privacy.md states this."""
    for secret, guessed in ((b"", True), (b"between us", False)):
        machine = node_with([4], secret=secret)
        to, probe = turn(machine)[0]
        assert (prove(topic_key(4, b""), b"probe", 1, to, probe.nonce) in tags_of(probe)) is guessed


def test_an_answer_that_is_wrong_or_late_or_from_another_node_is_dropped():
    machine = node_with([4])
    to, probe = turn(machine)[0]
    right = prove(topic_key(4, b""), b"reply", to, 1, probe.nonce)
    other = next(peer.node for peer in PEERS if peer.node != to)
    assert not machine.handle(MessageReceived(other, ProbeReply(probe.nonce, right)), 10**6)
    turn(machine, 2)
    turn(machine, 3)
    assert not machine.handle(MessageReceived(to, ProbeReply(probe.nonce, right)), 10**7)
    to, probe = turn(machine, 4)[0]
    assert not machine.handle(MessageReceived(to, ProbeReply(probe.nonce, b"x" * 16)), 10**7)


def test_a_topic_that_the_node_left_is_neither_probed_nor_recognised():
    machine = node_with([4], node=12)
    machine.handle(Unsubscribe(4), 1)
    probe = Probe(7, prove(topic_key(4, b""), b"probe", 1, 12, 7), b"")
    assert tags_of(answer(machine, 1, probe)) != [prove(topic_key(4, b""), b"reply", 12, 1, 7)]
    for to, probe in turn(machine):
        assert prove(topic_key(4, b""), b"probe", 12, to, probe.nonce) not in tags_of(probe)


def test_junk_in_a_probe_is_answered_with_as_many_bytes_at_most():
    for junk in (b"", b"x", b"y" * 31, bytes(2_048 * 16)):
        assert len(answer(node_with(range(40), node=12), 1, Probe(7, junk, b"")).tags) <= len(junk)
