"""The stages of a study: folders with manifests, each written once for its inputs, settings and code."""

import hashlib
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec

import gossamer
from gossamer.model.tables.folders import output_folder, write_manifest
from gossamer.model.tables.measures import measure_modules
from gossamer.simulator.pool import code_hash


@dataclass
class Stages:
    """The stages of a study in their folder, with their manifests."""

    folder: Path
    said: Callable[[str], None]
    done: dict[str, dict[str, Any]] = field(default_factory=dict)

    def run(self, name: str, inputs: dict[str, Any], work: Callable[[Path], dict[str, Any]]) -> Path:
        """Carry out a stage unless nothing has changed; returns its folder.

        A stage whose rows count `failures` is written but not finished: the next call carries it out again.
        """
        key = hashlib.sha256(
            msgspec.json.encode([name, inputs, code_hash("pipeline", modules=measure_modules())], order="deterministic")
        ).hexdigest()
        path = self.folder / name
        before = _manifest(path)
        if before.get("key") == key and before.get("is_finished", True):
            self.said(f"{name}: nothing has changed")
            self.done[name] = before
            return path
        self.said(f"{name} ...")
        began = time.monotonic()
        with output_folder(path, force=True) as making:
            rows = work(making)
            content = {
                "gossamer": gossamer.__version__,
                "key": key,
                "is_finished": not rows.get("failures"),
                "inputs": inputs,
                "rows": rows,
                "versions": _versions(),
                "stage_seconds": round(time.monotonic() - began, 1),
            }
            write_manifest(making, content)
        self.done[name] = content
        return path

    def key(self, name: str) -> str:
        """The key of a finished stage, which is an input of later stages."""
        return str(self.done[name]["key"])


def _versions() -> dict[str, str]:
    """The versions of Python and of the libraries that compute the results."""
    libraries = ("pyspark", "numpy", "numba", "scipy", "pyarrow", "msgspec")
    return {"python": platform.python_version(), **{name: version(name) for name in libraries}}


def _manifest(path: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = msgspec.json.decode((path / "manifest.json").read_bytes())
    except (OSError, msgspec.DecodeError):
        return {}
    return content
