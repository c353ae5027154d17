"""Where the application stopped, over restarts."""

import os

import pytest

from gossamer.live.history import positions as module
from gossamer.live.history.positions import HEAD_BYTES, SINCE, Positions
from gossamer.model.values.errors import InputError

TOPIC, OTHER, ANN, BOB = 2**64 - 3, 8, 2**63 + 7, 200
NOW = 10**15


def reopened(path, oldest_us=0):
    made = Positions(path, oldest_us)
    found = {topic: dict(made.of(topic)) for topic in (TOPIC, OTHER)}
    made.close()
    return found


def test_positions_are_there_after_a_restart(tmp_path):
    first = Positions(tmp_path / "positions", 0)
    first.set(TOPIC, ANN, 5, NOW)
    first.set(TOPIC, ANN, 6, NOW)
    first.set(TOPIC, SINCE, NOW, NOW)
    first.set(OTHER, BOB, 9, NOW)
    first.close()
    assert reopened(tmp_path / "positions") == {TOPIC: {ANN: 6, SINCE: NOW}, OTHER: {BOB: 9}}


def test_a_position_is_in_the_file_before_the_application_gets_the_message(tmp_path):
    path = tmp_path / "positions"
    first = Positions(path, 0)
    first.set(TOPIC, ANN, 5, NOW)
    first.set(TOPIC, ANN, 6, NOW)
    # As after a kill: nothing was closed.
    (tmp_path / "copy").write_bytes(path.read_bytes())
    first.close()
    assert reopened(tmp_path / "copy")[TOPIC] == {ANN: 6}


def test_a_lower_number_does_not_move_a_position_back(tmp_path):
    first = Positions(tmp_path / "positions", 0)
    first.set(TOPIC, ANN, 6, NOW)
    first.set(TOPIC, ANN, 5, NOW)
    assert first.of(TOPIC) == {ANN: 6}
    first.close()


@pytest.mark.parametrize("cut", range(1, 40, 7))
def test_an_entry_that_was_cut_off_is_left_out(tmp_path, cut):
    path = tmp_path / "positions"
    first = Positions(path, 0)
    first.set(TOPIC, ANN, 5, NOW)
    first.set(TOPIC, BOB, 6, NOW)
    first.close()
    os.truncate(path, path.stat().st_size - cut)
    assert reopened(path)[TOPIC] == ({ANN: 5} if cut < 32 else {})


def test_old_positions_are_dropped_and_the_time_of_the_subscription_stays(tmp_path):
    first = Positions(tmp_path / "positions", 0)
    first.set(TOPIC, SINCE, NOW, NOW)
    first.set(TOPIC, ANN, 5, NOW)
    first.set(TOPIC, BOB, 6, NOW + 10)
    first.close()
    assert reopened(tmp_path / "positions", NOW + 5)[TOPIC] == {BOB: 6, SINCE: NOW}


def test_the_file_is_bounded_and_publishers_without_room_are_not_repeated(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "ENTRIES_MAX", 10)
    path = tmp_path / "positions"
    first = Positions(path, 0)
    first.set(TOPIC, SINCE, NOW, NOW)
    for publisher in range(1, 100):
        first.set(TOPIC, publisher, 5, NOW + publisher)
    assert path.stat().st_size <= HEAD_BYTES + 10 * 32
    # What was published before the last message without room is not fetched again.
    assert first.of(TOPIC)[SINCE] == NOW + 99
    first.close()
    # The newest half leaves room for the publishers of the next run.
    assert len(reopened(path)[TOPIC]) == 5


def test_a_file_of_another_version_is_refused(tmp_path):
    (tmp_path / "positions").write_bytes(b"gossamer positions 9\n".ljust(HEAD_BYTES, b"\0"))
    with pytest.raises(ValueError, match="damaged or of another version"):
        Positions(tmp_path / "positions", 0)


def test_two_nodes_cannot_use_one_folder(tmp_path):
    first = Positions(tmp_path / "positions", 0)
    with pytest.raises(InputError, match="another node uses the history"):
        Positions(tmp_path / "positions", 0)
    first.close()
    reopened(tmp_path / "positions")
