"""Reads and writes tables and small files, on this machine or at any URI that Spark reads.

A `Place` is a local path or a `RemotePath`. Remote files are reached only through Spark's readers and writers, so the
same code works in process, on a cluster and over Spark Connect, with every file system that the cluster knows.

A local output folder is written under a temporary name and renamed. Remote storage may have no atomic rename, so there the
manifest is written last: a folder without a finished manifest counts as not written.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import msgspec

from gossamer.model.tables.folders import MANIFEST, check_output, file_sha256, output_folder, write_json
from gossamer.model.values.errors import CheckFailed, InputError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_LOCAL = re.compile(r"file:(?://)?(?=/)")
# Characters that Hadoop takes for a pattern when it reads.
_PATTERN_SIGNS = re.compile(r"[\\{}\[\]*?]")


@dataclass(frozen=True, order=True)
class RemotePath:
    """A file or folder that only Spark can reach, named by its URI."""

    uri: str

    def __truediv__(self, name: str) -> "RemotePath":
        return RemotePath(f"{self.uri.rstrip('/')}/{name}")

    def __str__(self) -> str:
        return self.uri

    @property
    def name(self) -> str:
        """The last part of the URI."""
        return self.uri.rstrip("/").rpartition("/")[2]

    @property
    def parent(self) -> "RemotePath":
        """The folder that contains it."""
        return RemotePath(self.uri.rstrip("/").rpartition("/")[0])

    @property
    def suffix(self) -> str:
        """The end of the name from its last dot on."""
        return Path(self.name).suffix


Place = Path | RemotePath


def read_place(text: str | Path) -> Place:
    """The place that a path or URI names."""
    text = str(text)
    local = _LOCAL.match(text)
    if local:
        return Path(text[local.end() :])
    if _SCHEME.match(text):
        return RemotePath(text.rstrip("/"))
    return Path(text)


def is_remote(text: str | Path) -> bool:
    """Whether a path or URI names a place that only Spark can reach."""
    return isinstance(read_place(text), RemotePath)


def same_place(uri: str) -> str:
    """A key of a file that Spark names by a URI with escapes; equal to `key_of` of its place."""
    return key_of(read_place(unquote(uri)))


def key_of(place: Place) -> str:
    """The key of a place, for comparison with `same_place`."""
    return str(place.resolve()) if isinstance(place, Path) else unquote(place.uri)


def spark_path(place: Place) -> str:
    """A place for Spark to write to: absolute, and not escaped, because Hadoop does not decode escapes."""
    return f"file://{place.resolve()}" if isinstance(place, Path) else place.uri


def pattern_path(place: Place) -> str:
    """A place for Spark to read, which is a pattern to Hadoop: the signs of patterns in its names are escaped."""
    path = spark_path(place)
    names = path.partition("://")[2]
    if ":" in names.partition("/")[2] and _PATTERN_SIGNS.search(names):
        # Hadoop expands the path as a pattern, and takes a name with a colon in it for a URI.
        raise InputError(
            f"Spark cannot read {place}: a name has a colon, and a name has one of \\ {{ }} [ ] * ?; rename one"
        )
    return _PATTERN_SIGNS.sub(r"\\\g<0>", path)


def read_parquet(spark: "SparkSession", *places: Place) -> "DataFrame":
    """Read a table, or several tables with the same columns as one."""
    return spark.read.parquet(*map(pattern_path, places))


def write_parquet(rows: "DataFrame", place: Place, compression: str | None = None) -> None:
    """Write a table and check that it is there: Spark must not write to another folder than this process reads."""
    writer = rows.write if compression is None else rows.write.option("compression", compression)
    if isinstance(place, RemotePath):
        # A table without the manifest of its folder is left over from a command that was stopped.
        writer.mode("overwrite").parquet(spark_path(place))
        return
    writer.parquet(spark_path(place))
    if not place.is_dir() or not any(place.glob("*.parquet")):
        raise CheckFailed(
            f"Spark has written {place.name}, but not to {place}: do driver and workers share this folder?"
        )


def rewritten(rows: "DataFrame", place: Place) -> "DataFrame":
    """Write a table and read it back: a query that several others use is computed once and outlives its executors.

    Spark's `localCheckpoint` does the same on the disks of executors, and one lost executor ends the command.
    """
    # The table is read a few times and deleted, so fast compression matters more than its size.
    write_parquet(rows, place, compression="lz4")
    return read_parquet(rows.sparkSession, place)


def discard(spark: "SparkSession", place: Place) -> None:
    """Remove a table that is no longer needed. Spark cannot delete, so a remote table is emptied."""
    if isinstance(place, Path):
        rmtree(place, ignore_errors=True)
    else:
        spark.createDataFrame([], "removed int").write.mode("overwrite").parquet(spark_path(place))


def exists(spark: "SparkSession", place: Place) -> bool:
    """Whether there is a file or folder."""
    if isinstance(place, Path):
        return place.exists()
    from pyspark.errors import AnalysisException

    try:
        _ = _listing(spark, place).columns
    except AnalysisException as error:
        if "PATH_NOT_FOUND" in str(error):
            return False
        raise
    return True


@dataclass(frozen=True)
class FoundFile:
    """A remote file, its size, and when it was written, in the words of its storage."""

    place: RemotePath
    size: int
    modified: str


def files_in(spark: "SparkSession", place: RemotePath) -> list[FoundFile]:
    """The files of a remote file, folder or pattern, in the order of their names. Spark leaves out hidden files."""
    rows = _listing(spark, place).selectExpr("path", "length", "string(modificationTime) as modified")
    # One row for each input file.
    found = (FoundFile(RemotePath(row["path"]), row["length"], row["modified"]) for row in rows.toLocalIterator())
    return sorted(found, key=lambda file: file.place)


def _listing(spark: "SparkSession", place: RemotePath) -> "DataFrame":
    # Spark reads the content of a binary file only if the column is used. The URI is a pattern that the user wrote.
    return spark.read.format("binaryFile").load(place.uri)


def first_lines(spark: "SparkSession", place: RemotePath, most: int) -> bytes:
    """The first lines of a remote text file, decompressed."""
    lines = spark.read.text(pattern_path(place)).where("_metadata.file_block_start = 0")
    first = lines.selectExpr("make_valid_utf8(value) as value").limit(most)
    return b"\n".join(row["value"].encode(errors="replace") for row in first.toLocalIterator())


def fingerprint(spark: "SparkSession", place: Place) -> dict[str, Any]:
    """The identity of an input in a manifest: the hash of its content, or size and time of a remote file or folder."""
    if isinstance(place, Path):
        return {"sha256": file_sha256(place)}
    found = files_in(spark, place)
    return {"files": len(found), "bytes": sum(file.size for file in found), "modified": max(f.modified for f in found)}


def read_facts(spark: "SparkSession", folder: Place) -> dict[str, Any]:
    """The manifest of a folder; empty if there is none or it is not finished."""
    place = folder / MANIFEST
    try:
        if isinstance(place, Path):
            text = place.read_bytes()
        elif not exists(spark, place):
            return {}
        else:
            text = b"\n".join(row["value"].encode() for row in spark.read.text(place.uri).toLocalIterator())
        content = msgspec.json.decode(text)
    except (OSError, msgspec.DecodeError):
        return {}
    return content if isinstance(content, dict) and not content.get("is_being_written") else {}


def write_facts(spark: "SparkSession", folder: Place, content: Mapping[str, Any]) -> None:
    """Write the manifest of a folder: its last file, which makes a remote folder a finished one."""
    write_object(spark, folder / MANIFEST, content)


def write_object(spark: "SparkSession", place: Place, content: Any) -> None:
    """Write JSON: a local file, or a remote folder of this name with one line in one file."""
    if isinstance(place, Path):
        write_json(place, content)
        return
    rows = spark.createDataFrame([(msgspec.json.encode(content).decode(),)], "value string")
    rows.coalesce(1).write.mode("overwrite").text(place.uri)


@contextmanager
def output_place(
    spark: "SparkSession", place: Place, force: bool = False, inputs: Sequence[Place] = ()
) -> Iterator[Place]:
    """Yield a folder to write into. It counts as written when the block has ended and its manifest is there."""
    if isinstance(place, Path):
        with output_folder(place, force, [path for path in inputs if isinstance(path, Path)]) as making:
            yield making
        return
    check_remote(spark, place, force, inputs)
    write_facts(spark, place, {"is_being_written": True})
    yield place


def check_local(place: Place, force: bool, inputs: Sequence[Place] = ()) -> None:
    """What `output_place` checks of a local output, before Spark is started."""
    if isinstance(place, Path):
        check_output(place, force, [path for path in inputs if isinstance(path, Path)])


def check_remote(spark: "SparkSession", place: RemotePath, force: bool, inputs: Sequence[Place] = ()) -> None:
    """Refuse an output that exists, before any work is done; `force` replaces only folders that Gossamer wrote."""
    for source in inputs:
        if f"{key_of(source)}/".startswith(f"{key_of(place)}/"):
            raise InputError(f"{place} is or contains the input {source}; choose another folder to write to")
    if read_facts(spark, place) and not force:
        raise InputError(f"{place} exists; choose another folder, or force=True to replace it")
    if not exists(spark, place / MANIFEST) and exists(spark, place):
        raise InputError(f"{place} has no {MANIFEST} written by Gossamer, so nothing is written to it")
