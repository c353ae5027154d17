"""Deliveries as a simulation counts them."""

from gossamer.protocols.contract.actions import Deliver
from gossamer.protocols.contract.events import Publish, Started, TimerFired
from gossamer.protocols.contract.messages import Timer
from gossamer.simulator.recorder import DeliveryLog

TOPIC = 7


class Tick(Timer, frozen=True, array_like=True, tag="recorder_tick"):
    """Any timer."""


def deliver(log, at_us, node, sequence):
    log.handled(at_us, node, TimerFired(Tick()), [Deliver(TOPIC, b"", 0, sequence, 1, 10)])


def log_of_three():
    """Nodes 0 and 1 start, node 0 publishes at 10, and node 2 joins later."""
    log = DeliveryLog()
    for node in (0, 1):
        log.handled(0, node, Started(()), [])
    log.handled(10, 0, Publish(TOPIC, b"", sequence=5), [])
    log.handled(20, 2, Started(()), [])
    return log


def test_a_delivery_to_a_newcomer_does_not_make_up_for_one_that_is_missing():
    log = log_of_three()
    deliver(log, 30, 2, 5)
    facts = log.facts(expected=1)
    assert (facts["delivery_ratio"], facts["delivered"], facts["delivered_to_newcomers"]) == (0.0, 0, 1)
    assert log.columns()["due"] == [False]


def test_a_node_that_was_present_counts_also_if_it_returns_and_gets_the_message_again():
    log = log_of_three()
    deliver(log, 12, 1, 5)
    log.gone(13, 1)
    log.handled(20, 1, Started(()), [])
    deliver(log, 30, 1, 5)
    facts = log.facts(expected=1)
    assert (facts["delivery_ratio"], facts["latency_us_most"]) == (1.0, 2)
    assert log.columns()["at_us"] == [12]
