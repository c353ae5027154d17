"""A package that cannot be used is named in one sentence, and nothing else breaks."""

import json

import pytest

SYSTEM = """
from gossamer import plugin
{more}
SYSTEMS = (plugin.System(name="{name}", summary="", paper="", parameters={parameters}),)
"""
UNDOCUMENTED = """
import msgspec
class Undocumented(msgspec.Struct, frozen=True):
    size: int = 3
"""
NONE = "plugin.NoParameters"
BAD = {
    "fails to import": ("import no_such_library", "it fails to import with ModuleNotFoundError: No module named"),
    "raises": ("raise RuntimeError('boom')", "it fails to import with RuntimeError: boom"),
    "exports nothing": ("", "exports neither SYSTEMS nor DISSEMINATIONS"),
    "exports something else": ("SYSTEMS = ('a string',)", "it exports 'a string' where a System is expected"),
    "a name that is taken": (SYSTEM.format(more="", name="gm", parameters=NONE), "its name gm is taken"),
    "undocumented parameters": (
        SYSTEM.format(more=UNDOCUMENTED, name="odd", parameters="Undocumented"),
        "parameter size of odd does not say where its default comes from",
    ),
}


def install(folder, content):
    """A package as pip leaves it."""
    (folder / "broken.py").write_text(content)
    metadata = folder / "broken-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[gossamer.systems]\nbroken = broken\n")
    return folder


@pytest.mark.parametrize("case", BAD)
def test_a_bad_package_is_one_sentence_and_the_other_systems_stay(python, tmp_path, case):
    content, sentence = BAD[case]
    (tmp_path / "packages").mkdir()
    folder = install(tmp_path / "packages", content)
    done = python("systems", "--json", path=(folder,), command=True)
    assert done.returncode == 0, done.stderr
    assert "spidercast" in {system["name"] for system in json.loads(done.stdout)}
    (said,) = done.stderr.splitlines()
    assert said.startswith("gossamer: broken is left out: ")
    assert sentence in said
