"""`gossamer what-if`, and `simulate` with given links."""

import json

import pyarrow.parquet as pq
import pytest

SUBS = "service,topic,zone\n" + "".join(
    f"{name},{topic},{zone}\n"
    for name, zone in (("支付", "eu"), ("orders", "eu"), ("билеты", "us"), ("mail", "us"), ("log", "asia"))
    for topic in ("all", f"{zone}/only")
)


@pytest.fixture
def planned(gossamer, tmp_path):
    (tmp_path / "subs.csv").write_text(SUBS)
    assert gossamer("plan", "subs.csv", "p", "--ignore-zones")[0] == 0
    return tmp_path


def test_the_loss_of_named_nodes_is_shown_with_names(gossamer, planned):
    links = pq.read_table(planned / "p" / "overlay.parquet").to_pylist()
    code, out, error = gossamer("what-if", "p", "subs.csv", "o", "--remove", "билеты, mail", "--json")
    assert code == 0, error
    found = json.loads(out)
    assert found["lost_nodes"] == ["mail", "билеты"]
    assert (found["before"]["links"], found["after"]["nodes"]) == (len(links), 3)
    assert found["mended"]["topics_disconnected"] == 0
    assert set(found["single_points"]) <= {"支付", "orders", "билеты", "mail", "log"}
    assert json.loads((planned / "o" / "what-if.json").read_text()) == found
    assert "билеты" in gossamer("what-if", "p", "subs.csv", "o2", "--remove", "log")[1] + out


def test_zones_come_from_a_file_or_from_the_folder_of_a_plan(gossamer, planned):
    assert gossamer("plan", "subs.csv", "zoned")[0] == 0
    for zones in ("subs.csv", "zoned"):
        code, out, error = gossamer("what-if", "zoned", "subs.csv", "o", "--zones", zones, "--json", "--force")
        assert code == 0, error
        assert [(case["case"], case["topics_disconnected"]) for case in json.loads(out)["cases"]] == [
            ("asia", 0),
            ("eu", 0),
            ("us", 0),
        ]


def test_a_trace_and_a_share_give_a_case_each(gossamer, planned):
    made = ("churn", "make", "c", "--workload", "subs.csv", "--on", "exp:30s", "--off", "exp:10s", "--until", "60s")
    code, _, error = gossamer(*made, "--seed", 1)
    assert code == 0, error
    code, out, error = gossamer("what-if", "p", "subs.csv", "o", "--trace", "c", "--json")
    assert code == 0, error
    moments = len(pq.read_table(planned / "c" / "churn.parquet").column("at_us").unique())
    assert len(json.loads(out)["cases"]) in (moments, moments + 1)
    code, out, error = gossamer("what-if", "p", "subs.csv", "o2", "--fail", "0.4", "--draws", 3)
    assert code == 0, error
    assert "the worst of 3 losses" in out


@pytest.mark.parametrize("system", ["planned", "omen-planned"])
def test_nodes_that_start_with_given_links_mend_a_loss(gossamer, planned, system):
    code, out, error = gossamer("what-if", "p", "subs.csv", "o", "--remove", "orders", "--mend", system, "--json")
    assert code == 0, error
    found = json.loads(out)
    assert found["mended"]["topics_disconnected"] == 0
    assert found["mended"]["links"] >= 3


def test_a_simulation_keeps_the_links_of_a_plan_while_nobody_leaves(gossamer, planned):
    flags = ("--links", "p", "--seed", 1, "--until", "20s", "--dissemination", "tree", "--events", 5, "--json")
    code, out, error = gossamer("simulate", "planned", "subs.csv", "s", *flags)
    assert code == 0, error
    assert json.loads(out)["delivery_ratio"] == 1.0
    overlays = [pq.read_table(planned / name / "overlay.parquet") for name in ("p", "s")]
    assert overlays[0].equals(overlays[1])


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        ((), "give one of --fail, --remove, --zones and --trace"),
        (("--fail", "0.2", "--remove", "log"), "give one of"),
        (("--fail", "20"), "must lie between 0 and 1, got 20"),
        (("--remove", "ordrs"), "names 'ordrs', which is not in the workload; did you mean 'orders'?"),
        (("--zones", "none.csv"), "there is no file none.csv"),
        (("--fail", "0.2", "--mend", "stan"), "stan does not start from given links"),
    ],
)
def test_a_wrong_question_is_refused_in_one_sentence(gossamer, planned, flags, sentence):
    code, _, error = gossamer("what-if", "p", "subs.csv", "o", *flags)
    assert code == 2
    assert sentence in error
    assert not (planned / "o").exists()
