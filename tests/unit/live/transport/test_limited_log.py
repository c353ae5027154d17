"""A log that peers cannot fill."""

from gossamer.live.transport.limited_log import KINDS_MAX, LimitedLog
from gossamer.live.transport.refusals import kind_of


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def messages(caplog):
    return [record.getMessage() for record in caplog.records]


def test_one_line_of_each_kind_is_logged_and_the_next_one_counts_those_that_were_left_out(caplog):
    clock = Clock()
    log = LimitedLog(clock)
    for number in range(5):
        log.add("refused", f"refused {number}")
    log.add("other", "something else")
    clock.now = 11
    log.add("refused", "refused 5")
    assert messages(caplog) == ["refused 0", "something else", "refused 5 (4 more were not logged)"]
    assert caplog.records[-1].facts == {"not_logged": 4}


def test_lines_that_were_left_out_are_reported_if_no_further_line_comes(caplog):
    clock = Clock()
    log = LimitedLog(clock)
    log.add("refused", "refused 0")
    log.add("refused", "refused 1")
    log.report()
    clock.now = 11
    log.report()
    log.report()
    assert messages(caplog) == ["refused 0", "refused: 1 more were not logged"]


def test_the_number_of_remembered_kinds_is_bounded():
    log = LimitedLog(Clock())
    for number in range(2 * KINDS_MAX):
        log.add(str(number), "x")
    assert len(log._kinds) == KINDS_MAX


def test_a_peer_cannot_write_line_ends_or_escape_codes_to_the_log(caplog):
    LimitedLog(Clock()).add("goodbye", "a peer said \n\x1b[31mtext")
    assert messages(caplog) == ["a peer said ??[31mtext"]


def test_details_that_a_peer_chose_are_no_part_of_the_kind_of_a_reason():
    assert kind_of("runs other protocols: a / b; this node runs c") == "runs other protocols"
    assert kind_of("its certificate is of another authority; both nodes need keys") == (
        "its certificate is of another authority"
    )
    assert kind_of("has a link already") == "has a link already"
    assert kind_of(": x") == ""
