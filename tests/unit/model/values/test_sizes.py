"""Sizes in bytes, as users write them."""

import pytest

from gossamer.model.values.errors import InputError
from gossamer.model.values.sizes import size_bytes


@pytest.mark.parametrize(
    ("text", "expected"), [("1B", 1), ("1.5kB", 1_500), ("2MB", 2_000_000), ("1GiB", 2**30), (" 3MiB ", 3 * 2**20)]
)
def test_a_size_is_a_number_and_a_unit(text, expected):
    assert size_bytes(text) == expected


@pytest.mark.parametrize("text", ["", "7", "much", "1Gb", "-1MB", "0B", "1e3MB", "9999999999TB"])
def test_a_size_that_is_none_is_one_sentence(text):
    with pytest.raises(InputError, match="--size must be"):
        size_bytes(text, "--size")
