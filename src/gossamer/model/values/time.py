"""Time: an integer number of microseconds in machines, engines, tables and files."""

import re

from gossamer.model.values.errors import InputError

MILLISECOND_US = 1_000
SECOND_US = 1_000_000

_UNITS_US = {
    "us": 1,
    "ms": MILLISECOND_US,
    "s": SECOND_US,
    "m": 60 * SECOND_US,
    "h": 3_600 * SECOND_US,
    "d": 86_400 * SECOND_US,
}
_DURATION = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,9})?)(us|ms|s|m|h|d)")

# One day: longer than the period of any protocol, and short enough that periods times cycles never overflow.
PERIOD_US_MAX = 24 * 3_600 * SECOND_US

# About 290,000 years: the largest value of a signed 64-bit column.
LONGEST_US = 2**63 - 1


def duration_us(text: str, what: str = "a duration") -> int:
    """Read a duration such as `20ms`, `1.5s` or `10m`; `what` is the name of the field in the error message."""
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise InputError(f"{what} must be a number and a unit (us, ms, s, m, h, d) such as 20ms, got {text!r}")
    amount_us = round(float(match[1]) * _UNITS_US[match[2]])
    if amount_us > LONGEST_US:
        raise InputError(f"{what} must be shorter than 290,000 years, got {text!r}")
    return amount_us
