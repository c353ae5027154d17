"""Checkers see what must never happen."""

import pytest

from gossamer.model.values.errors import CheckFailed
from gossamer.model.values.ids import Role
from gossamer.protocols.interface import (
    Data,
    Deliver,
    NeighbourDown,
    NeighbourUp,
    Observe,
    Send,
    Started,
    Subscribe,
    Unsubscribe,
)
from gossamer.simulator.checkers import ClockChecker, DeliveryChecker, NeighbourChecker

HEARD = Deliver(5, b"", 9, 1, 1, 0)
RELAY = Send((3,), Data(5, 9, 1, 1, 0, b""))


def checker_with(role):
    checker = DeliveryChecker()
    checker.handled(0, 1, Subscribe(5, role), ())
    return checker


def test_a_follower_may_deliver_once_and_relay():
    checker_with(Role.FOLLOWS).handled(1, 1, Started(), (HEARD, RELAY))


def test_a_second_delivery_of_one_message_is_caught():
    checker = checker_with(Role.BOTH)
    checker.handled(1, 1, Started(), (HEARD,))
    with pytest.raises(CheckFailed, match="at 2 us node 1 delivered message 1 of 9 twice"):
        checker.handled(2, 1, Started(), (HEARD,))


def test_a_publisher_that_does_not_follow_may_relay_but_not_deliver():
    checker = checker_with(Role.PUBLISHES)
    checker.handled(1, 1, Started(), (RELAY,))
    with pytest.raises(CheckFailed, match="without following it"):
        checker.handled(1, 1, Started(), (HEARD,))


def test_relaying_or_delivering_after_letting_go_is_caught():
    for action in (HEARD, RELAY):
        checker = checker_with(Role.FOLLOWS)
        checker.handled(1, 1, Unsubscribe(5), ())
        with pytest.raises(CheckFailed):
            checker.handled(2, 1, Started(), (action,))


def test_a_machine_that_starts_again_has_no_subscriptions():
    checker = checker_with(Role.FOLLOWS)
    checker.gone(1, 1)
    with pytest.raises(CheckFailed):
        checker.handled(2, 1, Started(), (HEARD,))


def test_gossip_may_relay_through_anybody():
    DeliveryChecker(relay_by_others=True).handled(1, 1, Started(), (RELAY,))


@pytest.mark.parametrize("facts", [[NeighbourUp(1)], [NeighbourUp(2), NeighbourUp(2)], [NeighbourDown(2)]])
def test_wrong_statements_about_neighbours_are_caught(facts):
    checker = NeighbourChecker()
    with pytest.raises(CheckFailed, match="node 1"):
        checker.handled(0, 1, Started(), tuple(map(Observe, facts)))


def test_a_neighbour_may_come_go_and_come_again():
    checker = NeighbourChecker()
    for fact in (NeighbourUp(2), NeighbourDown(2), NeighbourUp(2)):
        checker.handled(0, 1, Started(), (Observe(fact),))


def test_time_that_runs_backwards_is_caught():
    checker = ClockChecker()
    checker.handled(5, 1, Started(), ())
    with pytest.raises(CheckFailed, match="4 us after 5 us"):
        checker.handled(4, 2, Started(), ())
