"""Sequence numbers increase over restarts."""

import logging

import pytest

from gossamer.live.transport.numbers import RESERVED, SequenceNumbers
from gossamer.model.values.errors import InputError


def test_numbers_count_up_from_the_clock():
    numbers = SequenceNumbers()
    assert [numbers.next(clock_us) for clock_us in (100, 900, 50)] == [101, 102, 103]


def test_numbers_of_the_next_run_are_higher_although_the_clock_went_back(tmp_path):
    first = SequenceNumbers(tmp_path / "sequence")
    used = [first.next(5_000_000) for _ in range(3)]
    second = SequenceNumbers(tmp_path / "sequence")
    assert second.next(1_000) > max(used)


def test_more_numbers_are_reserved_before_the_reserved_ones_run_out(tmp_path):
    path = tmp_path / "sequence"
    numbers = SequenceNumbers(path)
    last = 0
    for _ in range(RESERVED + 10):
        last = numbers.next(1_000)
    assert int(path.read_text()) >= last


def test_a_damaged_file_is_refused_with_a_sentence(tmp_path):
    path = tmp_path / "sequence"
    path.write_text("soon")
    with pytest.raises(InputError, match="must contain the last sequence number"):
        SequenceNumbers(path)


def test_a_file_that_cannot_be_written_is_logged_and_the_node_goes_on(tmp_path, caplog):
    numbers = SequenceNumbers(tmp_path / "absent" / "sequence")
    with caplog.at_level(logging.WARNING):
        assert numbers.next(100) == 101
    assert "cannot write" in caplog.text
