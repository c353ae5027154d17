"""A rendezvous on the circle brings the holders of a rare topic together."""

import itertools

import pytest

from gossamer.model.values.draw import finish
from gossamer.model.values.errors import InputError
from gossamer.protocols.contract.messages import Peer
from gossamer.protocols.contract.system import read_parameters
from gossamer.systems import find_system
from gossamer.systems.omen.circle import clockwise, place_of_topic
from gossamer.systems.omen.messages import HOPS_MAX, RendezvousAnswer, RendezvousAsk
from gossamer.systems.omen.rendezvous import HOLDERS_MAX, KEPT_TURNS, PAUSE_MAX, Rendezvous

NODES = list(range(1, 60))


def ask(nodes, topic, asker):
    """A node asks, and the others pass the request on; who was told of whom."""
    out, told = [], []
    found = nodes[asker].ask(topic, Peer(asker), known_by(asker), out)
    while out:
        send = out.pop()
        (receiver,) = send.to
        if isinstance(send.message, RendezvousAnswer):
            told.append((receiver, send.message.peer.node))
        else:
            nodes[receiver].forward(send.message, known_by(receiver), out)
    return told if found is None else [(asker, found.node)]


def known_by(node):
    """The next nodes on the circle in both directions: less than any node knows."""
    order = sorted(NODES, key=finish)
    place = order.index(node)
    return [Peer(order[(place + step) % len(order)]) for step in (-2, -1, 1, 2)]


@pytest.mark.parametrize("topic", range(20))
def test_the_second_node_that_asks_for_a_topic_is_told_of_the_first(topic):
    nodes = {node: Rendezvous(node) for node in NODES}
    assert ask(nodes, topic, 7) == []
    assert ask(nodes, topic, 31) == [(31, 7)]
    assert ask(nodes, topic, 7) == [(7, 31)]
    first = min(NODES, key=lambda node: clockwise(place_of_topic(topic), finish(node)))
    remembering = [node for node, each in nodes.items() if each._holders]
    assert remembering == [first] or (first in (7, 31) and len(remembering) <= 2)


def test_a_request_without_hops_is_dropped_and_few_holders_are_kept_for_a_while():
    node, out = Rendezvous(1), []
    nearest = min(NODES, key=lambda each: clockwise(place_of_topic(5), finish(each)))
    Rendezvous(next(each for each in NODES if each != nearest)).forward(
        RendezvousAsk(5, Peer(99), 0), [Peer(nearest)], out
    )
    assert out == []
    for holder in range(100, 200):
        node.forward(RendezvousAsk(5, Peer(holder), HOPS_MAX), (), [])
    assert len(node._holders[5]) == HOLDERS_MAX
    for _ in range(KEPT_TURNS + 1):
        node.turn((), 1)
    assert node.ask(5, Peer(1), (), []) is None, "old holders are forgotten"


def test_a_lonely_topic_is_looked_for_less_and_less_often():
    node = Rendezvous(1)
    turns = [turn for turn in range(200) if node.turn([5], 3)]
    assert turns[0] == 3
    gaps = [later - earlier for earlier, later in itertools.pairwise(turns)]
    assert gaps == sorted(gaps)
    assert gaps[-1] == PAUSE_MAX
    assert node.turn([], 3) == []
    assert node.turn([5], 3) == [], "a topic that had a neighbour waits again"


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"resilience": 0}, "resilience"),
        ({"coverage": 0}, "coverage"),
        ({"coverage": 2, "resilience": 2}, r"coverage \(lambda\) must exceed resilience \(L\)"),
    ],
)
def test_a_lambda_or_resilience_that_cannot_work_is_refused_in_one_sentence(settings, sentence):
    with pytest.raises(InputError, match=sentence):
        read_parameters(find_system("omen"), settings)
