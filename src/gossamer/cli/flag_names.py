"""Errors of the library name fields (`until_us`, engine='event'); the user of a command sees its flags instead."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

# Fields of library values whose flag has another name. The other fields are named like their flags.
_FLAGS = {
    "until_us": "--until",
    "window_us": "--window",
    "event_count": "--events",
    "cycle_limit": "--cycles",
    "partitions": "--partition",
    "seeds": "--starts",
    "part_count": "--parts",
    "parameters": "--set",
    "settings": "--set",
    "dissemination_parameters": "--set",
    "dissemination_settings": "--set",
}


def flags_of(root: Any, arguments: Sequence[str]) -> dict[str, str]:
    """Field names and their flags, for the command that the arguments select."""
    command = root
    for argument in arguments:
        inner = getattr(command, "commands", {}).get(argument)
        if inner is None:
            break
        command = inner
    options = {
        option.name: option.opts[0] for option in command.params if option.opts and option.opts[0].startswith("--")
    }
    known = set(options.values())
    return {field: flag for field, flag in _FLAGS.items() if flag in known} | options


def name_flags(sentence: str, flags: Mapping[str, str]) -> str:
    """The sentence with flags in place of fields. A field is replaced in four places:

    in backticks (`loss`), with a value (engine='event', insecure=True), as a word with an underscore (until_us), and
    before "must" where a sentence begins (loss must lie between 0 and 1).
    """
    if not flags:
        return sentence
    fields = "|".join(sorted(map(re.escape, flags), key=len, reverse=True))
    long = "|".join(field for field in sorted(flags, key=len, reverse=True) if "_" in field) or r"(?!)"
    pattern = re.compile(
        rf"`(?:\w+\.)?(?P<quoted>{fields})`"
        rf"|(?<![\w.-])(?P<set>{fields})=(?:(?P<mark>['\"])(?P<value>.*?)(?P=mark)|True\b)"
        rf"|(?<![\w./-])(?P<long>{long})(?![\w./=-])"
        rf"|(?:^|(?<=; ))(?P<first>{fields})(?= must\b)"
    )

    def flag(match: re.Match[str]) -> str:
        field = match["quoted"] or match["set"] or match["long"] or match["first"]
        return f"{flags[field]} {match['value']}" if match["value"] is not None else flags[field]

    return pattern.sub(flag, sentence)
