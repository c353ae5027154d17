"""The messages of a history in their file: pages, bounds, damage."""

import sqlite3

import pytest

from gossamer.live.history.disk import HistoryDisk
from gossamer.protocols.contract.actions import Load, Store
from gossamer.protocols.contract.messages import Data
from gossamer.simulator.disks import SimulatedDisks

MIB = 2**20
DAY_US = 86_400_000_000
# Ids above 2^63 are negative numbers in SQLite.
TOPIC, OTHER, ANN, BOB = 2**64 - 3, 8, 2**63 + 7, 200
NOW = 100 * DAY_US


def data(sequence, publisher=ANN, payload=b"x"):
    return Data(TOPIC, publisher, sequence, 1, 0, payload, sequence - 1)


def load(after=0, before=10**6, publisher=ANN, since_us=0, count=256, size_bytes=10**6, topic=TOPIC):
    return Load(5, topic, publisher, after, before, since_us, count, size_bytes)


def sequences(found):
    return [each.sequence for _, each in found.messages]


@pytest.fixture
def disk(tmp_path):
    made = HistoryDisk(tmp_path / "messages.sqlite", 10 * MIB, DAY_US)
    yield made
    made.close()


def test_messages_come_back_as_they_were_with_their_times(disk):
    disk.write([(TOPIC, data(1), NOW - 5), (TOPIC, data(2), NOW)], NOW)
    found = disk.read(load(), NOW)
    assert found.messages == ((NOW - 5, data(1)), (NOW, data(2)))
    assert (found.ticket, found.topic, found.more, found.floor) == (5, TOPIC, False, (0, 0))


def test_a_message_that_is_written_twice_is_kept_once(disk):
    disk.write([(TOPIC, data(1), NOW)], NOW)
    disk.write([(TOPIC, data(1), NOW + 9)], NOW)
    assert disk.read(load(), NOW).messages == ((NOW, data(1)),)


def test_a_read_has_one_publishers_messages_of_one_topic_within_the_range(disk):
    disk.write([(TOPIC, data(n), NOW) for n in range(1, 10)] + [(TOPIC, data(4, BOB), NOW), (OTHER, data(5), NOW)], NOW)
    assert sequences(disk.read(load(after=3, before=7), NOW)) == [4, 5, 6]
    assert sequences(disk.read(load(publisher=BOB), NOW)) == [4]
    assert sequences(disk.read(load(topic=OTHER), NOW)) == [5]


@pytest.mark.parametrize("limit", [{"count": 3}, {"size_bytes": 3_400}], ids=["count", "bytes"])
def test_a_page_is_bounded_and_says_that_there_is_more(disk, limit):
    disk.write([(TOPIC, data(n, payload=bytes(1_000)), NOW) for n in range(1, 8)], NOW)
    first = disk.read(load(**limit), NOW)
    assert (sequences(first), first.more) == ([1, 2, 3], True)
    last = disk.read(load(after=4, **limit), NOW)
    assert (sequences(last), last.more) == ([5, 6, 7], False)


def test_a_message_that_is_larger_than_a_page_is_a_page(disk):
    disk.write([(TOPIC, data(n, payload=bytes(1_000)), NOW) for n in (1, 2)], NOW)
    found = disk.read(load(size_bytes=10), NOW)
    assert (sequences(found), found.more) == ([1], True)


def test_a_read_by_age_names_the_last_message_that_is_too_old(disk):
    disk.write([(TOPIC, data(n), NOW + n) for n in range(1, 8)], NOW)
    found = disk.read(load(since_us=NOW + 4), NOW)
    assert (sequences(found), found.floor) == ([4, 5, 6, 7], (3, NOW + 3))
    none = disk.read(load(since_us=NOW + 9), NOW)
    assert (sequences(none), none.floor) == ([], (7, NOW + 7))


def test_messages_beyond_the_age_are_dropped_by_a_write_and_by_a_read(disk):
    disk.write([(TOPIC, data(n), NOW + n) for n in range(1, 600)], NOW)
    disk.write([(TOPIC, data(1_000), NOW + DAY_US + 300)], NOW + DAY_US + 300)
    assert sequences(disk.read(load(), NOW + DAY_US + 300))[:2] == [300, 301]
    disk.read(load(), NOW + 10 * DAY_US)
    assert disk.count() == 0


def test_the_size_of_the_file_is_bounded_and_the_newest_messages_stay(tmp_path):
    path = tmp_path / "messages.sqlite"
    disk = HistoryDisk(path, MIB, DAY_US)
    for first in range(1, 8_001, 200):
        disk.write([(TOPIC, data(n, payload=bytes(500)), NOW) for n in range(first, first + 200)], NOW)
        assert disk.used_bytes <= MIB
    kept = disk.count()
    assert 1_000 < kept < 2_000
    assert sequences(disk.read(load(count=9_999, size_bytes=10**9), NOW)) == list(range(8_001 - kept, 8_001))
    disk.close()
    # One transaction's pages come on top, and the log.
    assert path.stat().st_size < 1.5 * MIB


def test_a_read_takes_few_steps_however_much_is_kept(disk):
    disk.write([(TOPIC, data(n), NOW) for n in range(1, 20_001)], NOW)
    steps = []
    disk._database.set_progress_handler(lambda: steps.append(1), 1_000)
    disk.read(load(after=19_000, since_us=NOW + 1), NOW)
    disk.read(load(after=10_000, before=10_002), NOW)
    disk.read(load(publisher=BOB), NOW)
    assert len(steps) <= 3


def test_the_last_message_of_each_publisher_is_found_again(tmp_path):
    disk = HistoryDisk(tmp_path / "messages.sqlite", MIB, DAY_US)
    disk.write([(TOPIC, data(1), NOW), (TOPIC, data(2), NOW + 1), (OTHER, data(7, BOB), NOW)], NOW)
    disk.close()
    again = HistoryDisk(tmp_path / "messages.sqlite", MIB, DAY_US)
    assert again.lasts(10) == {(TOPIC, ANN): (2, NOW + 1), (OTHER, BOB): (7, NOW)}
    assert len(again.lasts(1)) == 1
    again.close()


def test_only_the_owner_can_read_the_file(tmp_path, disk):
    assert (tmp_path / "messages.sqlite").stat().st_mode & 0o777 == 0o600


def test_another_version_is_refused_in_one_sentence(tmp_path):
    path = tmp_path / "messages.sqlite"
    HistoryDisk(path, MIB, DAY_US).close()
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version = 99")
    database.close()
    with pytest.raises(ValueError, match="has version 99, and this program reads version 1"):
        HistoryDisk(path, MIB, DAY_US)


def test_another_programs_database_is_refused(tmp_path):
    path = tmp_path / "messages.sqlite"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE mine (id)")
    database.close()
    with pytest.raises(ValueError, match="is not a history of Gossamer"):
        HistoryDisk(path, MIB, DAY_US)


def test_a_file_that_is_no_database_is_refused(tmp_path):
    path = tmp_path / "messages.sqlite"
    path.write_bytes(b"not a database" * 1_000)
    with pytest.raises(sqlite3.DatabaseError):
        HistoryDisk(path, MIB, DAY_US)


def test_a_failed_write_keeps_what_was_there(disk):
    disk.write([(TOPIC, data(1), NOW)], NOW)
    disk._database.execute("PRAGMA max_page_count = 20")
    with pytest.raises(sqlite3.OperationalError, match="full"):
        disk.write([(TOPIC, data(n, payload=bytes(10_000)), NOW) for n in range(2, 30)], NOW)
    assert sequences(disk.read(load(), NOW)) == [1]


def test_the_simulated_disk_answers_as_the_live_one(disk):
    simulated = SimulatedDisks(10 * MIB, DAY_US)
    for first in range(1, 400, 40):
        batch = [data(n, ANN if n % 3 else BOB) for n in range(first, first + 40)]
        disk.write([(TOPIC, each, NOW + first) for each in batch], NOW + first)
        simulated.store(0, Store(TOPIC, tuple(batch), NOW + first), NOW + first)
    for asked in (
        load(),
        load(count=7),
        load(after=100, before=200),
        load(publisher=BOB, count=9),
        load(since_us=NOW + 161, count=20),
        load(since_us=NOW + 10_000),
        load(publisher=77),
    ):
        for later_us in (500, DAY_US + 200):
            assert simulated.load(0, asked, NOW + later_us) == disk.read(asked, NOW + later_us), (asked, later_us)
