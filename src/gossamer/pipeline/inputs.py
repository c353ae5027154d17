"""The files that a path, a folder, a glob or a URI names, and the entries that are not read."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING

from gossamer.model.values.errors import InputError
from gossamer.pipeline.storage import Place, RemotePath, files_in, first_lines, read_parquet, read_place
from gossamer.workloads.heads import HEAD_LINES, PARQUET_MAGIC, Head, read_head

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Inputs:
    """The files to read, and the entries of a folder that are skipped."""

    files: Sequence[Place]
    skipped: Sequence[Path] = ()

    def skipped_sentence(self) -> str:
        """One sentence on the skipped entries, or nothing."""
        if not self.skipped:
            return ""
        names = ", ".join(path.name + "/" * path.is_dir() for path in self.skipped)
        return f"Skipped {names}: hidden files, names that begin with _ and subfolders are not read."


def find_inputs(pattern: str, spark: "SparkSession | None" = None) -> Inputs:
    """The files that a path, a folder, a glob or a URI names. URIs need a session."""
    path = read_place(pattern)
    if isinstance(path, RemotePath):
        if spark is None:
            raise InputError(f"{pattern} can be listed only after Spark has started")
        return Inputs(_remote_files(spark, path))
    if path.is_file():
        if _is_hidden(path):
            raise InputError(f"{path} cannot be read: Spark ignores files whose names begin with . or _; rename it")
        found = [path]
    elif path.is_dir():
        found = sorted(path.iterdir())
    else:
        found = sorted(map(Path, glob(str(path))))
    files = [file for file in found if file.is_file() and not _is_hidden(file)]
    skipped = [entry for entry in found if entry not in files]
    if not files:
        others = f" (only {', '.join(entry.name for entry in skipped)})" if skipped else ""
        raise InputError(f"there is no file at {pattern}{others}; give a file, a folder, or a glob in quotes")
    for file in files:
        if file.stat().st_size == 0:
            raise InputError(f"{file} is empty")
    return Inputs(files, skipped)


def _remote_files(spark: "SparkSession", place: RemotePath) -> list[Place]:
    from pyspark.errors import AnalysisException

    try:
        found = files_in(spark, place)
    except AnalysisException as error:
        if "PATH_NOT_FOUND" not in str(error):
            raise
        found = []
    if not found:
        raise InputError(f"there is no file with content at {place}; give a file, a folder, or a pattern in quotes")
    return [file.place for file in found]


def local_files(pattern: str) -> list[Path]:
    """The files on this machine that a path, a folder or a glob names."""
    return [file for file in find_inputs(pattern).files if isinstance(file, Path)]


def head_of(spark: "SparkSession | None", file: Place) -> Head:
    """The start of a local or remote file; only a remote one needs a session."""
    if isinstance(file, Path):
        return read_head(file)
    assert spark is not None
    start = first_lines(spark, file, HEAD_LINES)
    is_parquet = start.startswith(PARQUET_MAGIC)
    return Head(start, read_parquet(spark, file).columns if is_parquet else ())


def file_labels(files: Sequence[Place]) -> dict[Place, str]:
    """The name of every file, or its path where two files have the same name."""
    names = Counter(file.name for file in files)
    return {file: file.name if names[file.name] == 1 else str(file) for file in files}


def _is_hidden(file: Path) -> bool:
    """Whether Spark ignores the file, even if it is named in full."""
    return file.name.startswith((".", "_")) or file.name.endswith("._COPYING_")
