"""The report's advice follows its rule: opposite facts give opposite advice."""

import pytest

pytest.importorskip("matplotlib", reason="the report is part of gossamer[report]")

from gossamer.analysis.report import advice, standings


def row(label, system, degree, parted, seed=1, kind="build"):
    return {
        "label": label,
        "kind": kind,
        "system": system,
        "seed": seed,
        "average_degree": degree,
        "max_degree": 3 * degree,
        "links_per_subscription": 1.0,
        "max_topic_diameter": 7,
        "partitioned_topics": parted,
        "topics": 100,
        "partitioned_topics_after_failure": parted,
        "topics_after_failure": 90,
        "run_seconds": 0.1,
    }


def first(*rows):
    return advice(standings(rows))


def test_the_system_with_fewest_links_among_those_that_connect_every_topic_is_advised():
    said = first(row("a", "spidercast", 9.0, 0), row("b", "random", 5.0, 40), row("c", "similarity", 12.0, 0))
    assert said[0].startswith("Use <b>a</b>: it connects every topic")
    assert "Next is c at 12.0" in said[1]
    assert "b (40)" in said[2]


def test_opposite_facts_give_opposite_advice():
    said = first(row("a", "spidercast", 9.0, 3), row("b", "random", 5.0, 0), row("c", "similarity", 12.0, 0))
    assert said[0].startswith("Use <b>b</b>")
    assert "a (3)" in said[2]


def test_one_bad_seed_is_enough_to_lose_the_advice():
    said = first(row("a", "spidercast", 9.0, 0), row("a", "spidercast", 9.0, 1, seed=2), row("b", "random", 20.0, 0))
    assert said[0].startswith("Use <b>b</b>")


def test_where_nobody_connects_every_topic_that_is_said_first():
    said = first(row("a", "spidercast", 9.0, 3), row("b", "random", 5.0, 40))
    assert said[0].startswith("No system without a central planner connects every topic here. <b>a</b> comes closest")


def test_a_central_plan_is_the_yardstick_and_never_the_advice():
    said = first(row("a", "spidercast", 9.0, 0), row("gm", "gm", 3.0, 0), row("mesh", "mesh-per-topic", 2.0, 5))
    assert said[0].startswith("Use <b>a</b>")
    assert "A central plan (gm) would need 3.0 links a node, 3.0 times fewer" in said[-1]


def test_labels_are_text_and_nothing_else():
    assert "&lt;script&gt;" in first(row("<script>", "spidercast", 9.0, 0))[0]


def test_nothing_built_is_said_and_not_hidden():
    assert first() == ["Nothing was built, so there is nothing to recommend; see what failed below."]
