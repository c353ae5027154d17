"""Records that an earlier version wrote replay into the same actions, byte for byte.

They were written by simulations of 14 nodes for 6 s (latency 5 to 50 ms, 2% loss) and by three live nodes. A change that breaks
one of them changes a protocol, a draw or the wire format.

The records of Cyclon and gossip are from before the code was moved into one folder per system. The others were written anew
when announcements of the tree and of recovery became one message, heartbeats could ask for an answer, messages were given
up on evidence, silent references of a tree were replaced, and what may be lost was told again.
"""

import gzip
import io
from functools import partial
from pathlib import Path

import pytest

from gossamer.protocols.contract.record import read_record, replay
from gossamer.systems import decoder_of, machine_of

RECORDS = sorted((Path(__file__).parent / "records").glob("*.record.gz"))


def test_there_are_records_of_every_kind_of_node():
    assert len(RECORDS) == 10


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.name.partition(".")[0])
def test_an_old_record_replays_into_the_same_actions(path):
    header, steps = read_record(io.BytesIO(gzip.decompress(path.read_bytes())))
    count, difference = replay(steps, partial(machine_of, header), decoder_of(header))
    assert difference is None
    assert count > 10
