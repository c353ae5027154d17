"""The table of patterns: versions, digests, bounds, and what a lying peer can do."""

import pytest

from gossamer.protocols.contract.messages import NUMBER_MAX
from gossamer.protocols.patterns import (
    ENTRIES_MAX,
    LASTS_US,
    NODES_MAX,
    PatternEntries,
    PatternEntry,
    PatternTable,
    PatternVersions,
)


def table(node, *patterns, now_us=10):
    made = PatternTable(node)
    made.set_own(b"%d" % node, patterns, now_us)
    return made


def exchange(one, other):
    """Compare two tables until neither has an answer; returns the number of messages."""
    waiting, count = [(one, other, one.digest())], 0
    while waiting:
        sender, receiver, message = waiting.pop(0)
        count += 1
        answers, _ = receiver.take(message, 20)
        waiting += [(receiver, sender, answer) for answer in answers]
    return count


def takers(found, name):
    return sorted(entry.node for entry in found.takers(name))


def test_two_tables_are_equal_after_they_were_compared():
    one, other = table(1, "a/*"), table(2, "a/b", "c/**")
    exchange(one, other)
    assert one.digest() == other.digest()
    assert (takers(one, "a/b"), takers(other, "a/b"), takers(one, "c")) == ([2], [1], [2])


def test_comparing_equal_tables_takes_one_message():
    one, other = table(1, "a/*"), table(2, "b")
    exchange(one, other)
    assert exchange(one, other) == exchange(other, one) == 1


def test_tables_of_any_size_are_equal_after_they_were_compared():
    one, other = PatternTable(0), PatternTable(1)
    for node in range(2, 402):
        (one if node % 3 else other).take(PatternEntries((PatternEntry(node, b"", 5, (f"t{node}",)),)), 10)
    exchange(one, other)
    assert one.digest() == other.digest()
    assert len(one) == len(other) == 400
    assert all(len(message.entries) <= ENTRIES_MAX for message in one.take_fresh())


def test_the_newest_entry_of_a_node_wins_whatever_the_order():
    old, new = PatternEntry(9, b"", 5, ("a",)), PatternEntry(9, b"", 6, ("b",))
    for order in ((old, new), (new, old)):
        found = PatternTable(1)
        for entry in order:
            found.take(PatternEntries((entry,)), 10)
        assert (takers(found, "a"), takers(found, "b")) == ([], [9])


def test_a_node_that_follows_no_pattern_any_more_is_told_nothing():
    one, other = table(1, "a"), PatternTable(2)
    exchange(one, other)
    one.set_own(b"", (), 30)
    exchange(one, other)
    assert takers(other, "a") == []


def test_a_node_without_patterns_has_no_entry():
    assert len(table(1)) == 0


def test_entries_expire_unless_they_are_renewed_and_a_node_keeps_its_own():
    one, other = table(1, "a"), table(2, "b")
    exchange(one, other)
    one.expire(20 + LASTS_US - 1)
    assert len(one) == 2
    one.expire(20 + LASTS_US)
    assert len(one) == 1
    assert one.digest() == table(1, "a").digest()


def test_a_node_outbids_an_entry_that_others_make_for_it():
    one = table(1, "a")
    one.take_fresh()
    one.take(PatternEntries((PatternEntry(1, b"elsewhere", 1_000, ("x",)),)), 20)
    (message,) = one.take_fresh()
    assert message.entries == (PatternEntry(1, b"1", 1_001, ("a",)),)


def test_an_old_entry_of_an_earlier_run_is_taken_back():
    one = PatternTable(1)
    one.take(PatternEntries((PatternEntry(1, b"", 1_000, ("x",)),)), 20)
    assert one.take_fresh()[0].entries[0].patterns == ()


def test_a_table_has_room_for_a_bounded_number_of_nodes():
    found = PatternTable(1)
    for node in range(2, NODES_MAX + 50):
        found.take(PatternEntries((PatternEntry(node, b"", 5, ("a",)),)), 10)
    assert len(found) == NODES_MAX


@pytest.mark.parametrize("entry", [PatternEntry(9, b"", 5, ("a**",)), PatternEntry(9, b"", NUMBER_MAX, ("a",))])
def test_an_entry_that_cannot_be_is_not_kept(entry):
    found = PatternTable(1)
    assert found.take(PatternEntries((entry,)), 10) == ([], [])
    assert len(found) == 0


def test_an_answer_to_versions_never_asks_again():
    one = table(1, "a")
    answers, _ = one.take(PatternVersions(((7, 5),), asks=False), 10)
    assert [type(answer) for answer in answers] == [PatternEntries]
