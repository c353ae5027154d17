"""The last number on each topic is kept over restarts, and not used where it may be out of date."""

import os

import pytest

from gossamer.live.transport import last_numbers
from gossamer.live.transport.last_numbers import ENTRY, HEAD, LastNumbers


@pytest.fixture
def path(tmp_path):
    return tmp_path / "node.topics"


def test_numbers_of_a_killed_process_are_kept(path):
    killed = LastNumbers(path)
    for number in (5, 6, 9):
        killed.set(1, number, number * 10)
    killed.set(2**64 - 1, 7, 70)
    found = LastNumbers(path)
    assert (found.get(1), found.get(2**64 - 1), found.get(3)) == ((9, 90), (7, 70), (0, 0))


def test_numbers_of_several_runs_are_kept(path):
    for run in range(1, 4):
        numbers = LastNumbers(path)
        numbers.set(run, run * 10, run)
        numbers.set(100, run * 10 + 1, run)
        numbers.close()
    found = LastNumbers(path)
    assert [found.get(topic) for topic in (1, 2, 3, 100)] == [(10, 1), (20, 2), (30, 3), (31, 3)]


def test_numbers_from_before_a_crash_of_the_machine_are_not_used(path):
    LastNumbers(path, boot=b"one").set(1, 5, 50)
    assert LastNumbers(path, boot=b"two").get(1) == (0, 0)
    assert LastNumbers(path, boot=b"two").get(1) == (0, 0)


def test_numbers_are_used_after_an_orderly_stop_and_a_boot(path):
    before = LastNumbers(path, boot=b"one")
    before.set(1, 5, 50)
    before.close()
    assert LastNumbers(path, boot=b"two").get(1) == (5, 50)


def test_where_the_system_does_not_tell_its_boot_only_an_orderly_stop_counts(path):
    killed = LastNumbers(path, boot=b"")
    killed.set(1, 5, 50)
    assert LastNumbers(path, boot=b"").get(1) == (0, 0)


def test_an_entry_that_was_cut_off_is_ignored(path):
    killed = LastNumbers(path)
    killed.set(1, 5, 50)
    killed.set(2, 6, 60)
    os.truncate(path, HEAD.size + 2 * ENTRY.size - 1)
    found = LastNumbers(path)
    assert (found.get(1), found.get(2)) == ((5, 50), (0, 0))
    found.set(3, 7, 70)
    again = LastNumbers(path)
    assert [again.get(topic) for topic in (1, 2, 3)] == [(5, 50), (0, 0), (7, 70)]


@pytest.mark.parametrize("content", [b"x", b"x" * 200])
def test_a_file_with_other_content_is_replaced(path, content):
    path.write_bytes(content)
    numbers = LastNumbers(path)
    assert numbers.get(1) == (0, 0)
    numbers.set(1, 5, 50)
    assert LastNumbers(path).get(1) == (5, 50)


def test_beyond_the_limit_of_topics_nothing_is_kept(path, monkeypatch):
    monkeypatch.setattr(last_numbers, "TOPICS_MAX", 2)
    numbers = LastNumbers(path)
    for topic in (1, 2, 3):
        numbers.set(topic, 5, 50)
    assert [LastNumbers(path).get(topic) for topic in (1, 2, 3)] == [(5, 50), (5, 50), (0, 0)]


def test_a_file_that_cannot_be_written_is_logged_and_removed(path, caplog, monkeypatch):
    LastNumbers(path).set(1, 5, 50)
    numbers = LastNumbers(path)

    def full(*arguments):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "pwrite", full)
        numbers.set(1, 6, 60)
    numbers.set(1, 7, 70)
    numbers.close()
    assert "No space left on device" in caplog.text
    assert not path.exists()


def test_a_folder_that_is_missing_is_logged(tmp_path, caplog):
    numbers = LastNumbers(tmp_path / "missing" / "node.topics")
    numbers.set(1, 5, 50)
    assert numbers.get(1) == (0, 0)
    assert "cannot write" in caplog.text
