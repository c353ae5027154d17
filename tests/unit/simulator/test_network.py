"""The network of the event engine: reading latencies, and which networks may take the engine's fast path."""

from dataclasses import dataclass

import numpy as np
import pytest

from gossamer.model.tables.schemas import write_table
from gossamer.model.values.errors import InputError
from gossamer.protocols.contract.actions import Send
from gossamer.protocols.contract.events import MessageReceived, Started
from gossamer.protocols.contract.messages import Data
from gossamer.simulator.engine import EventEngine
from gossamer.simulator.network import (
    ConstantLatency,
    MatrixLatency,
    Network,
    Partition,
    UniformLatency,
    read_latency,
    read_matrix_us,
)


@dataclass(frozen=True)
class LossyRelay(Network):
    """A network with a fault that `Network` does not have."""

    broken_node: int | None = None

    def parted(self, at_us, one, other):
        return self.broken_node in (one, other) or super().parted(at_us, one, other)


@pytest.mark.parametrize(
    ("network", "constant_us"),
    [
        (Network(ConstantLatency(7)), 7),
        (Network(ConstantLatency(7), partitions=[]), 7),
        (Network(UniformLatency(7, 7)), None),
        (Network(ConstantLatency(7), loss=0.1), None),
        (Network(ConstantLatency(7), partitions=[Partition(0, 1, frozenset({1}))]), None),
        (LossyRelay(ConstantLatency(7)), 7),
        (LossyRelay(ConstantLatency(7), broken_node=1), None),
    ],
)
def test_only_a_network_with_constant_latency_and_no_fault_permits_the_fast_path(network, constant_us):
    assert network.constant_us == constant_us


def test_the_network_is_asked_for_every_message_only_if_a_fault_other_than_loss_is_set():
    assert not Network(ConstantLatency(7), loss=0.1).has_faults
    assert Network(ConstantLatency(7), partitions=[Partition(0, 1, frozenset({1}))]).has_faults
    assert LossyRelay(ConstantLatency(7), broken_node=1).has_faults


def test_a_field_without_a_default_refuses_the_fast_path():
    @dataclass(frozen=True, kw_only=True)
    class Throttled(Network):
        bytes_per_second: int

    assert Throttled(latency=ConstantLatency(7), bytes_per_second=0).constant_us is None


def test_a_fault_of_a_subclass_takes_effect_in_the_engine():
    data = Data(0, 0, 1, 0, 0, b"x")
    received = []

    class Sender:
        def __init__(self, node):
            self.node = node

        def handle(self, event, now_us):
            if isinstance(event, MessageReceived):
                received.append(self.node)
            return (Send((1, 2), data),) if self.node == 0 and isinstance(event, Started) else ()

    network = LossyRelay(ConstantLatency(7), broken_node=1)
    engine = EventEngine(Sender, network, seed=1)
    for node in range(3):
        engine.start(node, Started())
    engine.run(100)
    assert received == [2]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("20ms", ConstantLatency(20_000)),
        ("uniform:5-50ms", UniformLatency(5_000, 50_000)),
        ("uniform:5ms-1s", UniformLatency(5_000, 1_000_000)),
    ],
)
def test_latency_is_read_as_the_user_writes_it(text, expected):
    assert read_latency(text, 1) == expected


@pytest.mark.parametrize(
    "text", ["20", "uniform:5ms", "uniform:9-5ms", "uniform:-5ms", "matrix:nowhere.tsv", "gauss:5ms"]
)
def test_a_bad_latency_is_refused(text):
    with pytest.raises(InputError, match=r"latency|must"):
        read_latency(text, 1)


@pytest.mark.parametrize(("loss", "hint"), [(5, "did you mean 0.05"), (-0.1, "between 0 and 1"), (200, "got 200")])
def test_a_bad_loss_is_refused_with_a_hint_where_it_looks_like_a_percentage(loss, hint):
    with pytest.raises(InputError, match=hint):
        Network(loss=loss)


def test_a_matrix_gives_half_of_the_round_trip_both_ways(tmp_path):
    (tmp_path / "m.tsv").write_text("0\t10\t40\n10\t0\t7\n40\t7\t0\n")
    round_trips_us = read_matrix_us(tmp_path / "m.tsv")
    latency = MatrixLatency(round_trips_us, seed=1)
    delays = {latency.delay_us(a, b, 0) for a in range(40) for b in range(40) if a != b}
    # The delay between two nodes on one row is the smallest delay of the matrix.
    assert delays == {5_000, 20_000, 3_500}
    assert all(latency.delay_us(a, b, 0) == latency.delay_us(b, a, 0) for a in range(20) for b in range(20))


@pytest.mark.parametrize(
    "text", ["1 2\n3 4\n5 6\n", "0 x\nx 0\n", "0 -1\n-1 0\n", "0 1\n1\n", "", "0 1e300\n1e300 0\n"]
)
def test_a_bad_matrix_is_refused(tmp_path, text):
    (tmp_path / "m.txt").write_text(text)
    with pytest.raises(InputError, match=r"m\.txt"):
        read_matrix_us(tmp_path / "m.txt")


@pytest.mark.parametrize("content", [b"\x1f\x8b\x08\x00cut", b"\x1f\x8b\x08\x00" + bytes(40)])
def test_a_damaged_compressed_matrix_is_refused(tmp_path, content):
    (tmp_path / "m.tsv.gz").write_bytes(content)
    with pytest.raises(InputError, match=r"m\.tsv\.gz is not a matrix"):
        read_matrix_us(tmp_path / "m.tsv.gz")


def write_latency(folder, rows):
    matrix, source, target, rtt_us = np.array(rows, np.int64).reshape(-1, 4).T
    columns = {"matrix": matrix, "source": source, "target": target, "rtt_us": rtt_us}
    write_table("latency", folder / "latency.parquet", columns)


def test_the_first_matrix_of_a_folder_is_read_whatever_its_number(tmp_path):
    rows = [(3, 0, 1, 800), (3, 1, 0, 800), (2, 0, 0, 0), (2, 0, 1, 500), (2, 1, 0, 500), (2, 1, 1, 0)]
    write_latency(tmp_path, rows)
    assert read_matrix_us(tmp_path).tolist() == [[0, 500], [500, 0]]


def test_a_folder_without_round_trips_is_refused(tmp_path):
    write_latency(tmp_path, [])
    with pytest.raises(InputError, match="has no round trips"):
        read_matrix_us(tmp_path)


def test_the_planetlab_matrix_reads_whole(real_data):
    round_trips_us = read_matrix_us(real_data / "planetlab-latency" / "PlanetLabData_1.tsv.gz")
    assert round_trips_us.shape == (490, 490)
    assert (round_trips_us == round_trips_us.T).all()
