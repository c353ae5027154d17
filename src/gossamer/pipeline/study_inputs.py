"""The input of a study: finds which kind a file or folder is, and checks that every input can be read before Spark starts."""

import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

from gossamer.model.tables.schemas import check_table_columns
from gossamer.model.values.errors import InputError
from gossamer.pipeline.inputs import local_files
from gossamer.pipeline.lines import EDGES as EDGE_LINES
from gossamer.pipeline.lines import MACHINE_EVENTS, group_files
from gossamer.pipeline.lines import MEMBERSHIPS as MEMBERSHIP_LINES
from gossamer.pipeline.storage import is_remote
from gossamer.pipeline.study_settings import EDGES, MEMBERSHIPS, WORKLOAD, Study
from gossamer.workloads.formats import NUMBER, QUOTE, Reading, find_delimiter, split_line
from gossamer.workloads.heads import data_lines, read_head
from gossamer.workloads.named import has_names
from gossamer.workloads.words import plain_word, words_of

# The columns of each kind, and words in comments or file names that tell the kind.
_COLUMNS = {EDGES: EDGE_LINES.columns, MEMBERSHIPS: MEMBERSHIP_LINES.columns}
_TELLING = {
    EDGES: "edge edges friend friends friendship friendships follower followers graph sym asym",
    MEMBERSHIPS: "member members membership memberships group groups subscription subscriptions subs subscribers interests "
    "topics bip",
}
# Chosen: users and groups hardly ever have a name in common; the two ends of edges often do, even in a few lines.
SHARED_NAMES = 0.05
# The files of a folder of real data sets that a study can read; the first that exists is used.
REAL_EDGES = ("facebook100-cornell5/cornell5_edges.txt.gz", "ego-facebook/facebook_combined.txt.gz")
REAL_EVENTS = ("google-2011-machines/part-00000-of-00001.csv.gz",)


def study_of(path: str, kind: str | None, base: Study | None = None) -> tuple[Study, str]:
    """A study of one input, and a sentence on how it is read; `kind` says the kind if it cannot be found."""
    base = base or Study()
    if is_remote(path) and kind is None:
        raise InputError(f"{path} is not on this machine; say what it is with --kind edges or --kind memberships")
    found, reason = (kind, "as --kind says") if kind else find_kind(path)
    if found == WORKLOAD:
        folder = Path(path)
        path = str(folder.parent if folder.name == "interests.parquet" else folder)
    elif Path(path).is_dir() and (Path(path) / "edges.parquet").exists() and found == EDGES:
        path = str(Path(path) / "edges.parquet")
    elif found == MEMBERSHIPS and (Path(path) / "interests.parquet").is_file():
        path = str(Path(path) / "interests.parquet")
    study = msgspec.structs.replace(base, **{found: path})
    return study, f"{path} is read as {found} ({reason})"


def find_kind(path: str) -> tuple[str, str]:
    """The kind of a file or folder, and the reason; refuses where it cannot be told."""
    folder = Path(path)
    interests = folder if folder.name == "interests.parquet" else folder / "interests.parquet"
    if interests.is_file() and has_names(interests):
        return MEMBERSHIPS, "its interests.parquet has names"
    if folder.name == "interests.parquet" or interests.exists():
        return WORKLOAD, "it has interests.parquet"
    if (folder / "edges.parquet").exists():
        return EDGES, "it has edges.parquet"
    file = local_files(path)[0]
    found = _by_names(_column_names(file), "its columns are {}") or _by_text(file) or _by_values(_rows(file))
    if found is None:
        if len(_column_names(file)) == 1:
            raise InputError(f"{path} has one column; expected two on each line, such as service,topic")
        raise InputError(
            f"{path} may be edges (two users on a line) or memberships (a user and a group on a line); say which with "
            "--kind edges or --kind memberships"
        )
    return found


def _column_names(file: Path) -> list[str]:
    """The names of the columns of Parquet or JSON lines; the first line of text."""
    head = read_head(file)
    if head.columns:
        return list(head.columns)
    lines = data_lines(head.start)
    if lines and lines[0].startswith("{"):
        try:
            return list(msgspec.json.decode(lines[0], type=dict[str, object]))
        except msgspec.DecodeError:
            return []
    return split_line(lines[0], find_delimiter(lines), QUOTE) if lines else []


def _by_names(names: Sequence[str], reason: str) -> tuple[str, str] | None:
    """The kind whose columns these names are, if they are those of one kind only."""
    fields = [plain_word(name) for name in names]
    kinds = []
    for kind, columns in _COLUMNS.items():
        places = [{place for place, field in enumerate(fields) if field in words_of(each)} for each in columns]
        if all(places) and len(set().union(*places)) >= len(columns):
            kinds.append(kind)
    return (kinds[0], reason.format(", ".join(names))) if len(kinds) == 1 else None


def _by_text(file: Path) -> tuple[str, str] | None:
    """The kind that the comments or the name of a file tell."""
    head = read_head(file)
    comments = [] if head.columns else data_lines(head.start, comments=True)
    marked = [line for line in comments if line.lstrip().startswith(("#", "%"))]
    for line in marked:
        if found := _by_names(line.lstrip("#% ").split(), "a comment names the columns {}"):
            return found
    for text, where in ((" ".join(marked), "its comments say so"), (file.name, "its name says so")):
        words = set(re.findall(r"[a-z]+", text.lower()))
        kinds = [kind for kind, telling in _TELLING.items() if words & set(telling.split())]
        if len(kinds) == 1:
            return kinds[0], where
    return None


def _rows(file: Path) -> list[list[str]]:
    """The first lines of a text file, split; none of other files."""
    head = read_head(file)
    lines = [] if head.columns else data_lines(head.start)
    if not lines or lines[0].startswith("{"):
        return []
    delimiter = find_delimiter(lines)
    return [row for line in lines if len(row := split_line(line, delimiter, QUOTE)) >= 2]


def _by_values(rows: Sequence[Sequence[str]]) -> tuple[str, str] | None:
    """The kind that the values of the first two columns tell. Numbers tell nothing: groups and users both have them."""
    sides = [{row[place] for row in rows} for place in (0, 1)]
    are_numbers = [all(NUMBER.fullmatch(name) for name in side) for side in sides]
    if not rows or all(are_numbers):
        return None
    if any(are_numbers):
        return MEMBERSHIPS, "one column has numbers and the other names"
    shared = len(sides[0] & sides[1]) / min(map(len, sides))
    return (EDGES, "both columns have the same names") if shared >= SHARED_NAMES else None


def check_inputs(study: Study, out: Path) -> None:
    """Check that every input of a study is there and has a format that can be read, before Spark starts.

    The stages of a study replace folders in `out`, so no input may be there.
    """
    for path in (study.edges, study.memberships, study.workload, study.events):
        if (
            path is not None
            and not is_remote(path)
            and out.resolve() in (Path(path).resolve(), *Path(path).resolve().parents)
        ):
            raise InputError(
                f"the input {path} is inside the output folder {out}; choose another folder for the output"
            )
    reading = reading_of(study)
    reading.delimiter_character()
    kinds = ((study.edges, EDGE_LINES), (study.memberships, MEMBERSHIP_LINES), (study.events, MACHINE_EVENTS))
    for path, kind in kinds:
        if path is not None and not is_remote(path):
            group_files(None, local_files(path), kind, Reading() if kind is MACHINE_EVENTS else reading)
    if study.workload is not None and not is_remote(study.workload):
        folder = Path(study.workload)
        if not (folder / "interests.parquet").exists():
            raise InputError(f"{folder} is not a workload: a workload is a folder with interests.parquet")
        check_table_columns("interests", folder / "interests.parquet")


def reading_of(study: Study) -> Reading:
    """What the study says about the lines of its input."""
    return Reading(study.delimiter, study.header, study.columns)


def on_real_data(study: Study, folder: Path | None) -> Study:
    """The same study, with the real data sets of a folder as its input."""
    if folder is None:
        return study
    found = []
    for names in (REAL_EDGES, REAL_EVENTS):
        there = [folder / name for name in names if (folder / name).is_file()]
        if not there:
            raise InputError(f"{folder} has none of {', '.join(names)}")
        found.append(str(there[0]))
    return msgspec.structs.replace(study, edges=found[0], events=found[1])
