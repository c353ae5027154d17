"""The exhibits of all systems, by name. Each system's package names its own."""

from dataclasses import replace
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from importlib.util import find_spec

from gossamer.analysis.exhibits.harness import PUBLISHED, Exhibit
from gossamer.model.values.errors import InputError
from gossamer.systems import all_systems, load


@cache
def all_exhibits() -> dict[str, Exhibit]:
    """All exhibits by name, in the order of the systems."""
    named = dict.fromkeys(system.exhibits for system in all_systems().values() if system.exhibits)
    found: dict[str, Exhibit] = {}
    for exhibits in named:
        package = _package(exhibits.partition(":")[0])
        for exhibit in load(exhibits):
            if exhibit.name in found:
                raise InputError(f"two exhibits have the name {exhibit.name}; the second is in {exhibits}")
            found[exhibit.name] = replace(exhibit, package=package)
    return found


def _package(module: str) -> str:
    """The nearest package at or above a module that has published values; empty if there is none."""
    while module:
        spec = find_spec(module)
        is_package = spec is not None and spec.submodule_search_locations is not None
        if is_package and (files(module) / PUBLISHED).is_file():
            return module
        module = module.rpartition(".")[0]
    return ""


def find_exhibits(name: str) -> list[Exhibit]:
    """One exhibit by its name, all of a paper, or `all`."""
    exhibits = all_exhibits()
    if name == "all":
        return list(exhibits.values())
    found = [exhibit for exhibit in exhibits.values() if name in (exhibit.name, exhibit.name.partition("/")[0])]
    if not found:
        close = get_close_matches(name, list(exhibits), n=1)
        hint = f"; did you mean {close[0]}?" if close else ""
        raise InputError(f"there is no exhibit {name!r}; `gossamer reproduce` lists them{hint}")
    return found
