"""Grids: one entry of `[[systems]]` with several values of a parameter stands for one entry for each combination.

A parameter takes a list of values, or a range `{from = 2, to = 8, step = 2}` that includes both ends. If the parameter
itself is a list or a table, the value is taken as it is.
"""

from collections.abc import Mapping
from decimal import Decimal
from itertools import product
from typing import Any

import msgspec

from gossamer.model.values.errors import InputError
from gossamer.systems import hint

# Chosen: more combinations than anyone compares in one report; a wrong step reaches it at once.
POINTS_MAX = 500
_RANGE = ("from", "to", "step")


def grid_points(name: str, parameters: Mapping[str, Any], kind: type[msgspec.Struct]) -> list[dict[str, Any]]:
    """Every combination of the parameters of the system `name`, in the order in which they are written."""
    types = {each.name: each.type for each in msgspec.structs.fields(kind)}
    values = [_values(name, each, value, types.get(each)) for each, value in parameters.items()]
    count = 1
    for each in values:
        count *= len(each)
    if count > POINTS_MAX:
        raise InputError(f"the parameters of {name} have {count} combinations; at most {POINTS_MAX} are allowed")
    return [dict(zip(parameters, point, strict=True)) for point in product(*values)]


def varied(parameters: Mapping[str, Any], points: list[dict[str, Any]]) -> list[str]:
    """The names of the parameters that differ between the points."""
    return [name for name in parameters if any(point[name] != points[0][name] for point in points)]


def _values(system: str, name: str, value: Any, wanted: Any) -> list[Any]:
    if not isinstance(value, list | tuple | dict) or _fits(value, wanted):
        return [value]
    if isinstance(value, dict):
        return _range(system, name, value)
    if not value:
        raise InputError(f"{system}: {name} is an empty list; give at least one value")
    if len(value) != len({msgspec.json.encode(each) for each in value}):
        raise InputError(f"{system}: {name} has a value twice; give each value once")
    return list(value)


def _fits(value: Any, wanted: Any) -> bool:
    """Whether the parameter takes this list or table as one value."""
    if wanted is None:
        return False
    try:
        msgspec.convert(value, wanted, strict=False)
    except msgspec.ValidationError:
        return False
    return True


def _range(system: str, name: str, value: Mapping[str, Any]) -> list[Any]:
    example = f"{name} = {{from = 2, to = 8, step = 2}}"
    for key in value:
        if key not in _RANGE:
            known = dict.fromkeys(_RANGE)
            raise InputError(f"{system}: a range is written {example}, without {key!r}{hint(key, known)}")
    if missing := [key for key in _RANGE if key not in value]:
        raise InputError(f"{system}: the range of {name} has no {missing[0]}; write {example}")
    if any(isinstance(each, bool) or not isinstance(each, int | float) for each in value.values()):
        raise InputError(f"{system}: the range of {name} must have numbers; write {example}")
    # Decimal numbers, so that 0.05 to 1 by 0.05 ends at 1.
    first, last, step = (Decimal(str(value[key])) for key in _RANGE)
    if not all(each.is_finite() for each in (first, last, step)) or step <= 0 or last < first:
        raise InputError(f"{system}: the range of {name} must go up from `from` to `to` by a `step` above 0")
    count = int((last - first) / step) + 1
    if count > POINTS_MAX:
        raise InputError(f"{system}: the range of {name} has {count} values; at most {POINTS_MAX} are allowed")
    whole = all(isinstance(each, int) for each in value.values())
    return [int(first + place * step) if whole else float(first + place * step) for place in range(count)]
