"""Counting the messages in members' logs."""

from gossamer.live.fleet.count import count_messages
from gossamer.live.fleet.member import DELIVERED, ENTRY, PUBLISHED, log_path


def write_logs(folder, *logs):
    for member, entries in enumerate(logs):
        log_path(folder, member).write_bytes(b"".join(ENTRY.pack(*entry) for entry in entries))


NODES = {0: 100, 1: 101, 2: 102}
TOPICS = [[7], [7], [7]]
PHASES = [("before", 0), ("after", 1_000)]


def published(number, at_ns, member=0):
    return (PUBLISHED, 7, NODES[member], number, at_ns)


def delivered(number, at_ns, member=0):
    return (DELIVERED, 7, NODES[member], number, at_ns)


def test_complete_traffic_has_no_faults(tmp_path):
    write_logs(
        tmp_path,
        [published(1, 10), published(2, 2_000_010)],
        [delivered(1, 1_000_010), delivered(2, 5_000_010)],
        [delivered(1, 3_000_010), delivered(2, 6_000_010)],
    )
    found = count_messages(tmp_path, TOPICS, NODES, (), PHASES)
    assert (found.published, found.delivered, found.missing, found.twice, found.out_of_order) == (2, 4, 0, 0, 0)
    assert [(phase.published, phase.expected) for phase in found.phases] == [(1, 2), (1, 2)]
    assert (found.latency_ms_p50, found.latency_ms_max) == (3.0, 4.0)
    assert [(phase.latency_ms_p50, phase.latency_ms_max) for phase in found.phases] == [(3.0, 3.0), (4.0, 4.0)]


def test_missing_duplicate_and_unordered_deliveries_are_counted(tmp_path):
    write_logs(
        tmp_path,
        [published(1, 10), published(2, 20), published(3, 2_000)],
        [delivered(2, 30), delivered(1, 30), delivered(1, 40)],
        [delivered(1, 30), delivered(3, 3_000), delivered(9, 3_000)],
    )
    found = count_messages(tmp_path, TOPICS, NODES, (), PHASES)
    assert (found.missing, found.twice, found.out_of_order, found.unknown) == (2, 1, 1, 1)
    assert [phase.missing for phase in found.phases] == [1, 1]
    assert "message 2 of 0000000000000064 on topic 7: delivered at 1 of 2 nodes" in found.examples


def test_deliveries_from_and_to_killed_members_are_not_expected(tmp_path):
    write_logs(
        tmp_path,
        [published(1, 10)],
        [delivered(1, 30), delivered(1, 40, member=2)],
        [published(1, 10, member=2)],
    )
    # The last entry of a killed node may be incomplete.
    with log_path(tmp_path, 2).open("ab") as log:
        log.write(b"\x01\x02")
    found = count_messages(tmp_path, TOPICS, NODES, {2}, PHASES)
    assert (found.published, found.missing, found.unknown) == (2, 0, 0)
    assert found.phases[0].expected == 1
