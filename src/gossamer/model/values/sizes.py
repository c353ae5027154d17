"""Sizes: an integer number of bytes."""

import re

from gossamer.model.values.errors import InputError

_UNITS = {
    "B": 1,
    "kB": 10**3,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
}
_SIZE = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,9})?)([A-Za-z]+)")

# The largest value of a signed 64-bit column.
LARGEST = 2**63 - 1


def size_bytes(text: str, what: str = "a size") -> int:
    """Read a size such as `64MiB` or `1GB`, larger than 0; `what` is the name of the field in the error message."""
    match = _SIZE.fullmatch(text.strip())
    if match is None or match[2] not in _UNITS:
        raise InputError(
            f"{what} must be a number and a unit (B, kB, MB, GB, TB, KiB, MiB, GiB, TiB) such as 1GB, got {text!r}"
        )
    amount = round(float(match[1]) * _UNITS[match[2]])
    if not 1 <= amount <= LARGEST:
        raise InputError(f"{what} must be between 1 byte and 9 million TB, got {text!r}")
    return amount
