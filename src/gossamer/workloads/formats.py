"""Finds how a file of rows is written: its format, delimiter, quote and header, and which columns are wanted.

The start of a file is read in the driver. Nothing is assumed in silence: the manifest has the format of every file, and
`Reading` overrides what is found.
"""

import csv
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from gossamer.model.values.errors import InputError
from gossamer.workloads.heads import Head, NamedFile, data_lines
from gossamer.workloads.words import kind_words, plain_word, words_of

WHITESPACE, DELIMITED, JSON_LINES, PARQUET = "whitespace", "csv", "json lines", "parquet"
# In the order of preference where two fit equally well.
DELIMITERS = ("\t", ",", ";", "|")
DELIMITER_NAMES = {
    "tab": "\t",
    "comma": ",",
    "semicolon": ";",
    "pipe": "|",
    "whitespace": " ",
    "space": " ",
    r"\t": "\t",
}
QUOTE = '"'
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
# Chosen: a column is one of numbers if this share of the sampled lines has a number there.
NUMBERS_LEAST = 0.9


@dataclass(frozen=True)
class Reading:
    """What the user says about the files; None where it is to be found."""

    # One character, or a name such as tab or whitespace.
    delimiter: str | None = None
    header: bool | None = None
    # Names in the header, or places from 1, of the columns of the kind in their order.
    columns: tuple[str, ...] | None = None

    def delimiter_character(self) -> str | None:
        """The delimiter as one character; a blank stands for whitespace."""
        if self.delimiter is None:
            return None
        found = DELIMITER_NAMES.get(self.delimiter.lower(), self.delimiter)
        if len(found) != 1 or found in (QUOTE, "\n", "\r", "\\"):
            names = ", ".join(name for name in DELIMITER_NAMES if name.isalpha())
            raise InputError(f"`delimiter` must be one character or one of {names}, got {self.delimiter!r}")
        return found


@dataclass(frozen=True)
class Format:
    """How a file is read. Files of one format are read together."""

    name: str
    # Of delimited files only; the quote is empty if quotes have no meaning.
    delimiter: str = ""
    quote: str = ""
    # The text of the header line, and the columns that it names; empty if there is no header.
    header_line: str = ""
    header: tuple[str, ...] = ()
    # For every column that is read: its name in the kind, and its place from 0 (or its name, in JSON and Parquet).
    places: tuple[tuple[str, int | str], ...] = ()
    # Whether lines may have columns that are not read.
    has_more: bool = False

    def facts(self) -> dict[str, Any]:
        """The format as it stands in the manifest."""
        names = {name: self.header[place] if self.header else place + 1 for name, place in self._numbered()}
        return {
            "format": self.name,
            **({"delimiter": self.delimiter, "quote": self.quote} if self.name == DELIMITED else {}),
            "header": list(self.header) if self.name in (WHITESPACE, DELIMITED) else None,
            "columns": names or dict(self.places),
        }

    def _numbered(self) -> list[tuple[str, int]]:
        return [(name, place) for name, place in self.places if isinstance(place, int)]

    def sentence(self) -> str:
        """The format in a few words."""
        if self.name not in (WHITESPACE, DELIMITED):
            return f"{self.name} ({', '.join(f'{name}: {place}' for name, place in self.places)})"
        split = "split at whitespace" if self.name == WHITESPACE else f"split at {self.delimiter!r}"
        quoted = f", quoted by {self.quote}" if self.quote else ""
        header = f"header {', '.join(self.header)}" if self.header else "no header"
        return f"{split}{quoted}, {header}"


def find_format(
    path: NamedFile, required: Sequence[str], optional: Sequence[str], reading: Reading, head: Head
) -> Format:
    """The format of a file whose rows have these columns."""
    if head.columns:
        return _by_keys(path, PARQUET, head.columns, required, optional, reading)
    lines = data_lines(head.start)
    if not lines:
        # The caller counts the lines and says that there are only comments.
        return Format(WHITESPACE, places=tuple((name, place) for place, name in enumerate((*required, *optional))))
    if lines[0].startswith("["):
        raise InputError(f"{path} is not JSON lines: write one object on each line, without the brackets around them")
    if lines[0].startswith("{"):
        return _by_keys(path, JSON_LINES, _json_keys(path, lines), required, optional, reading)
    is_konect = data_lines(head.start, comments=True)[0].startswith("%")
    delimiter = reading.delimiter_character() or (" " if is_konect else find_delimiter(lines))
    quote = find_quote(lines, delimiter)
    rows = [split_line(line, delimiter, quote) for line in lines]
    has_header = reading.header if reading.header is not None else is_header(rows, (*required, *optional))
    if has_header is None and delimiter != " ":
        raise InputError(
            f"the first line of {path} ({lines[0][:60]}) may be a header or data; write a header with known words, such as "
            "service,topic, or say which with `header`"
        )
    header = tuple(rows[0]) if has_header else ()
    places = _places(path, header, max(map(len, rows)), required, optional, reading)
    return Format(
        WHITESPACE if delimiter == " " else DELIMITED,
        delimiter="" if delimiter == " " else delimiter,
        quote=quote,
        header_line=lines[0] if has_header else "",
        header=header,
        places=places,
        has_more=has_header or reading.columns is not None,
    )


def find_delimiter(lines: Sequence[str]) -> str:
    """The character at which most lines have the same number of columns; a blank stands for whitespace."""
    best, best_count = " ", len(lines) / 2
    for delimiter in DELIMITERS:
        widths = Counter(len(split_line(line, delimiter, QUOTE)) for line in lines)
        width, count = widths.most_common(1)[0]
        if width > 1 and count > best_count:
            best, best_count = delimiter, count
    if best == "\t" and sum(map(_mixes_blanks, lines)) > len(lines) / 2:
        # Several numbers between two tabs: both blanks and tabs separate columns.
        return " "
    return best


def _mixes_blanks(line: str) -> bool:
    is_mixed = any(" " in field.strip() for field in line.split("\t"))
    return is_mixed and all(NUMBER.fullmatch(field) for field in line.split())


def quoted_pattern(delimiter: str) -> str:
    """A quoted field with the delimiter before it. A quote within it is doubled (RFC 4180)."""
    edge = re.escape(delimiter)
    return rf'(^|{edge}) *"[^"]*(?:""[^"]*)*+" *(?={edge}|$)'


def open_quote_pattern(delimiter: str) -> str:
    """The start of a quoted field; after all whole quoted fields are taken away, a start without an end."""
    return rf'(^|{re.escape(delimiter)}) *"'


def find_quote(lines: Sequence[str], delimiter: str) -> str:
    """The quote of a file. In files with tabs, names such as "Weird Al" Yankovic are common, and quotes mean nothing."""
    if delimiter == " ":
        return ""
    if delimiter != "\t":
        return QUOTE
    left = [re.sub(quoted_pattern(delimiter), r"\1", line) for line in lines]
    if any(re.search(open_quote_pattern(delimiter), line) for line in left):
        return ""
    return QUOTE if left != list(lines) else ""


def split_line(line: str, delimiter: str, quote: str) -> list[str]:
    """The fields of a line, in the driver."""
    if delimiter == " ":
        return line.split()
    if not quote:
        return [field.strip(" ") for field in line.split(delimiter)]
    try:
        (fields,) = csv.reader([line], delimiter=delimiter, quotechar=quote, skipinitialspace=True)
    except (csv.Error, ValueError):
        return [line]
    return [field.strip(" ") for field in fields]


def is_header(rows: Sequence[Sequence[str]], names: Sequence[str]) -> bool | None:
    """Whether the first row is a header: known words, or words above a column of numbers.

    It is data if one of its values occurs in another row. None where nothing tells.
    """
    first, others = rows[0], rows[1:]
    if any(NUMBER.fullmatch(field) or not field for field in first) or len(set(first)) < len(first):
        return False
    known = kind_words(names)
    if len(first) > 1 and sum(plain_word(field) in known for field in first) >= 2:
        return True
    for place in range(len(first)):
        column = [row[place] for row in others if len(row) == len(first)]
        if column and sum(NUMBER.fullmatch(field) is not None for field in column) >= NUMBERS_LEAST * len(column):
            return True
    later = {field for row in others for field in row}
    return False if not others or later.intersection(first) else None


def _places(
    path: NamedFile,
    header: Sequence[str],
    width: int,
    required: Sequence[str],
    optional: Sequence[str],
    reading: Reading,
) -> tuple[tuple[str, int], ...]:
    """The place of every column that is read."""
    names = (*required, *optional)
    if reading.columns is not None:
        _check_columns(reading.columns, required, names)
        wanted = zip(names, reading.columns, strict=False)
        return tuple((name, _place(path, column, header, width)) for name, column in wanted)
    if not header:
        return tuple((name, place) for place, name in enumerate(names))
    found = _by_words(header, names)
    if not all(name in found for name in required):
        if len(header) > len(required):
            raise InputError(
                f"{path} has the columns {', '.join(header)}; say which are {' and '.join(required)} with `columns`, or "
                "that the first line is no header with `header`"
            )
        found = {name: place for place, name in enumerate(required)}
    return tuple((name, found[name]) for name in names if name in found)


def _check_columns(columns: Sequence[str], required: Sequence[str], names: Sequence[str]) -> None:
    if not len(required) <= len(columns) <= len(names):
        raise InputError(
            f"`columns` must name {len(required)} to {len(names)} columns ({', '.join(names)}), got {len(columns)}"
        )


def _place(path: NamedFile, column: str, header: Sequence[str], width: int) -> int:
    for place, name in enumerate(header):
        if column == name or plain_word(column) == plain_word(name):
            return place
    if column.isdecimal() and 1 <= int(column) <= width:
        return int(column) - 1
    known = f"the columns {', '.join(header)}" if header else f"no header, and columns 1 to {width}"
    raise InputError(f"{path} has no column {column!r}; it has {known}")


def _by_words(header: Sequence[str], names: Sequence[str]) -> dict[str, int]:
    """The places of the columns that the header names by a known word; each place is used once."""
    fields = [plain_word(field) for field in header]
    found: dict[str, int] = {}
    for name in names:
        places = (place for word in words_of(name) for place, field in enumerate(fields) if field == word)
        place = next((place for place in places if place not in found.values()), None)
        if place is not None:
            found[name] = place
    return found


def _by_keys(
    path: NamedFile,
    format: str,
    keys: Sequence[str],
    required: Sequence[str],
    optional: Sequence[str],
    reading: Reading,
) -> Format:
    """The format of a file whose columns have names of their own."""
    names = (*required, *optional)
    if reading.columns is not None:
        _check_columns(reading.columns, required, names)
        missing = [column for column in reading.columns if column not in keys]
        if missing:
            raise InputError(f"{path} has no column {missing[0]!r}; it has {', '.join(keys)}")
        return Format(format, places=tuple(zip(names, reading.columns, strict=False)))
    found = _by_words(keys, names)
    missing = [name for name in required if name not in found]
    if missing:
        raise InputError(
            f"{path} has the columns {', '.join(keys)}; say which are {' and '.join(required)} with `columns`"
        )
    return Format(format, places=tuple((name, keys[found[name]]) for name in names if name in found))


def _json_keys(path: NamedFile, lines: Sequence[str]) -> list[str]:
    keys: dict[str, None] = {}
    for line in lines:
        try:
            keys.update(dict.fromkeys(msgspec.json.decode(line, type=dict[str, Any])))
        except msgspec.DecodeError:
            continue
    if not keys:
        raise InputError(f"{path} looks like JSON lines, but none of its first {len(lines)} lines is an object")
    return list(keys)
