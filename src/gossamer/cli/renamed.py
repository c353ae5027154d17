"""Old flags and settings: each works for one release and prints one warning on standard error.

`replace_old_flags` changes the command line before it is parsed, so the commands define the new flags only.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class RenamedFlag:
    """`OLD VALUE` of these commands is now `NEW PREFIX+VALUE`; without `new` the value is the last positional argument."""

    commands: tuple[str, ...]
    old: str
    new: str | None
    prefix: str = ""


# Stands for the value of --dissemination; `--set` also takes the word itself for the dissemination in use.
DISSEMINATION = "dissemination"

# Remove an entry one release after it was added.
RENAMED_FLAGS = (
    RenamedFlag(("node", "pub", "sub"), "--seed", "--join"),
    RenamedFlag(("node", "pub", "sub", "simulate"), "--with", "--set", f"{DISSEMINATION}."),
    RenamedFlag(("simulate",), "--recovery-with", "--set", "recovery."),
    RenamedFlag(("sample",), "--seeds", "--starts"),
    RenamedFlag(("keys issue",), "--out", None),
)

# Keys of the file that `gossamer node --config` reads.
RENAMED_SETTINGS = {"seeds": "join"}


def replace_old_flags(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """The command line with new flags only, and one warning for each old flag in it."""
    names = {" ".join(arguments[:1]), " ".join(arguments[:2])}
    renamed = {flag.old: flag for flag in RENAMED_FLAGS if names & set(flag.commands)}
    kept: list[str] = []
    last: list[str] = []
    uses: dict[str, list[str]] = {}
    left = iter(arguments)
    for argument in left:
        if argument == "--":
            kept += [argument, *left]
            break
        name, equals, value = argument.partition("=")
        flag = renamed.get(name)
        if flag is None:
            kept.append(argument)
            continue
        given = value if equals else next(left, None)
        if given is None:  # Typer reports the missing value.
            kept.append(flag.new or argument)
            continue
        words = _replacement(flag, given, arguments)
        (kept if flag.new else last).extend(words)
        uses.setdefault(flag.old, []).extend(words)
    warnings = [
        f"{old} is deprecated; "
        + (f"use {' '.join(words)}" if renamed[old].new else f"give {words[-1]} as the last argument without a flag")
        for old, words in uses.items()
    ]
    return kept + last, warnings


def replace_old_settings(content: Mapping[str, Any], where: str) -> tuple[dict[str, Any], list[str]]:
    """The content of a settings file with new keys only, and one warning for each old key in it."""
    replaced: dict[str, Any] = {}
    warnings = []
    for name, value in content.items():
        new = RENAMED_SETTINGS.get(name, name)
        if new != name:
            warnings.append(f"{where}: the setting {name} is deprecated; use {new}")
        if new == name or new not in content:
            replaced[new] = value
    return replaced, warnings


def _replacement(flag: RenamedFlag, value: str, arguments: Sequence[str]) -> list[str]:
    if flag.new is None:
        return [value]
    prefix = flag.prefix
    if prefix.startswith(DISSEMINATION):
        prefix = f"{_value_of('--dissemination', arguments) or DISSEMINATION}."
    return [flag.new, prefix + value]


def _value_of(flag: str, arguments: Sequence[str]) -> str | None:
    for argument, following in zip(arguments, [*arguments[1:], ""], strict=True):
        name, equals, value = argument.partition("=")
        if name == flag:
            return value if equals else following or None
    return None
