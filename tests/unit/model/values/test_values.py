"""Ids, time and errors."""

import hashlib

import pytest

from gossamer.model.values.errors import InputError, PeerError, TableError
from gossamer.model.values.ids import Role, identity
from gossamer.model.values.time import duration_us


@pytest.mark.parametrize(
    ("text", "expected"), [("20ms", 20_000), ("1.5s", 1_500_000), ("7us", 7), ("10m", 600_000_000), ("0s", 0)]
)
def test_durations_are_read_as_microseconds(text, expected):
    assert duration_us(text) == expected


@pytest.mark.parametrize("text", ["", "20", "ms", "-5ms", "5 parsecs", "1e3s", "99999999999999999h", "9" * 400 + "s"])
def test_a_bad_duration_is_refused_in_one_sentence(text):
    with pytest.raises(InputError, match="`until` must be"):
        duration_us(text, "`until`")


def test_an_input_error_is_a_value_error_too():
    assert issubclass(InputError, ValueError)
    assert issubclass(TableError, InputError)
    assert not issubclass(PeerError, ValueError)


def test_an_identity_is_the_first_eight_bytes_of_a_sha256():
    assert identity(b"prices/eur") == int(hashlib.sha256(b"prices/eur").hexdigest()[:16], 16)


def test_both_roles_follow_and_publish():
    assert Role.BOTH & Role.FOLLOWS
    assert Role.BOTH & Role.PUBLISHES
    assert not Role.PUBLISHES & Role.FOLLOWS
