"""Announcing the last message of each publisher, where the dissemination does not."""

from gossamer.model.values.ids import Role
from gossamer.protocols.contract.actions import Send
from gossamer.protocols.contract.events import Publish, Refused, Subscribe
from gossamer.protocols.contract.facts import NeighbourUp
from gossamer.protocols.delivery.announcements import Announce
from gossamer.protocols.delivery.recovery.messages import Answer
from tests.unit.protocols.delivery.recovery.one_node import ANN, ME, OTHER, SECOND, TOPIC, Node, data


def announced(actions):
    """The announced (publisher, last) by neighbour, in order."""
    found = {}
    for send in actions:
        if type(send) is Send and type(send.message) is Announce:
            found.setdefault(send.to[0], []).extend((run.publisher, run.last) for run in send.message.runs)
    return found


def test_above_a_flood_all_neighbours_are_told_the_last_message_twice():
    node = Node((Subscribe(TOPIC, Role.BOTH), Subscribe(OTHER, Role.BOTH)))
    node.get(data(1))
    node.get(data(2, 1))
    node.give(Publish(OTHER, b"y"))
    heard, mine = (ANN, 2), (ME, 10 * SECOND + 1)
    assert announced(node.wait(30 * SECOND)) == {
        2: [heard] * 2,
        3: [heard] * 2,
        4: [heard, mine] * 2,
        5: [mine] * 2,
    }


def test_a_fetched_message_is_announced_to_all_neighbours():
    node = Node()
    node.held.announcements.relays_announce = True
    node.get(data(1))
    node.get(data(3, 2))
    node.wait(200_000)
    node.get(Answer(TOPIC, ANN, (data(2, 1),)))
    assert set(announced(node.wait(2 * SECOND))) == {2, 3, 4}


def test_a_new_neighbour_receives_the_last_messages_of_all_shared_topics():
    node = Node()
    node.get(data(1))
    node.wait(30 * SECOND)
    out = []
    node.machine.teach([NeighbourUp(3)], node.now_us, out)
    node.timers += [(action.at_us, 0, action.timer) for action in out]
    assert announced(node.wait(30 * SECOND)) == {3: [(ANN, 1)] * 2}


def test_a_neighbour_towards_which_messages_were_refused_is_told_the_last_ones_until_it_takes_them():
    node = Node()
    node.get(data(1))
    node.wait(30 * SECOND)
    # The queue towards node 3 is full: a message was refused, and so is what tells of it.
    node.give(Refused(3, data(1)))
    for _ in range(20):
        told = [a for a in node.wait(3 * SECOND) if type(a) is Send]
        assert announced(told)
        for send in told:
            node.give(Refused(3, send.message))
    assert set(announced(node.wait(30 * SECOND))) == {3}
    assert not [a for a in node.wait(30 * SECOND) if type(a) is Send], "then nothing more is sent"
