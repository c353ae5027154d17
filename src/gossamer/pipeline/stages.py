"""The stages of a study: folders with manifests, each written once for its inputs, settings and code."""

import hashlib
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

import gossamer
from gossamer.model.tables.measures import measure_modules
from gossamer.pipeline.storage import Place, output_place, read_facts, write_facts
from gossamer.simulator.pool import code_hash

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass
class Stages:
    """The stages of a study in their folder, with their manifests."""

    folder: Path
    said: Callable[[str], None]
    # The session that reads and writes tables at a URI, and the folder of the tables that grow with the input.
    spark: "SparkSession"
    tables: Place
    done: dict[str, dict[str, Any]] = field(default_factory=dict)

    def run(self, name: str, inputs: dict[str, Any], work: Callable[[Path], dict[str, Any]]) -> Path:
        """Carry out a stage in the study's folder unless nothing has changed; returns its folder.

        A stage whose rows count `failures` is written but not finished: the next call carries it out again.
        """
        path = self.folder / name

        def work_here(making: Place) -> dict[str, Any]:
            assert isinstance(making, Path)
            return work(making)

        self._run(name, path, inputs, work_here)
        return path

    def run_table(self, name: str, inputs: dict[str, Any], work: Callable[[Place], dict[str, Any]]) -> Place:
        """Carry out a stage whose tables grow with the input."""
        path = self.tables / name
        self._run(name, path, inputs, work)
        return path

    def _run(self, name: str, path: Place, inputs: dict[str, Any], work: Callable[[Place], dict[str, Any]]) -> None:
        key = hashlib.sha256(
            msgspec.json.encode([name, inputs, code_hash("pipeline", modules=measure_modules())], order="deterministic")
        ).hexdigest()
        before = read_facts(self.spark, path)
        if before.get("key") == key and before.get("is_finished", True):
            self.said(f"{name}: nothing has changed")
            self.done[name] = before
            return
        self.said(f"{name} ...")
        began = time.monotonic()
        with output_place(self.spark, path, force=True) as making:
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
            write_facts(self.spark, making, content)
        self.done[name] = content

    def key(self, name: str) -> str:
        """The key of a finished stage, which is an input of later stages."""
        return str(self.done[name]["key"])


def _versions() -> dict[str, str]:
    """The versions of Python and of the libraries that compute the results."""
    libraries = ("pyspark", "numpy", "numba", "scipy", "pyarrow", "msgspec")
    return {"python": platform.python_version(), **{name: version(name) for name in libraries}}
