"""Patterns of topic names."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer import InputError, Pattern


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("prices/*", ["prices/eur", "prices/€"], ["prices", "prices/", "prices/eur/spot", "Prices/eur", "prices/a/"]),
        ("orders/**", ["orders", "orders/1", "orders/1/2/3"], ["order", "ordersx", "x/orders"]),
        ("**/eur", ["eur", "a/eur", "a/b/eur"], ["a/eur/b", "aeur"]),
        ("a/**/z", ["a/z", "a/b/z", "a/b/c/z", "a/z/z"], ["a", "z", "a/b/c"]),
        ("*/spot", ["eur/spot"], ["spot", "a/b/spot"]),
        ("eur*/s*t", ["eur/st", "eurusd/spot"], ["eur/spo", "xeur/spot"]),
        ("**/a/**/b/**", ["a/b", "x/a/y/b/z", "a/a/b/b"], ["b/a", "a", "b"]),
        ("plain", ["plain"], ["plain/x", "x"]),
    ],
)
def test_a_pattern_matches_by_levels(pattern, matching, others):
    found = Pattern(pattern)
    assert [name for name in matching if not found.matches(name)] == []
    assert [name for name in others if found.matches(name)] == []


@pytest.mark.parametrize("text", ["**", "**/*", "*/**", "**/**"])
def test_a_pattern_without_letters_and_with_any_levels_matches_everything(text):
    assert Pattern(text).matches_everything


@pytest.mark.parametrize("text", ["*", "*/*", "**/x", "x/**", "*x/**"])
def test_other_patterns_do_not_match_everything(text):
    assert not Pattern(text).matches_everything


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "non-empty"),
        ("a**", "`[*][*]` must be a whole level"),
        ("x" * 256, "at most 255 bytes"),
        (None, "non-empty"),
    ],
)
def test_a_wrong_pattern_is_an_input_error(text, sentence):
    with pytest.raises(InputError, match=sentence):
        Pattern(text)


LEVELS = st.lists(st.sampled_from(["a", "b", "ab", "*", "**", "a*", "*b"]), min_size=1, max_size=6)
NAMES = st.lists(st.sampled_from(["a", "b", "ab", "aab", "c"]), min_size=1, max_size=6)


@given(LEVELS, NAMES)
def test_a_pattern_matches_what_its_regular_expression_matches(levels, name):
    def level(text):
        return "[^/]+" if text == "*" else "[^/]*".join(map(re.escape, text.split("*")))

    expression = "".join("(?:/[^/]+)*" if text == "**" else f"/{level(text)}" for text in levels)
    expected = re.fullmatch(expression, "/" + "/".join(name)) is not None
    assert Pattern("/".join(levels)).matches("/".join(name)) == expected


def test_a_pattern_that_backtracks_without_end_in_a_regular_expression_gives_an_answer():
    pattern = Pattern("/".join(["**", "*a*"] * 35 + ["b"]))
    assert not pattern.matches("/".join(["aa"] * 80))
