"""Backpressure: which links a node reads while a queue is long or a reader is slow."""

from collections import Counter

import pytest

from gossamer import Limits
from gossamer.live.transport.backpressure import Backpressure


class FakeLink:
    """A link that notes the reasons why it is not read."""

    def __init__(self, node):
        self.node = node
        self.pauses = set()
        self.sent_bytes = 0
        self.is_stuck = self.is_aborted = False

    def pause_reading(self, reason):
        self.pauses.add(reason)

    def resume_reading(self, reason):
        self.pauses.discard(reason)

    def give_up_waiting(self):
        self.is_stuck = True

    def abort(self):
        self.is_aborted = True


@pytest.fixture
def links():
    return [FakeLink(number) for number in range(3)]


@pytest.fixture
def pressure(links):
    limits = Limits(patience_seconds=10, stuck_seconds=30, drain_bytes_per_second=1000)
    return Backpressure(dict.fromkeys(links), limits, Counter())


def read(links):
    """The numbers of the links that are read."""
    return [link.node for link in links if not link.pauses]


def test_while_a_queue_is_long_only_its_own_link_is_read(links, pressure):
    pressure.on_slow(links[1], 0.0)
    assert read(links) == [1]
    pressure.on_drained(links[1])
    assert read(links) == [0, 1, 2]


def test_reading_resumes_after_the_last_slow_reader_and_the_last_long_queue(links, pressure):
    pressure.pause("one reader")
    pressure.pause("another reader")
    pressure.on_slow(links[0], 0.0)
    pressure.resume("one reader")
    pressure.on_drained(links[0])
    assert read(links) == [0]
    pressure.resume("another reader")
    assert read(links) == [0, 1, 2]


def test_a_peer_that_takes_too_little_becomes_stuck_and_then_loses_its_link(links, pressure):
    slow = links[0]
    pressure.on_slow(slow, 0.0)
    pressure.check(9.0, 0.5)
    assert (slow.is_stuck, read(links)) == (False, [0])
    pressure.check(11.0, 0.5)
    assert (slow.is_stuck, slow.is_aborted) == (True, False)
    assert read(links) == [0, 1, 2], "nobody waits for a stuck peer"
    pressure.check(31.0, 0.5)
    assert slow.is_aborted


def test_a_slow_peer_that_keeps_taking_bytes_is_waited_for(links, pressure):
    slow = links[0]
    pressure.on_slow(slow, 0.0)
    for second in range(60):
        slow.sent_bytes += 500
        pressure.check(float(second), 0.5)
    assert not slow.is_stuck
    assert read(links) == [0]


def test_beside_a_stuck_peer_a_slow_peer_still_stops_reading_until_it_drains(links, pressure):
    stuck, slow = links[:2]
    pressure.on_slow(stuck, 0.0)
    pressure.check(11.0, 0.5)
    assert read(links) == [0, 1, 2]
    pressure.on_slow(slow, 11.0)
    assert read(links) == [0, 1]
    pressure.on_drained(slow)
    assert read(links) == [0, 1, 2]
