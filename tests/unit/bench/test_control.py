from bench.control import DataCounter, count_kinds

from gossamer.model.values.time import SECOND_US
from gossamer.protocols.contract.actions import Deliver, Send
from gossamer.protocols.contract.compact import FRAME_HEAD_BYTES, Writer
from gossamer.protocols.contract.events import Publish
from gossamer.protocols.contract.messages import Data
from gossamer.protocols.dissemination.tree_messages import Prune, TreeData
from gossamer.simulator.recorder import ControlCounter

EVENT = Publish(7, b"")


def test_control_frames_count_once_for_each_receiver_with_their_prefix():
    control = ControlCounter(SECOND_US)
    prune = Prune(7)
    control.handled(SECOND_US, 1, EVENT, [Send((2, 3), prune)])
    frames, sizes = count_kinds(control, SECOND_US, 2 * SECOND_US)
    assert frames == {"Prune": 2}
    [body], _ = Writer().encode((prune,))
    assert sizes == {"Prune": 2 * (FRAME_HEAD_BYTES + len(body))}


def test_control_outside_of_the_measured_period_does_not_count():
    control = ControlCounter(SECOND_US)
    for second in range(4):
        control.handled(second * SECOND_US, 1, EVENT, [Send((2,), Prune(7))])
    frames, _ = count_kinds(control, SECOND_US, 3 * SECOND_US)
    assert frames == {"Prune": 2}


def test_application_messages_are_no_control():
    control, data = ControlCounter(SECOND_US), DataCounter(0, SECOND_US)
    message = TreeData(7, 1, 5, 0, 0, bytes(100))
    for watcher in (control, data):
        watcher.handled(0, 1, EVENT, [Send((2, 3, 4), message)])
    assert count_kinds(control, 0, SECOND_US) == ({}, {})
    assert isinstance(message, Data)
    [body], _ = Writer().encode((message,))
    assert (data.frames, data.bytes, data.payload_bytes) == (3, 3 * (FRAME_HEAD_BYTES + len(body)), 300)


def test_a_delivery_counts_once_and_by_the_time_of_its_publication():
    data = DataCounter(10, 20)
    for published_us, sequence in ((9, 1), (10, 2), (10, 2), (19, 3), (20, 4)):
        data.handled(25, 1, EVENT, [Deliver(7, b"", 2, sequence, 0, published_us)])
    data.handled(25, 3, EVENT, [Deliver(7, b"", 2, 2, 0, 10)])
    assert data.delivered == 3
