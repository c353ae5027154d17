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


def test_a_whole_run_in_order_ends_with_its_last_message_and_misses_nothing(capsys):
    ends, found = read([0, 1, 2], 3, capsys)
    assert ends == [False, False, True]
    assert (found["missing"], found["twice"], found["disordered"]) == (0, 0, 0)


def test_a_gap_is_missing_and_not_out_of_order(capsys):
    ends, found = read([0, 1, 4, 5], 6, capsys)
    assert not any(ends)
    assert (found["missing"], found["twice"], found["disordered"]) == (2, 0, 0)


def test_two_that_changed_places_are_out_of_order_and_not_missing(capsys):
    ends, found = read([0, 2, 1, 3], 4, capsys)
    assert ends == [False, False, False, True]
    assert (found["missing"], found["twice"], found["disordered"]) == (0, 0, 1)


def test_a_run_whose_last_message_comes_early_goes_on(capsys):
    ends, found = read([0, 2, 1], 3, capsys)
    assert ends == [False, False, True]
    assert (found["missing"], found["disordered"]) == (0, 1)


def test_a_message_that_comes_twice_does_not_stand_for_a_missing_one(capsys):
    ends, found = read([0, 1, 1], 3, capsys)
    assert not any(ends)
    assert (found["missing"], found["twice"], found["disordered"]) == (1, 1, 0)


@pytest.mark.parametrize("name", ["asyncio", "gossamer"])
def test_a_small_run_is_lossless(name):
    results = live.measure(name, 1, 100, 50, 0)
    assert results is not None
    (found,) = results["subscribers"]
    assert (found["missing"], found["twice"], found["disordered"]) == (0, 0, 0)
    assert live.rates(results, 50)[0] != "did not finish"


def test_a_contender_that_takes_too_long_has_not_finished(monkeypatch):
    monkeypatch.setattr(live, "LIMIT_SECONDS", 0.01)
    assert live.measure("asyncio", 1, 100, 50, 1) is None
    assert live.rates(None, 50)[0] == "did not finish"


def test_a_run_with_losses_has_no_rate():
    lossy = {"missing": 3, "twice": 0, "disordered": 0, "seconds": 1.0, "cpu_seconds": 0.1}
    rates = live.rates({"publisher": {"cpu_seconds": 0.1}, "subscribers": [lossy]}, 50)
    assert rates[:2] == ["did not finish", "3"]
