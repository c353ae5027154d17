"""A member of one topic that counts the probes which other nodes send for it."""

import pytest

from gossamer.model.values.draw import draw
from gossamer.model.values.ids import Role
from gossamer.protocols.contract.actions import Send
from gossamer.protocols.contract.events import MessageReceived, Started, Subscribe, TimerFired
from gossamer.protocols.contract.messages import Peer
from gossamer.systems import find_system, make_machine
from gossamer.systems.stan.messages import Probe, ProbeDue
from gossamer.systems.stan.parameters import StanParameters
from gossamer.systems.stan.proofs import PROOF_BYTES, prove, topic_key

PARAMETERS = StanParameters(membership="cyclon")
PEERS = tuple(Peer(node) for node in range(10, 20))
SHARED = 4


def probes_of(topics, turns=150):
    """When a node sends probes, to whom, how large they are, and which of them a member of `SHARED` recognises."""
    machine = make_machine(find_system("stan"), PARAMETERS, 5, 1)
    machine.handle(Started(PEERS, joining=False, secret=b"s" * 32), 0)
    for topic in topics:
        machine.handle(Subscribe(topic, Role.FOLLOWS), 0)
    found = []
    for turn in range(1, turns + 1):
        now_us = turn * PARAMETERS.probe_us
        for action in machine.handle(TimerFired(ProbeDue()), now_us):
            if isinstance(action, Send) and isinstance(action.message, Probe):
                to, probe = action.to[0], action.message
                tag = prove(topic_key(SHARED, b""), b"probe", 1, to, probe.nonce)
                tags = [probe.tags[at : at + PROOF_BYTES] for at in range(0, len(probe.tags), PROOF_BYTES)]
                found.append((now_us, to, probe.nonce, len(tags), tag in tags))
    return found


@pytest.mark.parametrize("others", [1, 3, 7, 30])
def test_a_member_of_a_topic_sees_the_same_probes_whatever_else_a_node_follows(others):
    alone = probes_of([SHARED])
    assert probes_of([SHARED, *range(100, 100 + others)]) == alone
    assert all(is_recognised for *_, is_recognised in alone)


@pytest.mark.parametrize("topics", [(), (7,), range(100, 120)])
def test_a_node_outside_a_topic_cannot_tell_how_many_topics_a_node_follows(topics):
    assert [each[:4] for each in probes_of(topics)] == [each[:4] for each in probes_of([SHARED])]


def test_a_node_with_many_topics_shows_their_number_up_to_a_factor_of_two_only():
    for count, size in ((32, 32), (33, 64), (64, 64), (65, 128), (5_000, 2_048)):
        assert {each[3] for each in probes_of(range(100, 100 + count), turns=1)} == {size}


def exchange(trial, topics, others):
    """A probe of node 1 and the answer of node 2, as a tap sees them."""
    made = [make_machine(find_system("stan"), PARAMETERS, draw(trial, node, 1, 0), node) for node in (1, 2)]
    for node, machine in enumerate(made, 1):
        secret = draw(trial, node, 2, 0).to_bytes(32, "big")
        machine.handle(Started((Peer(3 - node),), joining=False, secret=secret), 0)
        for topic in topics if node == 1 else others:
            machine.handle(Subscribe(topic, Role.FOLLOWS, secret=b"unknown"), 0)
    sent = [each for each in made[0].handle(TimerFired(ProbeDue()), 10**6) if isinstance(each, Send)]
    probe = sent[0].message
    (reply,) = [each.message for each in made[1].handle(MessageReceived(1, probe), 10**6) if isinstance(each, Send)]
    return probe, reply


def test_a_tap_tells_no_better_than_by_chance_whether_two_nodes_share_a_topic_in_a_thousand_trials():
    right = 0
    for trial in range(1_000):
        shares = draw(trial, 0, 3, 0) % 2 == 1
        probe, reply = exchange(trial, range(10, 14), range(12, 20) if shares else ())
        tags = [content[at : at + PROOF_BYTES] for content in (probe.tags, reply.tags) for at in range(0, 512, 16)]
        # Tags that repeat, or bytes that are not as even as random ones.
        odd = len(set(tags)) < len(tags) or len(set(b"".join(tags))) < 251
        guess = odd or sum(reply.tags) % 2 == 1
        right += guess == shares
    assert 440 < right < 560


def test_a_tap_tells_no_better_than_by_chance_whether_a_node_follows_anything_in_a_thousand_trials():
    right = 0
    for trial in range(1_000):
        follows = draw(trial, 0, 4, 0) % 2 == 1
        probe, _ = exchange(trial, range(10, 30) if follows else (), ())
        assert len(probe.tags) == 512
        right += (sum(probe.tags) > 512 * 127.5) == follows
    assert 440 < right < 560
