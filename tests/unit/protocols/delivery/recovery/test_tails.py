"""Telling neighbours the last message of each publisher."""

from gossamer.model.values.ids import Role
from gossamer.protocols.contract.actions import Send
from gossamer.protocols.contract.events import Publish, Refused, Subscribe
from gossamer.protocols.contract.facts import NeighbourUp
from gossamer.protocols.delivery.recovery.messages import Have, HaveDue, Tail
from tests.unit.protocols.delivery.recovery.one_node import ANN, ME, OTHER, SECOND, TOPIC, Node, data


def test_neighbours_receive_the_name_of_the_last_message_three_times():
    node = Node((Subscribe(TOPIC, Role.BOTH), Subscribe(OTHER, Role.BOTH)))
    node.get(data(1))
    node.get(data(2, 1))
    node.give(Publish(OTHER, b"y"))
    told = [a for a in node.wait(30 * SECOND) if type(a) is Send]
    ages_us = (SECOND, 2 * SECOND, 6 * SECOND)
    mine = [Tail(OTHER, ME, 10 * SECOND + 1, age_us) for age_us in ages_us]
    heard = [Tail(TOPIC, ANN, 2, age_us) for age_us in ages_us]
    by_node = {}
    for send in told:
        by_node.setdefault(send.to, []).append(send.message)
    assert by_node == {
        (2,): [Have((tail,)) for tail in heard],
        (3,): [Have((tail,)) for tail in heard],
        (4,): [Have(tails) for tails in zip(heard, mine, strict=True)],
        (5,): [Have((tail,)) for tail in mine],
    }


def test_a_new_neighbour_receives_the_last_messages_of_all_shared_topics():
    node = Node()
    node.get(data(1))
    node.wait(30 * SECOND)
    node.recovery.learn(NeighbourUp(3), node.now_us, node.actions)
    node.timers.append((node.now_us + SECOND, 0, HaveDue()))
    sends = [a for a in node.wait(30 * SECOND) if type(a) is Send]
    assert {send.to for send in sends} == {(3,)}


def test_a_neighbour_towards_which_messages_were_refused_is_told_the_last_ones_until_it_takes_them():
    node = Node()
    node.get(data(1))
    node.wait(30 * SECOND)
    # The queue towards node 3 is full: a message was refused, and so is what tells of it.
    node.give(Refused(3, data(1)))
    for _ in range(20):
        told = [a for a in node.wait(2 * SECOND) if type(a) is Send]
        assert [send.to for send in told if type(send.message) is Have]
        for send in told:
            node.give(Refused(3, send.message))
    told = [a for a in node.wait(30 * SECOND) if type(a) is Send]
    assert {send.to for send in told} == {(3,)}
    assert not [a for a in node.wait(30 * SECOND) if type(a) is Send], "then nothing more is sent"
