"""Rules of style that a program can check."""

import ast
import inspect
import re
from pathlib import Path

import msgspec
import pytest

import gossamer
from gossamer.model.values import errors
from gossamer.systems import RECOVERY, all_disseminations, all_systems, live_names
from tests.stacks import stacks

SOURCE = Path(gossamer.__file__).parent
ROOT = SOURCE.parents[1]
FILES = sorted(SOURCE.rglob("*.py"))


def test_files_stay_short_enough_to_read():
    long = {str(path): count for path in FILES if (count := len(path.read_text().splitlines())) > 400}
    assert not long


def test_no_public_class_name_exists_twice():
    places: dict[str, list[str]] = {}
    for path in FILES:
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(str(path.relative_to(SOURCE)))
    assert not {name: found for name, found in places.items() if len(found) > 1}


def test_no_file_outside_its_folder_knows_a_system_by_name():
    """Everything about a system is in the values that its folder exports; the registry has the name of the default."""
    # Words that are also a system's name: a tie rule, and the gossip probability of the theory.
    other_words = {"random", "gossip"}
    names = {*all_systems(), *live_names()} - other_words
    found = {
        str(path.relative_to(SOURCE)): node.value
        for path in FILES
        if "systems" not in path.relative_to(SOURCE).parts
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and node.value in names
    }
    assert not found


def test_no_file_outside_its_folder_tests_and_docs_names_feverfew():
    """Other files cite the paper by its authors, so that the folder can be removed without a trace."""
    own = SOURCE / "systems" / "feverfew"
    folders = (SOURCE, ROOT / "bench", ROOT / "studies", ROOT / "examples")
    paths = [path for folder in folders for path in folder.rglob("*.*") if path.suffix in {".py", ".toml"}]
    assert not [path.name for path in paths if own not in path.parents and "feverfew" in path.read_text().lower()]


def test_nothing_in_readme_docs_or_examples_imports_below_the_public_modules():
    public = {"gossamer", "gossamer.testing", "gossamer.plugin"}
    texts = [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.py")]
    for path in texts:
        imported = re.findall(r"^\s*(?:from|import) (gossamer[\w.]*)", path.read_text(), re.MULTILINE)
        assert set(imported) <= public, f"{path.name} imports {sorted(set(imported) - public)}"


def test_no_file_has_a_name_that_fits_any_content():
    assert not [path for path in FILES if path.stem in {"utils", "helpers", "manager", "common", "misc", "data"}]


def test_nothing_in_the_project_names_a_path_of_one_machine():
    machine_path = re.compile(r"(?<![\w.])/(work|farm|root|home)/\w")
    texts = [
        *FILES,
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("examples/**/*.py"),
        *ROOT.glob("*.lock"),
        ROOT / "Makefile",
    ]
    assert not [str(path) for path in texts if machine_path.search(path.read_text())]


def test_the_lock_files_name_no_download_address():
    for path in ROOT.glob("*.lock"):
        assert "://" not in path.read_text()


def test_every_exception_is_in_the_printed_tree():
    classes = [value for value in vars(errors).values() if inspect.isclass(value) and issubclass(value, Exception)]
    assert len(classes) >= 7
    for exception in classes:
        assert exception.__name__ in errors.__doc__


def test_the_public_api_has_exactly_the_names_in_all():
    public = {
        name for name in vars(gossamer) if not name.startswith("_") and not inspect.ismodule(vars(gossamer)[name])
    }
    assert (public | {"__version__"} | set(gossamer._LATER)) - {"TYPE_CHECKING", "Any"} == set(gossamer.__all__)


def test_the_version_is_the_same_in_package_and_project_file():
    assert f'version = "{gossamer.__version__}"' in (ROOT / "pyproject.toml").read_text()


LAYERS = {**all_systems(), **all_disseminations(), RECOVERY.name: RECOVERY}


@pytest.mark.parametrize("name", sorted(LAYERS))
def test_every_default_says_where_it_comes_from(name):
    info = msgspec.inspect.type_info(LAYERS[name].parameters)
    for field in info.fields:
        description = (field.type.extra_json_schema or {}).get("description", "")
        assert description.startswith(("Paper:", "Chosen:", "Differs:")), f"{name}.{field.name} does not say"


def test_every_part_belongs_to_a_stack():
    """A part that no system uses is unused code."""
    found = {
        node.name
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
        and any(isinstance(item, ast.AnnAssign) and getattr(item.target, "id", "") == "MESSAGES" for item in node.body)
    }
    assert found - {"Part"} == {part.__name__ for machine in stacks() for part in machine.part_classes}


def test_no_two_messages_or_timers_share_a_tag():
    parts = {part for machine in stacks() for part in machine.part_classes}
    for kinds in ("MESSAGES", "TIMERS"):
        # A part that keeps topics apart owns the messages of the parts that it contains.
        owned = {kind for part in parts for kind in getattr(part, kinds)}
        tags = [kind.__struct_config__.tag for kind in owned]
        assert len(tags) == len(set(tags))


def test_protocols_iterate_over_no_set():
    """The order of a set is arbitrary, so a protocol that iterates over a set is not repeatable."""
    for path in [*(SOURCE / "protocols").rglob("*.py"), *(SOURCE / "systems").rglob("machine.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, (ast.For, ast.comprehension)):
                assert not isinstance(node.iter, (ast.Set, ast.SetComp)), f"{path.name} iterates over a set"
                called = getattr(getattr(node.iter, "func", None), "id", "")
                assert called not in {"set", "frozenset"}, f"{path.name} iterates over a set"
