"""Read a workload of names: a CSV, TSV, JSON-lines or Parquet file of (node, topic[, role][, zone]).

The id of a name is its rank among all names, by length and then by bytes, as in `gossamer ingest`. A line that cannot be
read is an error here; `gossamer ingest` sets such lines aside instead, and reads files of any size.
"""

import bz2
import gzip
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gossamer.model.arrays.interest import Interest
from gossamer.model.tables.workload import INTERESTS, Names, Workload
from gossamer.model.tables.workload import read_workload as read_folder
from gossamer.model.values.errors import InputError, InputWarning
from gossamer.model.values.ids import Role
from gossamer.workloads.formats import JSON_LINES, PARQUET, WHITESPACE, Format, Reading, find_format, split_line
from gossamer.workloads.heads import UTF8_MARK, read_head
from gossamer.workloads.words import ROLE_WORDS

# Chosen: as in `gossamer ingest`, a line with a longer name is damaged.
NAME_BYTES_MAX = 256
# One row: its number in the file for messages, and its fields in the order of the columns that are read.
_Row = tuple[int, Sequence[str]]


def read_workload(path: Path | str) -> Workload:
    """Read a workload: a folder with interests.parquet, or a file of names with one (node, topic) pair on each line.

    The table of a folder may have names too. An InputWarning says which names differ only in upper and lower case, and
    how many rows were repeated.
    """
    path = Path(path)
    table = interests_file(path)
    if path.is_file() or (table.is_file() and has_names(table)):
        return _read_named(table)
    return read_folder(path)


def interests_file(path: Path) -> Path:
    """The file with the interests of a workload, which is a file or a folder."""
    return path / INTERESTS if path.is_dir() else path


def has_names(table: Path) -> bool:
    """Whether a table of interests has text where other tables have ids."""
    try:
        columns = pq.read_schema(table)
    except (pa.ArrowException, OSError):
        return False
    found = [columns.field(name).type for name in ("node", "topic") if name in columns.names]
    return any(map(_is_text, found))


def _is_text(column: pa.DataType) -> bool:
    kind = column.value_type if pa.types.is_dictionary(column) else column
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def read_pairs(path: Path, first: str, second: str) -> dict[str, str]:
    """A file of two columns, such as node and zone: the second by the first. A repeated first value is an error."""
    if not path.is_file():
        raise InputError(f"there is no file {path}; expected the columns {first} and {second}")
    format = find_format(path, (first, second), (), Reading(), read_head(path))
    found: dict[str, str] = {}
    for number, (key, value) in _rows(path, format):
        _check_name(path, number, first, key)
        _check_name(path, number, second, value)
        if found.setdefault(key, value) != value:
            raise InputError(f"{path}, line {number}: {key!r} has two values, {found[key]!r} and {value!r}; keep one")
    if not found:
        raise InputError(f"{path} has no rows")
    return found


@dataclass
class _Numbering:
    """Numbers for names in the order in which they occur."""

    numbers: dict[str, int]

    def ranked(self) -> tuple[Names, np.ndarray[Any, np.dtype[np.int64]]]:
        """The names in the order of their ids, and the id of each number."""
        keys = [(len(raw), raw, number) for number, raw in enumerate(name.encode() for name in self.numbers)]
        order = [number for _, _, number in sorted(keys)]
        names = np.array(list(self.numbers), object)[order]
        ranks = np.empty(len(order), np.int64)
        ranks[order] = np.arange(len(order))
        return names, ranks


def _read_named(path: Path) -> Workload:
    format = find_format(path, ("user", "group"), ("role", "zone"), Reading(), read_head(path))
    columns = [name for name, _ in format.places]
    nodes, topics = _Numbering({}), _Numbering({})
    roles: dict[tuple[int, int], int] = {}
    zones: dict[str, str] = {}
    repeated = 0
    for number, fields in _rows(path, format):
        row = dict(zip(columns, fields, strict=False))
        node, topic = row["user"], row["group"]
        _check_name(path, number, "node", node)
        _check_name(path, number, "topic", topic)
        pair = nodes.numbers.setdefault(node, len(nodes.numbers)), topics.numbers.setdefault(topic, len(topics.numbers))
        repeated += pair in roles
        roles[pair] = roles.get(pair, 0) | _role(path, number, row.get("role", ""))
        if "zone" in row:
            _check_name(path, number, "zone", row["zone"])
            if zones.setdefault(node, row["zone"]) != row["zone"]:
                raise InputError(
                    f"{path}, line {number}: {node!r} is in two zones, {zones[node]!r} and {row['zone']!r}"
                )
    if not roles:
        raise InputError(f"{path} has no (node, topic) rows")
    _warn(path, nodes.numbers, topics.numbers, repeated)
    if len(roles) == len(topics.numbers) and len(nodes.numbers) > 1:
        sentence = f"{path}: no topic has two nodes, so there is nothing to connect; are these the right columns?"
        warnings.warn(sentence, InputWarning, stacklevel=3)
    return _workload(nodes, topics, roles, zones)


def _workload(
    nodes: _Numbering, topics: _Numbering, roles: dict[tuple[int, int], int], zones: dict[str, str]
) -> Workload:
    node_names, node_ranks = nodes.ranked()
    topic_names, topic_ranks = topics.ranked()
    pairs = np.array(list(roles), np.int64)
    counts = len(node_names), len(topic_names)
    values = np.fromiter(roles.values(), np.uint8, len(roles))
    interest = Interest.from_pairs(node_ranks[pairs[:, 0]], topic_ranks[pairs[:, 1]], *counts, values)
    zoned = np.array([zones[name] for name in node_names], object) if zones else None
    return Workload(interest, np.arange(counts[0]), np.arange(counts[1]), node_names, topic_names, zoned)


def _rows(path: Path, format: Format) -> Iterator[_Row]:
    """The rows of a file: the columns that are read, trimmed."""
    if format.name == PARQUET:
        table = pq.read_table(path, columns=[str(column) for _, column in format.places])
        values = [table.column(str(column)).cast(pa.string()).to_pylist() for _, column in format.places]
        for number, fields in enumerate(zip(*values, strict=True), 1):
            yield number, ["" if field is None else field.strip() for field in fields]
        return
    split = _json_splitter(path, format) if format.name == JSON_LINES else _text_splitter(path, format)
    for number, line in _lines(path):
        text = line.strip(" \r\n")
        if not text or text.startswith(("#", "%")) or text == format.header_line.strip(" "):
            continue
        yield number, split(number, text)


def _lines(path: Path) -> Iterable[tuple[int, str]]:
    openers: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open}
    with openers.get(path.suffix, open)(path, "rt", encoding="utf-8", newline=None) as file:
        try:
            for number, line in enumerate(file, 1):
                yield number, line.removeprefix(UTF8_MARK) if number == 1 else line
        except UnicodeDecodeError as error:
            raise InputError(f"{path} is not UTF-8 text: {error.reason}; convert it") from None


def _text_splitter(path: Path, format: Format) -> Callable[[int, str], list[str]]:
    delimiter = " " if format.name == WHITESPACE else format.delimiter
    places = [int(place) for _, place in format.places]
    needed = 1 + max(places[:2])
    most = len(format.header) or 1 + max(places)

    def split(number: int, line: str) -> list[str]:
        if delimiter == " ":
            fields = line.split()
        elif format.quote and format.quote in line:
            fields = split_line(line, delimiter, format.quote)
        else:
            fields = [field.strip(" ") for field in line.split(delimiter)]
        if not needed <= len(fields) <= most:
            columns = "one column" if len(fields) == 1 else f"{len(fields)} columns"
            raise InputError(
                f"{path}, line {number} has {columns} ({line[:60]}); expected a node and a topic on each line, such as "
                f"service,topic ({format.sentence()}); `gossamer ingest memberships` sets bad lines aside"
            )
        return [fields[place] for place in places if place < len(fields)]

    return split


def _json_splitter(path: Path, format: Format) -> Callable[[int, str], list[str]]:
    keys = [str(key) for _, key in format.places]
    decoder = msgspec.json.Decoder(dict[str, Any])

    def split(number: int, line: str) -> list[str]:
        try:
            row = decoder.decode(line)
        except msgspec.DecodeError:
            raise InputError(f"{path}, line {number} is not a JSON object: {line[:60]}") from None
        return ["" if row.get(key) is None else str(row[key]).strip() for key in keys]

    return split


def _check_name(path: Path, number: int, what: str, name: str) -> None:
    if not name:
        raise InputError(f"{path}, line {number}: the {what} is empty")
    if len(name) > NAME_BYTES_MAX // 4 and len(name.encode()) > NAME_BYTES_MAX:
        raise InputError(f"{path}, line {number}: the {what} is longer than {NAME_BYTES_MAX} bytes")


def _role(path: Path, number: int, text: str) -> int:
    role = ROLE_WORDS.get(text.lower()) if text else int(Role.FOLLOWS)
    if role is None:
        raise InputError(f"{path}, line {number}: the role must be follows, publishes or both, got {text!r}")
    return role


def _warn(path: Path, nodes: Iterable[str], topics: Iterable[str], repeated: int) -> None:
    if repeated:
        warnings.warn(f"{path}: {repeated:,} repeated (node, topic) rows count once", InputWarning, stacklevel=4)
    for what, names in (("nodes", nodes), ("topics", topics)):
        alike = alike_names(names)
        if alike:
            more = f" and {len(alike) - 1:,} more" if len(alike) > 1 else ""
            warnings.warn(
                f"{path}: the {what} {' and '.join(map(repr, alike[0]))}{more} differ only in upper and lower case; they "
                f"are taken as different {what}",
                InputWarning,
                stacklevel=4,
            )


def alike_names(names: Iterable[str]) -> list[list[str]]:
    """Groups of names that are equal but for upper and lower case, and for how Unicode writes the same letters."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(unicodedata.normalize("NFKC", name).casefold(), []).append(name)
    return [group for group in groups.values() if len(group) > 1]
