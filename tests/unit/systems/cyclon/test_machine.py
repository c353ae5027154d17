"""The membership view as an overlay."""

from gossamer.protocols.contract.actions import Observe
from gossamer.protocols.contract.facts import NeighbourDown, NeighbourUp, ViewChanged
from gossamer.protocols.contract.parts import TopicNeighbours
from gossamer.systems.cyclon.machine import ViewOverlay


def test_a_change_of_the_view_is_reported_as_neighbours_lost_then_gained():
    out = []
    facts = ViewOverlay().learn(ViewChanged((1, 2), (3,)), 5, out)
    assert facts == (NeighbourDown(1), NeighbourDown(2), NeighbourUp(3))
    assert out == [Observe(fact) for fact in facts]


def test_other_facts_change_no_neighbours():
    out = []
    assert ViewOverlay().learn(NeighbourUp(1), 5, out) == ()
    assert out == []


def test_the_view_overlay_does_not_know_topics():
    assert not isinstance(ViewOverlay(), TopicNeighbours)
