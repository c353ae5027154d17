"""Records that an earlier version wrote replay into the same actions, byte for byte.

They were written before the code was moved into one folder per system, by simulations of 14 nodes for 6 s (latency 5 to 50 ms, 2% loss,
some with churn and a partition) and by three live nodes. A change that breaks one of them changes a protocol, a
draw or the wire format.

One change did so on purpose: recovery sends ages instead of times, because clocks differ. The events of four records
with recovery are as they were; their actions were computed again with that change. Only steps with messages of recovery
(`Have`, `Ask`, `Answer`) and their deliveries and timers differed. Later `Answer` got the field `floor_age_us`; the
actions of two records were computed again, and nothing else in them differed. It then got the field `before`: three steps
of one record, all with an `Answer`, were computed again. The two records of StAN were written anew
(14 nodes, 6 s, 5 to 50 ms, 2% loss) when its probes, walk names and numbers changed so that they disclose nothing.
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
