"""The network of the event engine: latency, loss and partitions.

One keyed draw for each message decides both: its lower 32 bits the loss, its upper 32 bits the latency.
"""

import warnings
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gossamer.model.tables.schemas import read_table
from gossamer.model.values.draw import Purpose, draw
from gossamer.model.values.errors import InputError
from gossamer.model.values.time import MILLISECOND_US, duration_us

# One hour. A longer round trip is a mistake in the file.
ROUND_TRIP_MS_MAX = 3_600_000
LATENCY = "latency.parquet"


class Latency(Protocol):
    """One-way delays in microseconds."""

    def delay_us(self, sender: int, receiver: int, bits: int) -> int:
        """The delay of one message; `bits` are 32 random bits of its own."""
        ...


@dataclass(frozen=True)
class ConstantLatency:
    """Every message takes the same time."""

    latency_us: int

    def delay_us(self, sender: int, receiver: int, bits: int) -> int:
        """See `Latency`."""
        return self.latency_us


@dataclass(frozen=True)
class UniformLatency:
    """The delay of each message is drawn uniformly between two bounds."""

    low_us: int
    high_us: int

    def delay_us(self, sender: int, receiver: int, bits: int) -> int:
        """See `Latency`."""
        return self.low_us + ((bits * (self.high_us - self.low_us + 1)) >> 32)


class MatrixLatency:
    """The delay is half of a measured round trip. The seed assigns each node to a row of the matrix.

    The delay between two nodes on the same row is the smallest delay of the matrix.
    """

    def __init__(self, round_trips_us: NDArray[np.int64], seed: int) -> None:
        count = len(round_trips_us)
        delays = np.maximum(round_trips_us // 2, 1)
        off_diagonal = delays[~np.eye(count, dtype=np.bool_)]
        delays[np.diag_indices(count)] = off_diagonal.min() if len(off_diagonal) else 1
        self._delays: list[list[int]] = delays.tolist()
        self._seed = seed
        self._rows: dict[int, int] = {}

    def delay_us(self, sender: int, receiver: int, bits: int) -> int:
        """See `Latency`."""
        return self._delays[self._row(sender)][self._row(receiver)]

    def _row(self, node: int) -> int:
        row = self._rows.get(node)
        if row is None:
            row = draw(self._seed, node, Purpose.MATRIX_ROW, 0) % len(self._delays)
            self._rows[node] = row
        return row


@dataclass(frozen=True)
class Partition:
    """From `from_us` until `until_us`, no message passes between the nodes of `side` and all other nodes."""

    from_us: int
    until_us: int
    side: frozenset[int]

    def parts(self, at_us: int, one: int, other: int) -> bool:
        """Whether the partition separates two nodes at this time."""
        return self.from_us <= at_us < self.until_us and (one in self.side) != (other in self.side)


@dataclass(frozen=True)
class Network:
    """Latency and faults of the links. The default of every fault is a value that changes nothing."""

    latency: Latency = field(default_factory=lambda: ConstantLatency(20 * MILLISECOND_US))
    loss: float = 0.0
    partitions: Sequence[Partition] = ()

    def __post_init__(self) -> None:
        if not 0.0 <= self.loss <= 1.0:
            hint = f"; did you mean {self.loss / 100:g}?" if 1.0 < self.loss <= 100.0 else ""
            raise InputError(f"loss must lie between 0 and 1, got {self.loss:g}{hint}")
        object.__setattr__(self, "partitions", tuple(self.partitions))

    @property
    def constant_us(self) -> int | None:
        """The delay of every message, where delays are constant and there is no fault; None otherwise.

        The engine takes a faster path for such a network, which reads no other field.
        """
        if type(self.latency) is ConstantLatency and not self._sets_more_than("latency"):
            return self.latency.latency_us
        return None

    @property
    def has_faults(self) -> bool:
        """Whether `delays_us` must be asked for every message: some fault other than loss is set."""
        return self._sets_more_than("latency", "loss")

    def _sets_more_than(self, *names: str) -> bool:
        """Whether any other field differs from its default.

        All fields are compared, so that a fault that is added here or in a subclass cannot be forgotten.
        """
        others = (each for each in fields(self) if each.name not in names)
        return any(getattr(self, each.name) != each.default for each in others)

    def typical_us(self, one: int, other: int) -> int:
        """The delay that two nodes would measure between them over time: the median where delays are drawn."""
        return self.latency.delay_us(one, other, 1 << 31)

    def parted(self, at_us: int, sender: int, receiver: int) -> bool:
        """Whether any partition keeps messages of `sender` from `receiver` at this time."""
        return any(partition.parts(at_us, sender, receiver) for partition in self.partitions)

    def delays_us(self, at_us: int, sender: int, receiver: int, bits: int) -> tuple[int, ...]:
        """The delay of each copy of a message that arrives; none if it is lost. `bits` are 64 random bits of its own."""
        if (bits & 0xFFFF_FFFF) < round(self.loss * 2**32) or self.parted(at_us, sender, receiver):
            return ()
        return (self.latency.delay_us(sender, receiver, bits >> 32),)


def read_latency(text: str, seed: int) -> Latency:
    """Read `20ms`, `uniform:5-50ms` or `matrix:PATH` (see `read_matrix_us`)."""
    kind, _, argument = text.partition(":")
    if kind == "matrix":
        return MatrixLatency(read_matrix_us(Path(argument)), seed)
    if kind != "uniform":
        return ConstantLatency(duration_us(text, "latency"))
    low, dash, high = argument.partition("-")
    if not dash:
        raise InputError(f"uniform latency must be uniform:LOW-HIGH, such as uniform:5-50ms, got {text!r}")
    unit = high.lstrip("0123456789.")
    low_us = duration_us(low if low[-1:].isalpha() else low + unit, "latency")
    high_us = duration_us(high, "latency")
    if high_us < low_us:
        raise InputError(f"uniform latency must have LOW at most HIGH, got {text!r}")
    return UniformLatency(low_us, high_us)


def read_matrix_us(path: Path) -> NDArray[np.int64]:
    """Read round trips in milliseconds: a square matrix as text, or a folder of `gossamer ingest latency`.

    A text file may be compressed with gzip. Of a folder with several matrices, the first one is read.
    """
    if path.is_dir():
        return _matrix_from_table(path / LATENCY)
    if not path.is_file():
        raise InputError(f"there is no latency matrix at {path}")
    try:
        with warnings.catch_warnings(action="ignore"):  # an empty file is reported below
            matrix = np.loadtxt(path, delimiter="," if path.name.endswith((".csv", ".csv.gz")) else None, ndmin=2)
    except (ValueError, OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} is not a matrix of numbers: {str(error).splitlines()[0]}") from None
    if not matrix.size or matrix.shape[0] != matrix.shape[1]:
        raise InputError(f"{path} must be a square of numbers, got {matrix.shape[0]} x {matrix.shape[1]}")
    if not ((matrix >= 0) & (matrix <= ROUND_TRIP_MS_MAX)).all():
        raise InputError(f"{path} must have round trips of 0 to {ROUND_TRIP_MS_MAX:,} ms, without gaps")
    round_trips_us: NDArray[np.int64] = np.rint(matrix * MILLISECOND_US).astype(np.int64)
    return round_trips_us


def _matrix_from_table(path: Path) -> NDArray[np.int64]:
    """Read the matrix of an ingested folder. Where a round trip is missing, that of the opposite direction is used."""
    table = read_table("latency", path)
    matrices = table.column("matrix").to_numpy()
    if not len(matrices):
        raise InputError(f"{path} has no round trips")
    # The first matrix need not have the number 0: all lines of the first file may be in quarantine.
    chosen = matrices == matrices.min()
    source, target, rtt_us = (table.column(name).to_numpy()[chosen] for name in ("source", "target", "rtt_us"))
    count = int(max(source.max(), target.max())) + 1
    matrix = np.full((count, count), -1, np.int64)
    matrix[source, target] = rtt_us
    matrix[np.diag_indices(count)] = np.maximum(matrix.diagonal(), 0)
    matrix = np.where(matrix < 0, matrix.T, matrix)
    if (matrix < 0).any():
        raise InputError(f"{path} has no round trip for {int((matrix < 0).sum())} of {count * count} pairs")
    return matrix
