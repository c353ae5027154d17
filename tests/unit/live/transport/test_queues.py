"""The queue of a link: messages that wait together leave in one frame."""

import pytest

from gossamer.live.transport import wire
from gossamer.live.transport.queues import FRAME_BYTES, Parcel, SendQueue
from gossamer.protocols.contract.compact import Writer
from gossamer.protocols.dissemination.tree import TreeData
from gossamer.systems.spidercast.messages import Heartbeat, LeaveNotice
from tests.decoding import PART_CLASSES


def data(number, size=1):
    return TreeData(7, 9, number, 0, 0, b"x" * size)


def queue_of(version, frame_bytes=2**20, writer=None):
    queue = SendQueue(frame_bytes, writer or Writer(numbered=False))
    queue.version = version
    return queue


def bodies_in(content):
    found = []
    while content:
        end = 4 + int.from_bytes(content[:4], "big")
        found.append(content[4:end])
        content = content[end:]
    return found


def messages_in(content, version):
    """The messages of each frame."""
    read = wire.reader(version, PART_CLASSES)
    return [[message for message in read(body) if message is not None] for body in bodies_in(content)]


def test_messages_that_wait_together_are_one_frame():
    queue = queue_of(3)
    for messages in ([data(1)], [Heartbeat(0, 1, 2), data(2)], [LeaveNotice(0)]):
        queue.add(Parcel(messages))
    content = queue.take()
    assert messages_in(content, 3) == [[data(1), Heartbeat(0, 1, 2), data(2), LeaveNotice(0)]]
    assert queue.frames_out == 1
    assert (queue.take(), queue.size) == (b"", 0)


def test_in_version_2_every_message_is_a_frame():
    queue = queue_of(2)
    queue.add(Parcel([data(1), LeaveNotice(0)]))
    content = queue.take()
    assert content == wire.frame(data(1)) + wire.frame(LeaveNotice(0))
    assert queue.frames_out == 2


@pytest.mark.parametrize("count", [1, 15, 16, 300, 70_000])
def test_a_frame_has_any_number_of_messages(count):
    queue = queue_of(3)
    queue.add(Parcel([LeaveNotice(0)] * count))
    frames = messages_in(queue.take(), 3)
    assert [message for frame in frames for message in frame] == [LeaveNotice(0)] * count
    [size] = {len(body) for body in Writer().encode([LeaveNotice(0)])[0]}
    assert len(frames) == -(-count * size // (FRAME_BYTES - wire.LIST_BYTES))


def test_a_frame_is_longer_than_the_bound_only_for_a_single_long_message():
    queue = queue_of(3, frame_bytes=1_000)
    sizes = [400, 400, 400, 3_000, 10, 10]
    queue.add(Parcel([data(number, size) for number, size in enumerate(sizes)]))
    content = queue.take()
    assert [[len(data.payload) for data in frame] for frame in messages_in(content, 3)] == [
        [400, 400],
        [400],
        [3_000],
        [10, 10],
    ]
    assert sorted(len(body) for body in bodies_in(content))[-2] <= 1_000


def test_each_message_is_encoded_once_for_all_links():
    encoded = []

    class CountingWriter(Writer):
        def encode(self, messages):
            encoded.extend(messages)
            return super().encode(messages)

    writer = CountingWriter()
    parcel = Parcel([data(1), data(2)])
    contents = []
    for _ in range(5):
        queue = queue_of(3, writer=writer)
        queue.add(parcel)
        contents.append(queue.take())
    assert encoded == [data(1), data(2)]
    assert [messages_in(content, 3) for content in contents] == [[[data(1), data(2)]]] * 5


def test_a_link_carries_each_definition_once_and_before_its_first_use():
    writer, read = Writer(), wire.reader(3, PART_CLASSES)
    early, late = queue_of(3, writer=writer), queue_of(3, writer=writer)
    early.add(Parcel([data(1)]))
    first = early.take()
    assert [read(body)[:2] for body in bodies_in(first)] == [[None, None]]
    parcel = Parcel([data(2)])
    for queue in (early, late):
        queue.add(parcel)
    assert [read(body) for body in bodies_in(early.take())] == [(data(2),)]
    assert messages_in(late.take(), 3) == [[data(2)]]


def test_a_parcel_that_waited_while_numbers_changed_is_encoded_anew():
    writer = Writer()
    queue, parcel = queue_of(3, writer=writer), Parcel([data(2)])
    queue.add(Parcel([data(1)]))
    parcel.encode(writer)
    writer._begin_anew()
    writer.encode([TreeData(8, 10, 1, 0, 0, b"")])
    queue.add(parcel)
    assert messages_in(queue.take(), 3) == [[data(1), data(2)]]


def test_a_message_of_100_bytes_takes_at_most_130_bytes_on_the_wire():
    topic, publisher, start = 2**63 + 12345, 2**64 - 99, 1_700_000_000_000_000

    def message(index):
        return TreeData(topic, publisher, start + index, 3, start + index * 1_000, b"x" * 100, start + index - 1)

    # The writer has many topics and publishers: their numbers take three bytes.
    writer, others = Writer(), [TreeData(2**40 + each, 2**50 + each, start, 0, start, b"") for each in range(400)]
    queue = queue_of(3, writer=writer)
    sizes = []
    for index in range(0, 2_000_000, 100_000):
        queue.add(Parcel([*others, message(0)]))
        queue.take()
        queue.add(Parcel([message(index)]))
        sizes.append(len(queue.take()))
    assert max(sizes) <= 130
    assert sizes[0] <= 124
    assert len(wire.frame(message(5))) == 164


def test_a_frame_without_messages_cannot_be_read():
    for body in (b"\x90", b"\xdd\x00\x00\x00\x00", wire.encode(data(1))):
        with pytest.raises(ValueError, match=r"length >= 1|Expected"):
            wire.reader(3, PART_CLASSES)(body)
