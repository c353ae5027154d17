"""The judge of a chaos run finds each kind of broken promise, and accepts what is allowed."""

import json

import pytest

from tests.live.chaos.judge import DUE_SECONDS, Judge

LATER = DUE_SECONDS + 10


class Journals:
    """Writes the journals of a publisher (node a) and readers (nodes b, c ...)."""

    def __init__(self, folder):
        self._folder = folder
        self.rows = {"faults": []}

    def add(self, name, kind, at, *fields):
        self.rows.setdefault(name, []).append([kind, at, *fields])

    def node(self, index, life=1, at=0.0):
        name = f"{index:02d}-{life:02d}"
        self.add(name, "started", at, "abc"[index])
        return name

    def publishes(self, order, at, life=1, queued=("b",)):
        self.add(f"00-{life:02d}", "published", at, "t", 100 + order, order, queued, at)

    def delivers(self, name, order, at, published, subscription=1):
        self.add(name, "delivered", at, "t", subscription, "a", 100 + order, order, published)

    def judge(self):
        for name, rows in self.rows.items():
            (self._folder / f"{name}.journal").write_text("".join(json.dumps(row) + "\n" for row in rows))
        return Judge(self._folder).judge()


@pytest.fixture
def journals(tmp_path):
    """A publisher and two readers, each subscribed at time 1."""
    made = Journals(tmp_path)
    made.node(0)
    for name in (made.node(1), made.node(2)):
        made.add(name, "subscribed", 1.0, "t", 1)
    return made


def end(journals, at):
    """All processes stop."""
    for name in ("01-01", "02-01"):
        journals.add(name, "unsubscribing", at, "t", 1)
        journals.add(name, "stopped", at, {})
    journals.add("00-01", "closing", at, "t")
    journals.add("00-01", "stopped", at, {})
    return journals.judge()


def test_messages_that_all_readers_got_in_order_are_accepted(journals):
    for order in (1, 2):
        journals.publishes(order, 1.0 + order)
        for name in ("01-01", "02-01"):
            journals.delivers(name, order, 1.1 + order, 1.0 + order)
    verdict = end(journals, 3.5)
    assert verdict.is_clean
    assert (verdict.published, verdict.delivered) == (2, 4)


def test_a_message_before_a_delivered_one_is_missing_however_short_the_subscription(journals):
    journals.publishes(1, 2.0)
    journals.publishes(2, 2.1)
    journals.delivers("01-01", 2, 2.2, 2.1)
    verdict = end(journals, 3.0)
    assert len(verdict.missing) == 1
    assert verdict.in_flight == 2


def test_a_last_message_is_missing_only_after_some_time(journals):
    journals.publishes(1, 2.0)
    journals.delivers("01-01", 1, 2.1, 2.0)
    journals.publishes(2, LATER)
    journals.delivers("01-01", 2, LATER + 0.1, LATER)
    verdict = end(journals, LATER + 5)
    assert [line.split()[0] for line in verdict.missing] == ["02-01"]
    assert verdict.in_flight == 1


def test_a_gap_of_the_same_subscription_and_publisher_reports_a_missing_message(journals):
    journals.publishes(1, 2.0)
    journals.add("01-01", "gap", 2.1, "t", 1, "a", 100, 102)
    journals.add("02-01", "gap", 2.1, "t", 1, "b", 100, 102)
    verdict = end(journals, LATER)
    assert (verdict.reported, len(verdict.missing)) == (1, 1)


def test_time_in_which_a_process_was_paused_or_its_reader_slept_does_not_count(journals):
    journals.publishes(1, 2.0)
    journals.add("faults", "paused", 3.0, 1)
    journals.add("faults", "resumed", LATER, 1)
    journals.add("02-01", "slow", 3.0, "t", LATER)
    assert end(journals, LATER + 2).is_clean


def test_a_message_from_before_the_subscription_and_one_of_the_node_itself_are_not_due(journals):
    journals.publishes(1, 0.5)
    journals.add("01-01", "published", 2.0, "t", 300, 1, ["c"], 2.0)
    journals.add("02-01", "delivered", 2.1, "t", 1, "b", 300, 1, 2.0)
    assert end(journals, LATER).is_clean


@pytest.mark.parametrize("received", [False, True])
def test_a_message_of_a_killed_publisher_is_due_only_if_somebody_got_it(tmp_path, received):
    journals = Journals(tmp_path)
    journals.node(0)
    for name in (journals.node(1), journals.node(2)):
        journals.add(name, "subscribed", 1.0, "t", 1)
    journals.publishes(1, 2.0)
    if received:
        journals.delivers("01-01", 1, 2.1, 2.0)
    for name in ("01-01", "02-01"):
        journals.add(name, "stopped", LATER, {})
    verdict = journals.judge()
    assert len(verdict.missing) == received
    assert verdict.lost_with_process == 2 * (not received)


@pytest.mark.parametrize("queued", [(), ("b",)])
def test_a_message_of_a_closed_topic_is_due_if_its_receipt_named_a_neighbour(journals, queued):
    journals.publishes(1, 2.0, queued=queued)
    journals.add("00-01", "closing", 3.0, "t")
    assert len(end(journals, LATER).missing) == 2 * len(queued)


@pytest.mark.parametrize("was_killed", [True, False])
@pytest.mark.parametrize("queued", [("b",), ("b", "c")])
def test_a_message_of_a_closed_topic_is_not_due_if_all_neighbours_of_its_receipt_left(journals, queued, was_killed):
    journals.publishes(1, 2.0, queued=queued)
    journals.add("00-01", "closing", 3.0, "t")
    journals.add("00-01", "stopped", LATER, {})
    if was_killed:
        journals.add("01-01", "slow", 4.0, "t", 4.0)
    else:
        journals.add("01-01", "closing", 4.0, "t")
        journals.add("01-01", "unsubscribing", 4.0, "t", 1)
        journals.add("01-01", "stopped", LATER, {})
    journals.add("02-01", "unsubscribing", LATER, "t", 1)
    journals.add("02-01", "stopped", LATER, {})
    assert len(journals.judge().missing) == len(queued) - 1


def test_a_message_without_a_receipt_is_known_from_its_deliveries(journals):
    journals.delivers("01-01", 1, 2.1, 2.0)
    assert len(end(journals, LATER).missing) == 1


def test_a_second_delivery_and_a_wrong_order_in_one_process_are_found(journals):
    for order in (1, 2):
        journals.publishes(order, 1.0 + order)
    for order in (1, 2, 2):
        journals.delivers("01-01", order, 4.0, 1.0 + order)
    for order in (2, 1):
        journals.delivers("02-01", order, 4.0, 1.0 + order)
    verdict = end(journals, 5.0)
    assert (len(verdict.twice), len(verdict.out_of_order)) == (1, 1)


def test_a_second_delivery_in_another_subscription_of_the_process_is_found_and_in_another_process_allowed(journals):
    journals.publishes(1, 2.0)
    journals.delivers("01-01", 1, 2.1, 2.0)
    journals.add("01-01", "unsubscribing", 3.0, "t", 1)
    journals.add("01-01", "subscribed", 4.0, "t", 2)
    journals.delivers("01-01", 1, 4.1, 2.0, subscription=2)
    journals.delivers("02-01", 1, 2.1, 2.0)
    journals.node(2, life=2, at=6.0)
    journals.add("02-02", "subscribed", 6.0, "t", 1)
    journals.delivers("02-02", 1, 6.1, 2.0)
    assert len(end(journals, 5.0).twice) == 1


def test_a_process_that_ended_by_itself_is_a_failure(journals):
    journals.add("faults", "died", 3.0, 1, 1)
    assert not end(journals, 5.0).is_clean


def test_a_line_that_was_cut_off_by_a_kill_is_ignored(journals, tmp_path):
    journals.judge()
    with (tmp_path / "01-01.journal").open("a") as file:
        file.write('["delivered", 3.0, "t"')
    assert Judge(tmp_path).judge().is_clean
