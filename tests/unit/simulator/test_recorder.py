"""Deliveries and control messages as a simulation counts them."""

from gossamer.protocols.contract.actions import Deliver, Send
from gossamer.protocols.contract.events import Publish, Started, TimerFired
from gossamer.protocols.contract.messages import Data, Timer
from gossamer.protocols.dissemination.tree_messages import Graft, Prune
from gossamer.simulator.recorder import ControlCounter, DeliveryLog

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


def frames_of(*sends):
    """The frames that each kind of control message counts when a node sends these messages for one event."""
    counter = ControlCounter(1_000)
    counter.handled(5, 0, TimerFired(Tick()), [Send(to, message) for to, message in sends])
    columns = counter.columns()
    return dict(zip(columns["kind"], zip(columns["messages"], columns["frames"], strict=True), strict=True))


def test_control_messages_to_the_same_node_share_a_frame_with_each_other_and_with_data():
    data, prune, graft = Data(TOPIC, 9, 1, 0, 0, b""), Prune(TOPIC), Graft(TOPIC, ())
    assert frames_of(((1, 2), data)) == {}
    assert frames_of(((1, 2), prune)) == {"Prune": (2, 2)}
    assert frames_of(((1, 2), prune), ((2, 3), graft)) == {"Prune": (2, 2), "Graft": (2, 1)}
    assert frames_of(((1, 2), prune), ((1, 4), data)) == {"Prune": (2, 1)}
    assert frames_of(((1,), prune), ((1,), data), ((1,), graft), ((1,), prune)) == {"Prune": (2, 0), "Graft": (1, 0)}


def test_control_messages_of_different_events_and_nodes_have_frames_of_their_own():
    counter = ControlCounter(1_000)
    for at_us, node in ((5, 0), (6, 0), (5, 1), (2_000, 1)):
        counter.handled(at_us, node, TimerFired(Tick()), [Send((7,), Prune(TOPIC))])
    columns = counter.columns()
    assert list(zip(columns["at_us"], columns["node"], columns["frames"], strict=True)) == [
        (0, 0, 2),
        (0, 1, 1),
        (2_000, 1, 1),
    ]
    assert counter.totals() == {"Prune": 4}
