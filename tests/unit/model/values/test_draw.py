"""Keyed randomness: Python and compiled code draw the same numbers, and the numbers are uniform."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gossamer.kernels import draw as compiled
from gossamer.model.values.draw import (
    ITEM_FACTOR,
    MASK,
    THIRD_PARTY_PURPOSE_LEAST,
    Purpose,
    below,
    draw,
    draw_base,
    finish,
    stepped,
    third_party_purpose,
    unit,
)

U64 = np.uint64
keys = st.integers(0, 2**64 - 1)


@given(keys, keys, st.sampled_from(list(Purpose)), keys, keys)
def test_python_and_compiled_code_draw_the_same_number(seed, node, purpose, counter, item):
    expected = draw(seed, node, purpose, counter, item)
    assert 0 <= expected < 2**64
    assert int(compiled.draw(U64(seed), U64(node), U64(purpose), U64(counter), U64(item))) == expected


@given(keys, st.integers(1, 2**32 - 1))
def test_python_and_compiled_code_reduce_a_draw_alike(bits, bound):
    assert 0 <= below(bits, bound) < bound
    assert int(compiled.below(U64(bits), bound)) == below(bits, bound)
    assert 0.0 <= unit(bits) < 1.0
    assert compiled.unit(U64(bits)) == unit(bits)


@given(keys, keys, keys, keys)
def test_a_base_and_an_item_make_the_whole_draw(seed, node, counter, item):
    base = draw_base(seed, node, Purpose.LINK, counter)
    assert finish((base + item * ITEM_FACTOR) & MASK) == draw(seed, node, Purpose.LINK, counter, item)


@given(st.text())
def test_a_third_party_purpose_lies_above_every_purpose_of_ours(name):
    purpose = third_party_purpose(name)
    assert THIRD_PARTY_PURPOSE_LEAST <= purpose < 2**64
    assert max(Purpose) < THIRD_PARTY_PURPOSE_LEAST


def test_third_party_purposes_are_stable_and_differ_by_name():
    assert third_party_purpose("star-per-topic/hub") == 0xF44B_EE2F_E2A7_02D4
    names = [f"system-{number}/{word}" for number in range(100) for word in ("hub", "phase", "walk")]
    assert len({third_party_purpose(name) for name in names}) == len(names)


@given(keys, st.text(), keys)
def test_compiled_code_draws_the_same_number_for_a_third_party_purpose(seed, name, counter):
    purpose = third_party_purpose(name)
    assert int(compiled.draw(U64(seed), U64(3), U64(purpose), U64(counter), U64(0))) == draw(seed, 3, purpose, counter)


def test_draws_equal_their_recorded_values():
    """Every published result depends on these numbers: a change of the mix changes all of them."""
    top = 2**64 - 1
    assert draw(0, 0, Purpose.ORDER, 0) == 0x399C_B48B_C72E_8D68
    assert draw(1, 2, Purpose.CYCLON_SHUFFLE, stepped(3, 4), 5) == 0x9FB1_AAE0_1181_4F72
    assert draw(top, top, Purpose.LINK, top, top) == 0xE611_CD54_40BA_7D0E


def test_each_key_changes_about_half_of_the_bits():
    base = (7, 11, Purpose.ORDER, 13, 17)
    for position in range(5):
        flipped = []
        for step in range(1, 200):
            other = list(base)
            other[position] += step
            flipped.append((draw(*base) ^ draw(*other)).bit_count())
        assert 30 < np.mean(flipped) < 34


def test_numbers_are_uniform_over_nodes_counters_and_items():
    for position in (0, 1, 3, 4):
        counts = np.zeros(16)
        for value in range(8_000):
            key = [3, 5, int(Purpose.ORDER), 7, 9]
            key[position] = value
            counts[below(draw(*key), 16)] += 1
        chi_squared = ((counts - 500) ** 2 / 500).sum()
        assert chi_squared < 40  # 15 degrees of freedom: exceeded once in two thousand
