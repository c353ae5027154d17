"""The import table of the design, enforced."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import gossamer

SOURCE = Path(gossamer.__file__).parent
ROOMS = sorted(folder.name for folder in SOURCE.iterdir() if folder.is_dir() and folder.name != "__pycache__")

PACKAGES = sorted(path.parent.name for path in (SOURCE / "systems").glob("*/__init__.py"))
# The registry of systems: what it exports, and nothing below it.
REGISTRY = "systems.__init__"
# Which rooms a room may import; `model.values` if it may import only that part of the model.
MAY_IMPORT = {
    "model": set(),
    "protocols": {"model.values"},
    "kernels": {"model"},
    "planners": {"model", "kernels"},
    "theory": {"model", "kernels"},
    "workloads": {"model", "kernels"},
    "simulator": {"model", "protocols", "kernels", "planners", "workloads", REGISTRY},
    "live": {"model.values", "model.spool", "protocols", REGISTRY},
    "pipeline": {"model", "kernels", "planners", "theory", "workloads", "simulator", REGISTRY},
    "analysis": {"model", "theory", REGISTRY},
    "web": {"model", "protocols", "analysis", "live", REGISTRY},
    "cli": set(ROOMS) - {"systems"} | {"model.values", REGISTRY},
    # The public modules beside `gossamer` itself.
    "testing": {"model.values", "simulator", "live"},
    "plugin": {"model", "protocols", "kernels", "simulator", "analysis"},
    # A system's folder, by kind of file (`kind_of`).
    "systems, registry": {"model.values", "protocols"},
    "systems, light": {"model.values", "protocols"},
    "systems, kernel": {"model", "kernels"},
    "systems, population": {"model", "protocols", "kernels", "planners", "workloads", "simulator", REGISTRY},
    "systems, exhibits": {"model", "theory", "analysis", REGISTRY},
    "systems, command": {"kernels", REGISTRY},
}

CLOCKS = {"time", "datetime", "random", "secrets", "uuid"}
HEAVY = {"numpy", "numba", "pyarrow", "pyspark", "pandas", "matplotlib", "scipy"}
# Libraries that a room must not import.
MUST_NOT = {
    "model": CLOCKS | {"pyspark", "numba", "asyncio", "socket"},
    "protocols": CLOCKS | HEAVY | {"asyncio", "os", "logging", "threading", "socket", "pathlib", "io"},
    "kernels": CLOCKS | {"pyspark", "asyncio"},
    "planners": CLOCKS | {"pyspark", "asyncio"},
    "theory": CLOCKS | {"pyspark", "asyncio"},
    "workloads": CLOCKS | {"pyspark", "asyncio"},
    "simulator": CLOCKS | {"pyspark", "asyncio", "socket"},
    "live": HEAVY,
    "pipeline": set(),
    "analysis": {"pyspark"},
    "web": {"pyspark"},
    "cli": set(),
    "testing": CLOCKS | HEAVY,
    "plugin": CLOCKS | HEAVY | {"asyncio"},
}
MUST_NOT |= {
    "systems, registry": MUST_NOT["protocols"],
    "systems, light": MUST_NOT["protocols"],
    "systems, kernel": MUST_NOT["kernels"],
    "systems, population": MUST_NOT["simulator"],
    "systems, exhibits": CLOCKS | {"pyspark"},
    "systems, command": set(),
}
# Files of a system's folder that need numpy, by the room they belong to; all others are light.
KERNEL_FILES = {"kernel", "warm", "chord"}
POPULATION_FILES = {
    "population",
    "planner",
    "first_views",
    "wiring",
    "check",
    "experiments",
    "sequential",
    "network_churn",
}


def kind_of(path: Path) -> str:
    """The row of the table for a file below `systems`."""
    names = [part.removesuffix(".py") for part in path.relative_to(SOURCE / "systems").parts]
    if len(names) == 1:
        return "systems, registry" if names == ["__init__"] else "systems, command"
    kinds = {
        "exhibits": "exhibits",
        **dict.fromkeys(KERNEL_FILES, "kernel"),
        **dict.fromkeys(POPULATION_FILES, "population"),
    }
    return f"systems, {kinds.get(names[1], 'light')}"


def imports_of(path: Path) -> list[str]:
    """Every module that a file imports, anywhere in it."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively; write the whole name"
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return found


def breaches(room: str, path: Path, own: str = "") -> list[str]:
    """The imports of a file that its row of the table does not allow; `own` is its own package."""
    allowed = MAY_IMPORT[room] | ({own} if own else {room})
    # The command line and the command that compiles kernels measure their own time.
    banned = set() if path.name == "__main__.py" else MUST_NOT[room]
    wrong = []
    for name in imports_of(path):
        parts = name.split(".")
        if parts[0] == "gossamer" and len(parts) > 1 and parts[1] in ROOMS:
            below = ".".join(parts[1:3])
            if below == "systems" or (parts[1] == "systems" and parts[2] not in PACKAGES):
                below = REGISTRY
            if parts[1] not in allowed and below not in allowed:
                wrong.append(f"{path.name} imports {name}")
        elif parts[0] in banned:
            wrong.append(f"{path.name} imports {name}")
    return wrong


@pytest.mark.parametrize("room", [room for room in ROOMS if room != "systems"])
def test_a_room_imports_only_what_the_design_allows(room):
    assert room in MAY_IMPORT, f"the room {room} is not in the import table"
    wrong = [breach for path in sorted((SOURCE / room).rglob("*.py")) for breach in breaches(room, path)]
    assert not wrong


@pytest.mark.parametrize("module", ["testing", "plugin"])
def test_a_public_module_imports_only_what_the_design_allows(module):
    assert not breaches(module, SOURCE / f"{module}.py")


@pytest.mark.parametrize("package", ["", *PACKAGES])
def test_a_systems_folder_imports_only_what_the_design_allows(package):
    """A system imports its own folder and what its kind of file may; never another system."""
    folder = SOURCE / "systems" / package
    paths = sorted(folder.rglob("*.py")) if package else sorted(folder.glob("*.py"))
    wrong = [breach for path in paths for breach in breaches(kind_of(path), path, f"systems.{package}")]
    assert not wrong


def test_the_import_check_sees_a_breach(tmp_path):
    (tmp_path / "bad.py").write_text("import random\nfrom gossamer.simulator.engine import EventEngine\n")
    assert breaches("protocols", tmp_path / "bad.py") == [
        "bad.py imports random",
        "bad.py imports gossamer.simulator.engine.EventEngine",
    ]


@pytest.mark.parametrize(
    ("part", "banned"), [("values", {"numpy", "pyarrow"}), ("arrays", {"pyarrow"})], ids=["values", "arrays"]
)
def test_each_part_of_the_model_needs_only_its_own_libraries(part, banned):
    for path in sorted((SOURCE / "model" / part).rglob("*.py")):
        names = imports_of(path)
        assert not {name.split(".")[0] for name in names} & banned
        later = {"values": ("arrays", "tables"), "arrays": ("tables",)}[part]
        assert not [name for name in names if name.startswith(tuple(f"gossamer.model.{other}" for other in later))]


LIVE_NODE = """
import asyncio, sys
import gossamer

async def main():
    async with gossamer.Node() as one, gossamer.Node(join=[one.address]) as other, other.subscribe("t") as messages:
        await one.publish("t", b"x")
        await anext(messages)

asyncio.run(main())
heavy = {"numpy", "numba", "pyarrow", "pyspark", "pandas", "matplotlib", "scipy", "cryptography", "typer", "rich"}
loaded = heavy & set(sys.modules)
sys.exit(f"a live node loaded {loaded}" if loaded else 0)
"""


def test_a_running_live_node_loads_no_heavy_library():
    done = subprocess.run([sys.executable, "-c", LIVE_NODE], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_importing_gossamer_loads_no_heavy_library():
    code = "import sys, gossamer, gossamer.cli.app; print(sorted(set(sys.modules) & set(sys.argv[1:])))"
    # `cryptography` is in the base install, and loaded only where TLS or signatures are asked for.
    heavy = [*HEAVY, "cryptography"]
    done = subprocess.run([sys.executable, "-c", code, *heavy], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"
