"""The schema of every table, and functions that check a table against its schema when they read or write it.

After a run has written its files, rooms exchange data only through these tables (ARCHITECTURE.md lists them).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from gossamer.model.values.errors import InputError, TableError


@dataclass(frozen=True)
class Schema:
    """The required and the optional columns of a table, and the conditions on their values."""

    name: str
    required: pa.Schema
    optional: pa.Schema
    not_negative: tuple[str, ...] = ()
    # Columns whose values may be null.
    nullable: tuple[str, ...] = ()
    # Whether further columns are allowed: numbers that may be null, one column for each figure of a run.
    has_figures: bool = False

    def column_type(self, column: str) -> pa.DataType:
        """The type of a required or optional column."""
        fields = self.required if column in self.required.names else self.optional
        column_type: pa.DataType = fields.field(column).type
        return column_type


def _schema(
    name: str, required: Mapping[str, pa.DataType], not_negative: tuple[str, ...] = (), **optional: pa.DataType
) -> Schema:
    return Schema(name, _fields(required), _fields(optional), not_negative)


def _fields(columns: Mapping[str, pa.DataType]) -> pa.Schema:
    return pa.schema(list(columns.items()))


_ID, _TIME, _COUNT, _TEXT, _NUMBER = pa.int64(), pa.int64(), pa.int64(), pa.string(), pa.float64()

# One row for each run of a study: its figures as columns, and all its metrics as JSON.
_RESULTS = Schema(
    "results",
    _fields({"label": _TEXT, "kind": _TEXT, "system": _TEXT, "seed": pa.uint64(), "metrics": _TEXT}),
    _fields({}),
    has_figures=True,
)
# One row for each point of an exhibit; a point without a published value has no deviation and no verdict.
_VALUES = Schema(
    "values",
    _fields(
        {
            "series": _TEXT,
            "x": _NUMBER,
            "seeds": _COUNT,
            "measured": _NUMBER,
            "low": _NUMBER,
            "high": _NUMBER,
            "published": _NUMBER,
            "deviation": _NUMBER,
            "verdict": _TEXT,
            "expected": _NUMBER,
        }
    ),
    _fields({"ground": _TEXT, "quantity": _TEXT}),
    ("seeds",),
    nullable=("published", "deviation", "verdict", "expected", "ground", "quantity"),
)

SCHEMAS = {
    schema.name: schema
    for schema in (
        _schema("interests", {"node": _ID, "topic": _ID}, ("node", "topic"), role=pa.uint8()),
        # `event` is 0 (added), 1 (removed) or 2 (updated).
        _schema("machine_events", {"at_us": _TIME, "node": _ID, "event": pa.int64()}, ("at_us", "node", "event")),
        _schema("names", {"id": _ID, "name": _TEXT}, ("id",)),
        # The zone of every node, such as its rack or region.
        _schema("zones", {"node": _ID, "zone": _TEXT}, ("node",)),
        _schema("churn", {"at_us": _TIME, "node": _ID, "event": _TEXT}, ("at_us", "node")),
        _schema("overlay", {"u": _ID, "v": _ID}, ("u", "v")),
        # The nodes of the workload that are not in the overlay beside it, because they had left or crashed.
        _schema("absent", {"node": _ID}, ("node",)),
        _schema("views", {"topic": _ID, "node": _ID, "peer": _ID}, ("topic", "node", "peer")),
        _schema(
            "view_degrees",
            {"moment": _TEXT, "direction": _TEXT, "degree": _COUNT, "nodes": _COUNT},
            ("degree", "nodes"),
        ),
        _schema("edges", {"source": _ID, "target": _ID}, ("source", "target")),
        _schema(
            "latency",
            {"matrix": _ID, "source": _ID, "target": _ID, "rtt_us": _TIME},
            ("matrix", "source", "target", "rtt_us"),
        ),
        _schema("links", {"at_us": _TIME, "u": _ID, "v": _ID, "up": pa.bool_()}, ("at_us", "u", "v")),
        _schema(
            "topics",
            {"topic": _ID, "subscribers": _COUNT, "components": _COUNT, "links": _COUNT},
            ("topic",),
            diameter=_COUNT,
            diameter_most=_COUNT,
            clustering=pa.float64(),
        ),
        _schema("degrees", {"degree": _COUNT, "nodes": _COUNT}, ("degree", "nodes")),
        _schema(
            "deliveries",
            {
                "event": _COUNT,
                "topic": _ID,
                "node": _ID,
                "at_us": _TIME,
                "hops": _COUNT,
                "duplicates": _COUNT,
                "due": pa.bool_(),
            },
            ("event", "topic", "node", "at_us"),
        ),
        _schema(
            "publications",
            {"event": _COUNT, "topic": _ID, "node": _ID, "at_us": _TIME, "expected": _COUNT},
            ("event", "topic", "node", "at_us", "expected"),
        ),
        _schema(
            "delivery_windows",
            {
                "at_us": _TIME,
                "topic": _ID,
                "published": _COUNT,
                "expected": _COUNT,
                "delivered": _COUNT,
                "delivery_ratio": pa.float64(),
            },
            ("at_us", "topic", "published", "expected", "delivered"),
            latency_us_p50=pa.float64(),
            latency_us_p95=pa.float64(),
            latency_us_p99=pa.float64(),
            latency_us_most=pa.float64(),
        ),
        _schema(
            "control_windows",
            {"at_us": _TIME, "kind": _TEXT, "messages": _COUNT, "frames": _COUNT, "bytes": _COUNT},
            ("at_us", "messages", "frames", "bytes"),
        ),
        _schema(
            "control",
            {"at_us": _TIME, "node": _ID, "kind": _TEXT, "messages": _COUNT, "frames": _COUNT, "bytes": _COUNT},
            ("at_us", "node", "messages", "frames", "bytes"),
        ),
        _schema(
            "spreads",
            {"data": _TEXT, "spread": _TEXT, "value": _COUNT, "count": _COUNT, "share": pa.float64()},
            ("value", "count"),
        ),
        # What each loss of nodes does to an overlay, and the nodes without which a topic falls apart.
        _schema(
            "cases",
            {
                "case": _TEXT,
                "nodes": _COUNT,
                "topics": _COUNT,
                "topics_disconnected": _COUNT,
                "subscriptions_cut_off": _COUNT,
                "nodes_cut_off": _COUNT,
            },
        ),
        _schema("single_points", {"node": _ID, "topic": _ID, "cut_off": _COUNT}, ("node", "topic")),
        _schema("failures", {"system": _TEXT, "seed": pa.uint64(), "run": _TEXT, "reason": _TEXT}),
        _schema("quarantine", {"source": _TEXT, "line": _COUNT, "text": _TEXT, "reason": _TEXT}),
        _RESULTS,
        _VALUES,
    )
}


def write_table(name: str, path: Path, columns: Mapping[str, Any]) -> int:
    """Write a table of the named schema and return its number of rows.

    The caller makes the write atomic, by writing into an `output_folder`.
    """
    schema = SCHEMAS[name]
    fields = list(schema.required) + [field for field in schema.optional if field.name in columns]
    arrays = {field.name: pa.array(columns[field.name], type=field.type) for field in fields}
    if schema.has_figures:
        arrays |= {figure: pa.array(values) for figure, values in columns.items() if figure not in arrays}
    table = pa.table(arrays)
    pq.write_table(table, path, compression="zstd")
    return int(table.num_rows)


def read_table(name: str, path: Path) -> pa.Table:
    """Read a table and check its columns, their types, that no value is null and that no id is negative.

    Returns the columns of the schema, converted to its types, and leaves out columns that the schema does not have.
    """
    schema = SCHEMAS[name]
    present = _columns_of(schema, path).names
    known = (*schema.required.names, *schema.optional.names)
    wanted = present if schema.has_figures else [column for column in known if column in present]
    try:
        table = pq.read_table(path, columns=wanted)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _unreadable(path, error) from None
    columns = {
        column: _checked(schema, path, column, values) if column in known else values
        for column, values in zip(wanted, table.columns, strict=True)
    }
    return pa.table(columns)


def check_table_types(name: str, path: Path) -> None:
    """Check the columns and types of a table that Spark wrote, without reading its rows."""
    schema = SCHEMAS[name]
    present = _columns_of(schema, path)
    for field in schema.required:
        given = present.field(field.name).type
        if given != field.type:
            raise TableError(f"{path}: column {field.name} must be {field.type}, got {given}")


def check_table_columns(name: str, path: Path) -> None:
    """Check that a table has its columns and that they are whole numbers, of any size, without reading its rows."""
    schema = SCHEMAS[name]
    present = _columns_of(schema, path)
    for field in schema.required:
        given = present.field(field.name).type
        if not pa.types.is_integer(given):
            raise TableError(f"{path}: column {field.name} must be whole numbers, got {given}")


def _columns_of(schema: Schema, path: Path) -> pa.Schema:
    """The columns of a file, or of a folder of part files as Spark writes it; all required ones are there."""
    if not path.exists():
        raise InputError(f"there is no {path}; expected the table '{schema.name}' there")
    try:
        present = pq.ParquetDataset(path).schema
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _unreadable(path, error) from None
    missing = [column for column in schema.required.names if column not in present.names]
    if missing:
        raise TableError(
            f"{path} is not a table of {schema.name}: missing {', '.join(missing)}; present {', '.join(present.names)}"
        )
    return present


def _unreadable(path: Path, error: Exception) -> TableError:
    return TableError(f"{path} cannot be read as Parquet: {str(error).splitlines()[0]}")


def _checked(schema: Schema, path: Path, column: str, values: Any) -> Any:
    if values.null_count and column not in schema.nullable:
        raise TableError(f"{path}: column {column} has {values.null_count} nulls; every row needs a value")
    wanted = schema.column_type(column)
    given = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
    if pa.types.is_integer(wanted) and not pa.types.is_integer(given):
        raise TableError(f"{path}: column {column} must be {wanted}, got {values.type}; cast it to whole numbers")
    try:
        values = values.cast(wanted)
    except pa.ArrowException:
        reason = "; ids must be below 2^63" if pa.types.is_uint64(given) else ""
        raise TableError(f"{path}: column {column} must be {wanted}, got {values.type}{reason}") from None
    if column in schema.not_negative and len(values):
        lowest = pc.min(values).as_py()
        if lowest < 0:
            raise TableError(f"{path}: column {column} must not be negative, got {lowest}")
    return values
