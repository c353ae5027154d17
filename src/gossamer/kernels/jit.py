"""How kernels are compiled, and where compiled kernels are stored.

Numba notices a change in a kernel's own file, but not in a function or constant that the kernel imports from another
file. Therefore the name of the cache folder contains a hash of all kernel sources of this package. For a kernel of a
third-party package, the hash also covers all sources of that package. A change in any of these files leads to a new
folder.
"""

import hashlib
import os
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from tempfile import gettempdir
from typing import Any, TypeVar

import numba

Function = TypeVar("Function", bound=Callable[..., Any])

# Every compiled function, so that a test can check that `python -m gossamer.systems` compiles them all.
COMPILED: list[Any] = []

# Prefix of the folders with compiled kernels.
FOLDER_PREFIX = "kernels-"
# Characters of the hash in a folder's name.
_HASH_LENGTH = 16
# The name of the file or folder in which a system keeps its kernels.
_KERNEL = "kernel"


def kernel(function: Function) -> Function:
    """Compile a function on its first call, cached on disk, without the GIL and without checks of array bounds."""
    before = numba.config.CACHE_LOCATOR_CLASSES
    numba.config.CACHE_LOCATOR_CLASSES = f"{__name__}.{SourceHashLocator.__name__}"
    try:
        compiled = numba.njit(cache=True, nogil=True, error_model="numpy")(function)
    finally:
        numba.config.CACHE_LOCATOR_CLASSES = before
    COMPILED.append(compiled)
    return compiled  # type: ignore[no-any-return]


class SourceHashLocator:
    """Tells numba where to store a kernel's compiled code. It also works for a package inside a zip file."""

    def __init__(self, function: Any) -> None:
        package = function.__module__.partition(".")[0]
        self._hash = source_hash(package)
        self._path = cache_base() / f"{FOLDER_PREFIX}{self._hash}" / function.__module__
        self._line = function.__code__.co_firstlineno

    def get_cache_path(self) -> str:
        """The folder of this kernel's module."""
        return str(self._path)

    def ensure_cache_path(self) -> None:
        """Create the folder."""
        self._path.mkdir(parents=True, exist_ok=True)

    def get_source_stamp(self) -> str:
        """The hash of all sources."""
        return self._hash

    def get_disambiguator(self) -> str:
        """Distinguishes functions of one module that have the same name."""
        return str(self._line)

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> "SourceHashLocator":  # noqa: ARG003
        """The locator of a function; called by numba."""
        located = cls(py_func)
        located.ensure_cache_path()
        return located


@cache
def cache_base() -> Path:
    """The folder for compiled kernels: NUMBA_CACHE_DIR, else the first writable folder of the candidates below."""
    if numba.config.CACHE_DIR:
        return Path(numba.config.CACHE_DIR)
    beside = Path(__file__).parent / "__pycache__"
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gossamer"
    for folder in (beside, home):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return folder
    return Path(gettempdir()) / f"gossamer-{os.getuid()}"


@cache
def source_hash(package: str) -> str:
    """A hash of the kernel sources of this package and, for a third-party package, of all sources of that package."""
    ours = files("gossamer")
    digest = hashlib.sha256(numba.__version__.encode())
    _add(ours / "kernels", digest)
    # Kernels contain the constants of the keyed draw.
    _add(ours / "model" / "values" / "draw.py", digest)
    for system in _sorted(ours / "systems"):
        if system.is_dir():
            for path in _sorted(system):
                if path.name.removesuffix(".py") == _KERNEL:
                    _add(path, digest)
    if package != "gossamer":
        module = import_module(package)
        _add(files(package) if hasattr(module, "__path__") else Path(str(module.__file__)), digest)
    return digest.hexdigest()[:_HASH_LENGTH]


def _add(path: Traversable, digest: Any) -> None:
    if path.is_dir() and path.name != "__pycache__":
        for each in _sorted(path):
            _add(each, digest)
    elif path.name.endswith(".py"):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())


def _sorted(folder: Traversable) -> list[Traversable]:
    return sorted(folder.iterdir(), key=lambda path: path.name)
