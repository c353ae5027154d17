"""The record of a live node on a disk that becomes full."""

import errno
import io
from collections import Counter

from gossamer.live.transport.recording import RecordWriter
from gossamer.protocols.contract.events import Stopping
from gossamer.protocols.contract.record import Header, read_record

HEADER = Header(system="cyclon", parameters={}, seed=1)


class FullDisk(io.BytesIO):
    """Takes so many writes, and no more."""

    def __init__(self, writes):
        super().__init__()
        self.writes = writes

    def write(self, content):
        if not self.writes:
            raise OSError(errno.ENOSPC, "No space left on device")
        self.writes -= 1
        return super().write(content)


def test_a_full_disk_stops_the_recording_once_and_keeps_the_steps_before(caplog):
    disk, counts = FullDisk(writes=3), Counter()
    writer = RecordWriter(disk, HEADER, 7, counts)
    for now_us in range(5):
        writer.step(now_us, Stopping(), ())
    writer.flush()
    header, steps = read_record(io.BytesIO(disk.getvalue()))
    assert header == HEADER
    assert [(step.at_us, step.node) for step in steps] == [(0, 7), (1, 7)]
    assert counts == {"recording stopped": 1}
    assert caplog.messages == ["recording stopped: No space left on device"]
