"""Tables of studies: writing one with the hash of its study, and finding tables whose study has changed."""

import hashlib
import tomllib
from collections.abc import Sequence
from math import sqrt
from pathlib import Path
from statistics import mean, stdev
from typing import Any

FOLDER = Path(__file__).parent
TABLES = FOLDER / "tables"
_MARK = "study sha256: "


def read_study(name: str) -> dict[str, Any]:
    """The study file."""
    return tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


def study_hash(name: str) -> str:
    """A hash of the script and the study file."""
    digest = hashlib.sha256()
    for kind in ("py", "toml"):
        digest.update((FOLDER / f"{name}.{kind}").read_bytes())
    return digest.hexdigest()


def studies() -> list[str]:
    """The names of all studies that have a study file."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def stale_tables() -> list[str]:
    """Studies without a table, or that have changed since their table was made; and tables without a study.

    A study file may state with `waiting` why its study has not been run yet.
    """
    found = []
    for name in studies():
        path = TABLES / f"{name}.md"
        if not path.is_file():
            if "waiting" in read_study(name):
                continue
            found.append(f"{name} has no table; run python -m studies.{name}")
        elif f"{_MARK}{study_hash(name)}" not in path.read_text(encoding="utf-8"):
            found.append(f"{name} has changed since its table was made; run python -m studies.{name}")
    return found + [
        f"{path.stem} has a table but no study" for path in TABLES.glob("*.md") if path.stem not in studies()
    ]


def write_table(
    name: str, study: dict[str, Any], head: Sequence[str], rows: Sequence[Sequence[str]], note: str
) -> Path:
    """Write the table of a study: its question, a note, the rows, and the hash of the study."""
    lines = [
        f"# {study['title']}",
        "",
        f"{study['question'].strip()} Made by `python -m studies.{name}`, seeds {_seeds(study['seeds'])}. {note}".strip(),
        "",
        "| " + " | ".join(head) + " |",
        "|" + "---|" * len(head),
        *("| " + " | ".join(row) + " |" for row in rows),
        "",
        f"<!-- {_MARK}{study_hash(name)} -->",
    ]
    TABLES.mkdir(exist_ok=True)
    path = TABLES / f"{name}.md"
    making = path.with_name(f".{path.name}.making")
    making.write_text("\n".join(lines) + "\n", encoding="utf-8")
    making.replace(path)
    return path


def shown(samples: Sequence[float], digits: int = 2) -> str:
    """The mean of some runs with its standard error."""
    middle = f"{mean(samples):.{digits}f}"
    return f"{middle} ± {stdev(samples) / sqrt(len(samples)):.{digits}f}" if len(samples) > 1 else middle


def _seeds(seeds: Sequence[int]) -> str:
    return f"{seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else str(seeds[0])
