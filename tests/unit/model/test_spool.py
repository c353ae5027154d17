"""Spool files: whole or not visible, bounded, and read as far as they can be."""

import errno

import msgspec
import pytest

from gossamer.model.spool.files import SpoolFindings, SpoolHeader, SpoolWriter, read_spool


class Row(msgspec.Struct, array_like=True):
    number: int


def rows(*numbers):
    return [Row(number) for number in numbers]


def read(folder):
    findings = SpoolFindings()
    return [row.number for row in read_spool(folder, Row, findings)], findings


def visible(folder):
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))


def test_a_file_is_visible_when_it_is_complete_and_only_its_owner_can_read_it(tmp_path):
    writer = SpoolWriter(tmp_path / "spool", "a")
    writer.write(rows(1, 2))
    writer.write(rows(3))
    assert not visible(tmp_path / "spool")
    writer.roll()
    writer.write(rows(4))
    writer.roll()
    assert visible(tmp_path / "spool") == ["a-00000000.telemetry", "a-00000001.telemetry"]
    assert (tmp_path / "spool" / "a-00000000.telemetry").stat().st_mode & 0o077 == 0
    numbers, findings = read(tmp_path / "spool")
    assert numbers == [1, 2, 3, 4]
    assert (findings.files, findings.batches) == (2, 3)


def test_the_oldest_files_are_deleted_and_counted_so_that_the_bound_holds(tmp_path):
    writer = SpoolWriter(tmp_path, "a", file_bytes=200, spool_bytes=1_000)
    other = SpoolWriter(tmp_path, "b")
    other.write(rows(-1))
    other.roll()
    for number in range(100):
        writer.write(rows(*range(number * 50, number * 50 + 50)))
        assert sum(path.stat().st_size for path in tmp_path.glob("a-*.telemetry")) <= 1_000
    writer.roll()
    numbers, findings = read(tmp_path)
    assert numbers[-1] == -1
    assert numbers[:-1] == list(range(numbers[0], 5_000))
    assert numbers[0] > 4_000
    assert findings.deleted_files > 50


def test_a_writer_that_starts_again_goes_on_behind_the_files_that_are_there(tmp_path):
    killed = SpoolWriter(tmp_path, "a")
    killed.write(rows(1))
    killed.roll()
    killed.write(rows(2))
    killed._file.flush()
    again = SpoolWriter(tmp_path, "a")
    again.write(rows(3))
    again.roll()
    assert read(tmp_path)[0] == [1, 2, 3]
    assert visible(tmp_path) == [f"a-0000000{number}.telemetry" for number in range(3)]


@pytest.mark.parametrize("cut", [1, 3, 6])
def test_half_a_record_is_counted_and_everything_before_it_is_read(tmp_path, cut):
    writer = SpoolWriter(tmp_path, "a")
    writer.write(rows(1, 2))
    writer.write(rows(1000, 2000))
    writer.roll()
    [path] = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:-cut])
    numbers, findings = read(tmp_path)
    assert numbers == [1, 2]
    assert (findings.files, findings.cut_files) == (1, 1)


def test_files_of_another_version_and_other_files_are_counted(tmp_path):
    for name, content in (
        ("empty", b""),
        ("nonsense", b"\xff" * 100),
        ("later", msgspec.msgpack.encode(SpoolHeader(version=2, name="a", number=0))),
    ):
        frame = len(content).to_bytes(4, "big") + content if name == "later" else content
        (tmp_path / f"{name}.telemetry").write_bytes(frame)
    SpoolWriter(tmp_path, "a").roll()
    numbers, findings = read(tmp_path)
    assert not numbers
    assert (findings.files, findings.other_files) == (0, 3)


def test_a_full_disk_stops_the_writer_and_leaves_whole_files(tmp_path):
    class FullDisk:
        def write(self, content):
            raise OSError(errno.ENOSPC, "no space left on device")

    writer = SpoolWriter(tmp_path, "a")
    writer.write(rows(1))
    writer.roll()
    writer.write(rows(2))
    writer._file = FullDisk()
    writer.write(rows(3))
    writer.write(rows(4))
    writer.roll()
    assert writer.error.errno == errno.ENOSPC
    assert read(tmp_path)[0] == [1]
