"""The lines of a node's log."""

import io
import json
import logging

import pytest

from gossamer.live.operations.logs import LineFormatter, RepeatFilter, log_to


@pytest.fixture
def logged():
    logger = logging.getLogger("gossamer.live")
    stream = io.StringIO()
    handlers = []

    def begin(log_format):
        handlers.append(log_to(stream, log_format))
        return logger, stream

    before = logger.level, logger.propagate
    yield begin
    for handler in handlers:
        logger.removeHandler(handler)
    logger.level, logger.propagate = before


def test_a_json_line_has_the_facts_as_fields(logged):
    logger, stream = logged("json")
    logger.warning("cannot reach %s", "a:1", extra={"facts": {"address": "a:1", "tries": 3}})
    entry = json.loads(stream.getvalue())
    assert (entry["level"], entry["message"], entry["address"], entry["tries"]) == (
        "warning",
        "cannot reach a:1",
        "a:1",
        3,
    )
    assert entry["at"].endswith("Z")


def test_a_text_log_includes_the_traceback_of_an_error(logged):
    logger, stream = logged("text")
    try:
        raise ValueError("no good")
    except ValueError:
        logger.exception("a validator failed")
    assert "error a validator failed\n" in stream.getvalue()
    assert "ValueError: no good" in stream.getvalue()


def test_a_repeated_line_is_dropped_and_its_repetitions_are_counted():
    repeats = RepeatFilter(seconds=10)

    def passes(text, at):
        record = logging.LogRecord("x", logging.INFO, "", 0, text, (), None)
        record.created = at
        return repeats.filter(record), getattr(record, "left_out", None)

    assert passes("a", 100) == (True, 0)
    assert passes("a", 105) == (False, None)
    assert passes("b", 105) == (True, 0)
    assert passes("a", 111) == (True, 1)
    for number in range(5_000):
        passes(str(number), 112)
    assert len(repeats._lines) <= 1_000


def test_a_text_line_says_how_often_it_was_repeated():
    record = logging.LogRecord("gossamer.live", logging.INFO, "", 0, "cannot reach a:1", (), None)
    record.left_out = 4
    assert LineFormatter("text").format(record).endswith("info cannot reach a:1 (4 repetitions were not logged)")
