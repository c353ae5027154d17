"""Patterns of topic names, such as `prices/*` and `orders/**`, and the wildcards of access rules."""

from gossamer.model.values.errors import InputError

# Chosen: a pattern is as long as a topic's name at most.
PATTERN_BYTES_MAX = 255
_ANY_LEVELS = "**"


def matches(pattern: str, text: str) -> bool:
    """Whether a text matches; `*` stands for any characters.

    The time is proportional to both lengths, so no text from a peer can make it slow.
    """
    first, *rest = pattern.split("*")
    if not rest:
        return text == first
    *middle, last = rest
    if not text.startswith(first) or len(text) < len(first) + len(last):
        return False
    place, end = len(first), len(text) - len(last)
    for piece in middle:
        place = text.find(piece, place, end)
        if place < 0:
            return False
        place += len(piece)
    return text.endswith(last)


class Pattern:
    """A pattern of topic names, whose levels are separated by `/`.

    `*` stands for any characters inside one level, so `prices/*` matches `prices/eur` and not `prices/eur/spot`. A level `**`
    stands for any number of levels, also none, so `orders/**` matches `orders` and `orders/2024/7`. All other characters match
    themselves, and case matters.
    """

    __slots__ = ("_levels", "text")

    def __init__(self, text: str) -> None:
        if not isinstance(text, str) or not text:
            raise InputError("a pattern must be a non-empty string, such as 'prices/*'")
        if len(text.encode()) > PATTERN_BYTES_MAX:
            raise InputError(f"a pattern has at most {PATTERN_BYTES_MAX} bytes, this one has {len(text.encode())}")
        levels = text.split("/")
        wrong = next((level for level in levels if _ANY_LEVELS in level and level != _ANY_LEVELS), None)
        if wrong is not None:
            raise InputError(f"`**` must be a whole level, as in 'orders/**', got {wrong!r} in {text!r}")
        self.text = text
        # Two `**` in succession are one.
        self._levels = [
            level for place, level in enumerate(levels) if level != _ANY_LEVELS or levels[place - 1 : place] != [level]
        ]

    def __repr__(self) -> str:
        return f"Pattern({self.text!r})"

    def __str__(self) -> str:
        return self.text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pattern) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    @property
    def matches_everything(self) -> bool:
        """Whether the pattern names no part of a topic: `**`, `**/*` and the like."""
        return _ANY_LEVELS in self._levels and all(set(level) == {"*"} for level in self._levels)

    def matches(self, name: str) -> bool:
        """Whether a topic of this name matches."""
        levels, wanted = name.split("/"), self._levels
        at = place = 0
        # After a `**`: where the pattern continues, and the level of the name that it has not swallowed yet.
        resume, swallowed = -1, 0
        while at < len(levels):
            if place < len(wanted) and wanted[place] == _ANY_LEVELS:
                place += 1
                resume, swallowed = place, at
            elif place < len(wanted) and _matches_level(wanted[place], levels[at]):
                place, at = place + 1, at + 1
            elif resume >= 0:
                swallowed += 1
                place, at = resume, swallowed
            else:
                return False
        return all(level == _ANY_LEVELS for level in wanted[place:])


def _matches_level(wanted: str, level: str) -> bool:
    return bool(level) if wanted == "*" else matches(wanted, level)
