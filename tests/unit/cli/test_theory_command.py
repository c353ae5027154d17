"""`gossamer theory`, and gossip on the command line."""

import json

import pyarrow.parquet as pq
import pytest

REACH = ("theory", "reach", "--degree", "poisson:5", "--subscribers", 0.1)
KEYS = {
    "takes_off",
    "subscribers_reached",
    "others_reached",
    "mean_receivers",
    "mean_subscribers",
    "messages_per_event",
    "percolates",
}


def answer(gossamer, *arguments):
    code, out, err = gossamer(*arguments, "--json")
    assert code == 0, err
    return json.loads(out)


def test_reach_above_the_threshold(gossamer):
    found = answer(gossamer, *REACH, "--gossip", 0.3)
    assert set(found) >= KEYS
    assert found["percolates"] is True
    assert found["mean_receivers"] is found["mean_subscribers"] is None
    assert found["takes_off"] == pytest.approx(0.7506, abs=1e-4)
    reached = 0.1 * found["subscribers_reached"] + 0.9 * found["others_reached"]
    assert 20_000 * reached == pytest.approx(9966, abs=1)
    twice = answer(gossamer, *REACH, "--gossip", 0.3, "--nodes", 20_000)
    assert twice["messages_per_event"] == pytest.approx(2 * found["messages_per_event"], rel=1e-3)


def test_reach_below_the_threshold(gossamer):
    found = answer(gossamer, *REACH, "--gossip", 0.05)
    assert found["percolates"] is False
    assert found["takes_off"] == found["subscribers_reached"] == found["others_reached"] == 0
    assert found["mean_receivers"] == pytest.approx(3.636, abs=1e-3)
    assert found["mean_subscribers"] == pytest.approx(1.918, abs=1e-3)
    assert found["messages_per_event"] == pytest.approx(2.636, abs=1e-3)


def test_reach_at_the_threshold_says_that_the_numbers_are_unknown(gossamer):
    ring = ("--degree", "regular:2", "--subscribers", 1, "--gossip", 1)
    found = answer(gossamer, "theory", "reach", *ring)
    assert found["receivers_per_event"] is found["messages_per_event"] is None
    assert "unknown at the threshold" in gossamer("theory", "reach", *ring)[1]
    found = answer(gossamer, "theory", "threshold", *ring)
    assert (found["percolates_at_all"], found["link_probability"], found["gossip"]) == (False, None, None)


def test_check_prints_the_simulation_beside_the_theory(gossamer):
    found = answer(gossamer, *REACH, "--gossip", 0.5, "--nodes", 1500, "--check")
    for name in ("takes_off", "subscribers_reached", "others_reached", "messages_per_event"):
        assert found["simulated"][name] == pytest.approx(found[name], rel=0.04)
    code, out, _ = gossamer(*REACH, "--gossip", 0.05, "--nodes", 500, "--check")
    assert code == 0
    assert "simulated" in out


def test_settings_for_a_target_reach_that_target(gossamer):
    asked = ("--degree", "poisson:5", "--subscribers", 0.1)
    found = answer(gossamer, "theory", "gossip-for", "--target", 0.9, *asked)
    again = answer(gossamer, *REACH, "--gossip", found["gossip"])
    assert again["subscribers_reached"] == pytest.approx(0.9, abs=1e-6)
    found = answer(gossamer, "theory", "degree-for", "--target", 0.9, "--subscribers", 0.1, "--gossip", found["gossip"])
    assert found["mean_degree"] == pytest.approx(5, abs=1e-6)
    found = answer(gossamer, "theory", "threshold", *asked, "--gossip", 0.1)
    assert found["link_probability"] == pytest.approx(0.2)
    assert found["gossip"] == found["subscribers"] == pytest.approx(1 / 9)
    found = answer(gossamer, "theory", "load-for", "--loss", 0.01, *asked, "--gossip", 0.3, "--buffer", 16)
    assert found["events_per_second"] > 0
    for command in (("threshold", *asked), ("gossip-for", "--target", 0.9, *asked)):
        assert "Links are random given the degrees" in gossamer("theory", *command)[1]


def test_thresholds_and_loads_can_be_checked_too(gossamer):
    asked = ("--degree", "poisson:5", "--subscribers", 0.1)
    found = answer(gossamer, "theory", "threshold", *asked, "--nodes", 2000, "--check")["simulated"]
    assert [row["of_threshold"] for row in found] == [0.5, 0.8, 1.25, 2]
    assert found[0]["receivers_per_event"] < 3
    assert found[3]["receivers_per_event"] > 300
    by_share = answer(
        gossamer, "theory", "threshold", "--degree", "poisson:5", "--gossip", 0.15, "--nodes", 500, "--check"
    )
    assert all(row["gossip"] == 0.15 for row in by_share["simulated"])
    assert "Simulated" in gossamer("theory", "threshold", *asked, "--nodes", 300, "--check")[1]
    load = ("theory", "load-for", "--loss", 0.2, *asked, "--gossip", 0.6, "--buffer", 4, "--rate", 100, "--check")
    assert answer(gossamer, *load)["simulated"]["loss"] == pytest.approx(0.2, rel=0.15)


def test_the_topics_of_a_workload_on_an_overlay(gossamer, workload):
    gossamer("build", "unstructured", "w", "o", "--seed", 1, "--set", "degree=regular:4")
    found = answer(gossamer, "theory", "topics", "w", "o", "--gossip", 0.2)
    assert found["topics"] == 12 == len(found["by_topic"])
    assert found["percolating"] == sum(row["percolates"] for row in found["by_topic"])
    same = answer(gossamer, "theory", "reach", "--degree", "overlay:o", "--subscribers", 0.5, "--gossip", 0.2)
    assert same["nodes"] == 60
    assert "topics percolate" in gossamer("theory", "topics", "w", "o", "--gossip", 0.2)[1]
    assert (
        gossamer("theory", "reach", "--degree", "overlay:o", "--subscribers", 0.5, "--gossip", 0.2, "--check")[0] == 0
    )


def test_topics_are_checked_on_the_overlay_itself(gossamer):
    sizes = ("--nodes", 800, "--topics", 4, "--subscriptions", 2, "--seed", 1)
    assert gossamer("workload", "make", "large", *sizes)[0] == 0
    assert gossamer("build", "unstructured", "large", "o", "--seed", 1, "--set", "degree=poisson:8")[0] == 0
    asked = ("theory", "topics", "large", "o", "--gossip", 0.3)
    found = answer(gossamer, *asked, "--check")["by_topic"]
    for row in found:
        assert row["simulated_subscribers_reached"] == pytest.approx(row["subscribers_reached"], rel=0.05)
        assert row["simulated_takes_off"] == pytest.approx(row["takes_off"], rel=0.05)
    assert gossamer(*asked, "--check", "--loss", 0.1)[0] == 2


def test_a_load_is_checked_with_as_many_nodes_as_a_scale_free_law_has_and_not_on_an_overlay(gossamer):
    load = ("theory", "load-for", "--loss", 0.2, "--subscribers", 0.2, "--gossip", 0.6, "--buffer", 4, "--rate", 100)
    found = answer(gossamer, *load, "--degree", "scale-free:4:1.5", "--check")
    assert found["simulated"]["nodes"] == found["nodes"]
    assert 0 < found["simulated"]["loss"] < 1
    assert gossamer("workload", "make", "w", "--nodes", 20, "--topics", 2, "--subscriptions", 1, "--seed", 1)[0] == 0
    assert gossamer("build", "unstructured", "w", "o", "--seed", 1, "--set", "degree=regular:4")[0] == 0
    code, _, err = gossamer(*load, "--degree", "overlay:o", "--check")
    assert code == 2
    assert "leave out --check" in err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--degree", "poisson:5", "--subscribers", 10, "--gossip", 0.3), "did you mean 0.1?"),
        (("--degree", "poisson:5", "--subscribers", 0.1, "--gossip", -1), "gossip must lie between 0 and 1"),
        (("--degree", "power:1.5", "--subscribers", 0.1, "--gossip", 0.3), "infinite mean"),
        (("--degree", "given:1=0.5,3=0.6", "--subscribers", 0.1, "--gossip", 0.3), "must sum to one, got 1.1"),
        (("--degree", "overlay:none", "--subscribers", 0.1, "--gossip", 0.3), "there is no none"),
        (("--degree", "poisson:5", "--subscribers", 0.1, "--gossip", 0.3, "--nodes", 0), "--nodes must be between"),
        (("--degree", "overlay:o", "--subscribers", 0.1, "--gossip", 0.3, "--nodes", 9), "leave out --nodes"),
        (
            ("--degree", "regular:3", "--subscribers", 0.1, "--gossip", 0.3, "--nodes", 7, "--check"),
            "21 ends of links, an odd number",
        ),
        (
            ("--degree", "scale-free:6:1", "--subscribers", 0.1, "--gossip", 0.3, "--nodes", 100, "--check"),
            "2482 nodes",
        ),
    ],
)
def test_wrong_input_is_one_sentence(gossamer, arguments, sentence):
    code, out, err = gossamer("theory", "reach", *arguments)
    assert (code, out) == (2, "")
    assert sentence in err
    assert err.startswith("gossamer: ")
    assert err.count("\n") == 1


def test_an_unreachable_target_is_refused_with_the_best_value(gossamer):
    asked = ("--target", 0.999, "--degree", "poisson:5", "--subscribers", 0.1)
    code, _, err = gossamer("theory", "gossip-for", *asked)
    assert code == 2
    assert "the best, with 1, is 0.986094" in err


def test_unstructured_overlays_can_be_built_and_gossip_simulated_and_replayed(gossamer, workload, tmp_path):
    built = json.loads(
        gossamer("build", "unstructured", "w", "o", "--seed", 1, "--set", "degree=regular:6", "--json")[1]
    )
    assert 5 < built["average_degree"] <= 6
    by_events = gossamer(
        "build", "unstructured", "w", "e", "--seed", 1, "--set", "degree=regular:6", "--engine", "event"
    )
    assert by_events[0] == 0
    first, second = (pq.read_table(tmp_path / folder / "overlay.parquet") for folder in "oe")
    assert first.equals(second)
    flags = ("--dissemination", "gossip", "--events", 20, "--until", "40s", "--record", "--json")
    for folder, gamma in (("all", 1), ("none", 0)):
        more = ("--set", "degree=regular:6", "--set", f"gossip.gamma={gamma}")
        code, out, err = gossamer("simulate", "unstructured", "w", folder, "--seed", 3, *flags, *more)
        assert code == 0, err
        metrics = json.loads(out)
        assert metrics["dissemination_parameters"]["gamma"] == gamma
        assert (metrics["delivery_ratio"] == 1) == (gamma == 1)
        assert gossamer("replay", tmp_path / folder / "record.bin")[0] == 0


def test_buffers_that_fill_lose_copies_and_count_them(gossamer, workload):
    lost = {}
    for buffer in (1, 1000):
        more = ("--set", "gossip.gamma=1", "--set", "gossip.handle_us=20000", "--set", f"gossip.buffer={buffer}")
        flags = ("--dissemination", "gossip", "--rate", 20, "--until", "20s", "--json", *more)
        metrics = json.loads(gossamer("simulate", "unstructured", "w", f"b{buffer}", "--seed", 3, *flags)[1])
        lost[buffer] = metrics["overflowed_messages"]
        assert lost[buffer] <= metrics["data_messages"] + metrics["published"]
    assert lost[1] > 10 * lost[1000]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--set", "degree=regular:59"), None),
        (("--set", "degree=regular:60"), "there are 59 other nodes"),
        (("--set", "degree=given:3=1"), None),
        (("--set", "degree=scale-free:6:1"), "a network of 2482 nodes; the workload has 60"),
        (("--set", "degree=poison:5"), "there is no degree distribution 'poison:5'"),
    ],
)
def test_degree_laws_that_do_not_fit_the_workload_are_refused(gossamer, workload, arguments, sentence):
    code, _, err = gossamer("build", "unstructured", "w", "o", "--seed", 1, *arguments)
    assert code == (2 if sentence else 0)
    assert sentence is None or sentence in err


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (("--dissemination", "gossip", "--set", "gossip.gamma=2"), "gamma is '2'"),
        (("--dissemination", "gossip", "--set", "gossip.gama=0.2"), "did you mean gamma?"),
        (("--dissemination", "gossip", "--set", "gossip.gamma"), "--set must be NAME=VALUE"),
        (("--set", "gossip.gamma=0.2"), "give --dissemination too"),
        (("--dissemination", "flood"), "it carries: gossip"),
    ],
)
def test_wrong_parameters_of_gossip_are_refused(gossamer, workload, flags, sentence):
    code, _, err = gossamer("simulate", "unstructured", "w", "o", "--seed", 1, *flags)
    assert code == 2
    assert sentence in err
