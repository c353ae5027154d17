"""The queue of a link: messages that wait together leave in one frame."""

import msgspec
import pytest

from gossamer.live.transport import wire
from gossamer.live.transport.queues import FRAME_BYTES, Parcel, SendQueue
from gossamer.protocols.dissemination.tree import TreeData
from gossamer.systems.spidercast.messages import Heartbeat, LeaveNotice
from tests.decoding import PART_CLASSES


def data(number, size=1):
    return TreeData(7, 9, number, 0, 0, b"x" * size)


def queue_of(version, frame_bytes=2**20):
    queue = SendQueue(frame_bytes)
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
    return [list(read(body)) for body in bodies_in(content)]


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
    assert len(frames) == -(-count * len(wire.encode(LeaveNotice(0))) // (FRAME_BYTES - wire.LIST_BYTES))


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


def test_each_message_is_encoded_once_for_all_links(monkeypatch):
    encoded = []

    def encode(message):
        encoded.append(message)
        return msgspec.msgpack.encode(message)

    monkeypatch.setattr(wire, "encode", encode)
    parcel = Parcel([data(1), data(2)])
    for _ in range(5):
        queue_of(3).add(parcel)
    assert encoded == [data(1), data(2)]


def test_a_frame_without_messages_cannot_be_read():
    for body in (b"\x90", b"\xdd\x00\x00\x00\x00", wire.encode(data(1))):
        with pytest.raises(ValueError, match=r"length >= 1|Expected"):
            wire.reader(3, PART_CLASSES)(body)
