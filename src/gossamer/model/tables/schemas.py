"""Every table there is: its columns, what must hold of them, and reading and writing that check it.

From the files onward rooms meet only through these tables (DESIGN, "Tables").
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
    """Columns that must be there, columns that may be there, and which of them cannot be negative."""

    name: str
    required: pa.Schema
    optional: pa.Schema
    not_negative: tuple[str, ...] = ()

    def column_type(self, column: str) -> pa.DataType:
        """The type of a required or optional column."""
        fields = self.required if column in self.required.names else self.optional
        column_type: pa.DataType = fields.field(column).type
        return column_type


def _schema(
    name: str, required: Mapping[str, pa.DataType], not_negative: tuple[str, ...] = (), **optional: pa.DataType
) -> Schema:
    return Schema(name, pa.schema(list(required.items())), pa.schema(list(optional.items())), not_negative)


_ID, _TIME, _COUNT, _TEXT = pa.int64(), pa.int64(), pa.int64(), pa.string()

SCHEMAS = {
    schema.name: schema
    for schema in (
        _schema("interests", {"node": _ID, "topic": _ID}, ("node", "topic"), role=pa.uint8()),
        _schema("names", {"id": _ID, "name": _TEXT}, ("id",)),
        _schema("churn", {"at_us": _TIME, "node": _ID, "event": _TEXT}, ("at_us", "node")),
        _schema("overlay", {"u": _ID, "v": _ID}, ("u", "v")),
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
            {"event": _COUNT, "topic": _ID, "node": _ID, "at_us": _TIME, "hops": _COUNT, "duplicates": _COUNT},
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
            {"at_us": _TIME, "kind": _TEXT, "messages": _COUNT, "bytes": _COUNT},
            ("at_us", "messages", "bytes"),
        ),
        _schema(
            "control",
            {"at_us": _TIME, "node": _ID, "kind": _TEXT, "messages": _COUNT, "bytes": _COUNT},
            ("at_us", "node", "messages", "bytes"),
        ),
        _schema(
            "spreads",
            {"data": _TEXT, "spread": _TEXT, "value": _COUNT, "count": _COUNT, "share": pa.float64()},
            ("value", "count"),
        ),
        _schema("failures", {"system": _TEXT, "seed": pa.uint64(), "run": _TEXT, "reason": _TEXT}),
        _schema("quarantine", {"source": _TEXT, "line": _COUNT, "text": _TEXT, "reason": _TEXT}),
    )
}


def write_table(name: str, path: Path, columns: Mapping[str, Any]) -> int:
    """Write a table of the named schema; returns its rows. The caller owns the folder's atomicity."""
    schema = SCHEMAS[name]
    fields = list(schema.required) + [field for field in schema.optional if field.name in columns]
    table = pa.table({field.name: pa.array(columns[field.name], type=field.type) for field in fields})
    pq.write_table(table, path, compression="zstd")
    return int(table.num_rows)


def read_table(name: str, path: Path) -> pa.Table:
    """Read and check a table: columns there, of the right type, no nulls, no negative ids.

    Returns the schema's columns in its own types; columns that the schema does not know are left behind.
    """
    schema = SCHEMAS[name]
    if not path.exists():
        raise InputError(f"there is no {path}; expected the table '{name}' there")
    try:
        # A table may also be a folder of part files, as Spark writes.
        present = pq.ParquetDataset(path).schema.names
        wanted = [column for column in (*schema.required.names, *schema.optional.names) if column in present]
        _check_columns(schema, path, present)
        table = pq.read_table(path, columns=wanted)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise TableError(f"{path} cannot be read as Parquet: {str(error).splitlines()[0]}") from None
    columns = {column: _checked(schema, path, column, table.column(column)) for column in wanted}
    return pa.table(columns)


def _check_columns(schema: Schema, path: Path, present: list[str]) -> None:
    missing = [column for column in schema.required.names if column not in present]
    if missing:
        raise TableError(
            f"{path} is not a table of {schema.name}: missing {', '.join(missing)}; present {', '.join(present)}"
        )


def _checked(schema: Schema, path: Path, column: str, values: Any) -> Any:
    if values.null_count:
        raise TableError(f"{path}: column {column} holds {values.null_count} nulls; every row needs a value")
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
