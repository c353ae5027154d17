"""The files that a path, a folder or a glob names, and the entries that are not read."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from glob import glob
from pathlib import Path

from gossamer.model.values.errors import InputError


@dataclass(frozen=True)
class Inputs:
    """The files to read, and the entries of a folder that are skipped."""

    files: list[Path]
    skipped: list[Path]

    def skipped_sentence(self) -> str:
        """One sentence on the skipped entries, or nothing."""
        if not self.skipped:
            return ""
        names = ", ".join(path.name + "/" * path.is_dir() for path in self.skipped)
        return f"Skipped {names}: hidden files, names that begin with _ and subfolders are not read."


def find_inputs(pattern: str) -> Inputs:
    """The files that a path, a folder or a glob names."""
    path = Path(pattern)
    if path.is_file():
        if _is_hidden(path):
            raise InputError(f"{path} cannot be read: Spark ignores files whose names begin with . or _; rename it")
        found = [path]
    elif path.is_dir():
        found = sorted(path.iterdir())
    else:
        found = sorted(map(Path, glob(pattern)))
    files = [file for file in found if file.is_file() and not _is_hidden(file)]
    skipped = [entry for entry in found if entry not in files]
    if not files:
        others = f" (only {', '.join(entry.name for entry in skipped)})" if skipped else ""
        raise InputError(f"there is no file at {pattern}{others}; give a file, a folder, or a glob in quotes")
    for file in files:
        if file.stat().st_size == 0:
            raise InputError(f"{file} is empty")
    return Inputs(files, skipped)


def input_files(pattern: str) -> list[Path]:
    """The files of `find_inputs`."""
    return find_inputs(pattern).files


def file_labels(files: Sequence[Path]) -> dict[Path, str]:
    """The name of every file, or its path where two files have the same name."""
    names = Counter(file.name for file in files)
    return {file: file.name if names[file.name] == 1 else str(file) for file in files}


def _is_hidden(file: Path) -> bool:
    """Whether Spark ignores the file, even if it is named in full."""
    return file.name.startswith((".", "_")) or file.name.endswith("._COPYING_")
