"""The live benchmark counts what it claims to count."""

import json

import pytest
from bench import live
from bench.contenders import Reader, payload


def settings(count):
    return {"count": count, "rate": 0, "size": 100, "subscribers": 1}


def read(numbers, count, capsys):
    reader = Reader(settings(count))
    ends = [reader.take(payload(number, 100)) for number in numbers]
    reader.report()
    return ends, json.loads(capsys.readouterr().out)


def test_messages_in_order_end_with_the_last_one_and_none_is_missing(capsys):
    ends, found = read([0, 1, 2], 3, capsys)
    assert ends == [False, False, True]
    assert (found["missing"], found["twice"], found["disordered"]) == (0, 0, 0)


def test_a_lost_message_counts_as_missing_and_not_as_out_of_order(capsys):
    ends, found = read([0, 1, 4, 5], 6, capsys)
    assert not any(ends)
    assert (found["missing"], found["twice"], found["disordered"]) == (2, 0, 0)


def test_swapped_messages_count_as_out_of_order_and_not_as_missing(capsys):
    ends, found = read([0, 2, 1, 3], 4, capsys)
    assert ends == [False, False, False, True]
    assert (found["missing"], found["twice"], found["disordered"]) == (0, 0, 1)


def test_reading_continues_if_the_last_message_arrives_early(capsys):
    ends, found = read([0, 2, 1], 3, capsys)
    assert ends == [False, False, True]
    assert (found["missing"], found["disordered"]) == (0, 1)


def test_a_duplicate_does_not_replace_a_missing_message(capsys):
    ends, found = read([0, 1, 1], 3, capsys)
    assert not any(ends)
    assert (found["missing"], found["twice"], found["disordered"]) == (1, 1, 0)


@pytest.mark.parametrize("name", ["asyncio", "gossamer"])
def test_a_small_measurement_loses_no_message(name, monkeypatch):
    monkeypatch.setattr(live, "SETTLE_SECONDS", {"gossamer": 2.0})
    results = live.measure(name, 1, 100, 50, 0)
    assert results is not None
    (found,) = results["subscribers"]
    assert (found["missing"], found["twice"], found["disordered"]) == (0, 0, 0)
    assert live.rates(results, 50)[0] != "did not finish"


def test_a_contender_that_takes_too_long_has_not_finished(monkeypatch):
    monkeypatch.setattr(live, "LIMIT_SECONDS", 0.01)
    assert live.measure("asyncio", 1, 100, 50, 1) is None
    assert live.rates(None, 50)[0] == "did not finish"


def test_a_measurement_with_losses_has_no_rate():
    lossy = {"missing": 3, "twice": 0, "disordered": 0, "seconds": 1.0, "cpu_seconds": 0.1}
    rates = live.rates({"publisher": {"cpu_seconds": 0.1}, "subscribers": [lossy]}, 50)
    assert rates[:2] == ["did not finish", "3"]
