"""The advice of the report follows its rule: opposite results give opposite advice."""

from hypothesis import given
from hypothesis import strategies as st

from gossamer.analysis.advice import advise, rank
from gossamer.analysis.standing import pareto_set, standings
from tests.unit.analysis.made_results import row


def told(*rows, wanted=None, live=(), max_links=None):
    wanted = wanted or {}
    return advise(standings(rows, wanted=wanted), standings(live, kind="live"), wanted, max_links)


def said(*rows, **more):
    found = told(*rows, **more)
    return [*found.choice, *found.costs, *found.survives, *found.assumes, *found.others]


def test_fewer_disconnected_topics_after_a_failure_come_before_fewer_links():
    found = told(row("a", "spidercast", 9, 0, after=30), row("b", "random", 20, 0, after=5))
    assert found.best.label == "b"
    assert "a (9.0 links on average, at most 27; 33.3% of topics disconnected after the failure)" in found.others[0]


def test_the_page_says_which_topics_a_failure_is_counted_over():
    rows = [{**row("a", "random", 9, 0, seed, after=5), "topics_after_failure": 80} for seed in (1, 2)]
    assert (
        "6.2% of the topics that still have two subscribers (10 of 160, all runs together)" in told(*rows).survives[0]
    )


def test_a_difference_below_one_percent_of_the_topics_does_not_decide():
    rows = [
        {**row(label, "random", degree, 0, after=after), "topics_after_failure": 1000}
        for label, degree, after in (("a", 20, 101), ("b", 9, 104))
    ]
    assert told(*rows).best.label == "b"


def test_then_the_99th_percentile_decides_then_the_maximum_then_the_average():
    first = row("a", "spidercast", 9, 0, p99=20, most=50)
    assert told(first, row("b", "random", 3, 0, p99=21, most=30)).best.label == "a"
    assert told(first, row("b", "random", 12, 0, p99=20, most=49)).best.label == "b"
    assert told(first, row("b", "random", 8, 0, p99=20, most=50)).best.label == "b"


def test_a_system_with_one_bad_seed_is_not_advised_and_its_counts_are_true():
    rows = [row("a", "spidercast", 7, int(seed == 5), seed) for seed in range(1, 6)]
    found = told(*rows, row("b", "random", 20, 0))
    assert found.best.label == "b"
    assert found.others == [
        "Not recommended, because topics are disconnected or runs failed: a (disconnected topics in 1 of 5 finished "
        "runs, at most 1 of 100)."
    ]


def test_a_system_with_a_failed_run_is_not_advised():
    rows = [row("a", "spidercast", 9, 0), row("a", "spidercast", 9, 0, 2), row("b", "random", 20, 0)]
    found = told(*rows, wanted={"a": 3, "b": 1})
    assert found.best.label == "b"
    assert "a (1 of 3 runs failed)" in found.others[0]
    alone = told(rows[0], wanted={"a": 3})
    assert alone.best is None
    assert alone.choice[0].endswith("<b>a</b> comes closest: 2 of 3 runs failed.")


def test_no_system_is_recommended_if_none_connects_every_topic():
    found = told(row("a", "spidercast", 9, 3), row("b", "random", 5, 40))
    assert found.best is None
    assert found.choice == [
        "No system is recommended: none without a central planner connects every topic here in every run. <b>a</b> comes "
        "closest: disconnected topics in 1 of 1 finished runs, at most 3 of 100."
    ]
    assert "b (disconnected topics in 1 of 1 finished runs, at most 40 of 100)" in found.others[0]


def test_a_system_with_disconnected_topics_among_live_nodes_is_not_advised():
    builds = [row("a", "spidercast", 9, 0), row("b", "random", 20, 0)]
    live = [row("a", "spidercast", 8, 2, kind="live"), row("b", "random", 21, 0, kind="live")]
    found = told(*builds, live=live)
    assert found.best.label == "b"
    assert found.others == [
        "Not recommended, because this happens when nodes know others only from messages: a (disconnected topics in 1 of "
        "1 finished runs, at most 2 of 100)."
    ]
    assert (
        "A smaller network was built that way too: every topic was connected in its only run, with 21.0"
        in found.assumes[1]
    )


def test_a_system_that_was_built_as_live_nodes_do_comes_before_one_that_was_not():
    builds = [row("a", "spidercast", 9, 0), row("b", "random", 20, 0)]
    assert told(*builds).best.label == "a"
    assert told(*builds, live=[row("b", "random", 21, 0, kind="live")]).best.label == "b"


def test_the_assumption_of_the_recommended_system_is_stated():
    found = told(row("a", "spidercast", 9, 0))
    assert found.assumes[0] == "These figures assume that every node knows all others."
    some = {**row("a", "spidercast", 9, 0), "metrics": '{"parameters": {"view": 0.05}}'}
    assert told(some).assumes[0] == "These figures assume that every node knows 5% of the others."
    messages = {**row("a", "spidercast", 9, 0), "metrics": '{"parameters": {"membership": "cyclon"}}'}
    assert told(messages).assumes == [
        "These figures assume that nodes learn of others from messages, as live nodes do."
    ]


def test_max_links_leaves_out_systems_by_the_maximum_of_all_runs_and_not_by_its_mean():
    rows = [row("a", "spidercast", 4, 0, 1), row("a", "spidercast", 9, 0, 2), row("b", "random", 8, 0)]
    assert told(*rows, max_links=27).best.label == "b"
    found = told(rows[0], rows[1], row("b", "random", 8, 0, after=80), max_links=26)
    assert found.best.label == "b"
    assert "Not recommended, because the limit is 26 links: a (27 links at one node)." in found.others
    none = told(*rows, max_links=5)
    assert none.best is None
    assert none.choice[0].startswith("No system is recommended: none keeps every node at 5 links or fewer. The lowest")
    assert "24 links, of <b>b</b>" in none.choice[0]


def test_a_central_plan_is_compared_and_never_advised():
    found = told(row("a", "spidercast", 9, 0), row("gm", "gm", 3, 0), row("mesh", "mesh-per-topic", 2, 5))
    assert found.best.label == "a"
    assert "A central plan (gm) needs 3.0 links per node; a has 3.0 times as many" in found.costs[-1]
    assert found.others[-1] == (
        "Central plans with disconnected topics or failed runs: "
        "mesh (disconnected topics in 1 of 1 finished runs, at most 5 of 100)."
    )


def test_maxima_are_the_largest_of_all_runs_and_not_their_mean():
    (found,) = standings([row("a", "spidercast", 9, 0), row("a", "spidercast", 4, 0, seed=2)])
    assert (found.max_degree, found.p99_degree, found.average_degree) == (27, 18, 6.5)
    assert "99% of the nodes have at most 18, and the busiest node in any run has 27." in advise([found]).costs[0]


def test_a_system_of_which_every_run_failed_is_named():
    assert said(row("a", "spidercast", 9, 0), wanted={"a": 1, "b": 3})[-1] == (
        "Not compared, because no run finished: b (3 of 3 runs failed)."
    )


def test_central_plans_that_all_have_disconnected_topics_are_not_recommended():
    found = said(row("mesh", "mesh-per-topic", 2, 5))
    assert found[0] == "The study has only central plans, and none of them connects every topic in every run."
    assert "mesh (disconnected topics in 1 of 1 finished runs, at most 5 of 100)" in found[1]


def test_labels_are_escaped_in_html():
    assert "&lt;script&gt;" in said(row("<script>", "spidercast", 9, 0))[0]


def test_a_study_without_builds_says_that_there_is_no_recommendation():
    assert said() == ["No overlay was built, so there is no recommendation; the failures are listed below."]


builds = st.lists(
    st.builds(
        lambda degree, disconnected, after, p99, more: (degree, disconnected, after, p99, p99 + more),
        st.integers(1, 9),
        st.sampled_from((0, 0, 0, 1)),
        st.integers(0, 90),
        st.integers(1, 9),
        st.integers(0, 9),
    ),
    min_size=1,
    max_size=8,
)


@given(builds, st.none() | st.integers(1, 20))
def test_the_advised_system_is_sound_within_the_limit_and_first_in_the_order(made, max_links):
    rows = [
        row(f"s{number}", "random", degree, disconnected, after=after, p99=p99, most=most)
        for number, (degree, disconnected, after, p99, most) in enumerate(made)
    ]
    found = standings(rows)
    best = advise(found, max_links=max_links).best
    allowed = [each for each in found if each.is_whole and (max_links is None or each.max_degree <= max_links)]
    assert best is (min(allowed, key=rank) if allowed else None)


@given(builds)
def test_every_system_outside_the_pareto_set_is_beaten_by_one_inside(made):
    rows = [
        row(f"s{number}", "random", degree, 0, after=after, p99=p99, most=most)
        for number, (degree, _, after, p99, most) in enumerate(made)
    ]
    found = standings(rows)
    unbeaten = pareto_set(found)
    assert unbeaten

    def costs(each):
        return each.disconnected_after_failure, each.p99_degree, each.max_degree, each.average_degree

    def beats(one, other):
        return costs(one) != costs(other) and all(a <= b for a, b in zip(costs(one), costs(other), strict=True))

    for each in found:
        if each not in unbeaten:
            assert any(beats(other, each) for other in unbeaten)
        else:
            assert not any(beats(other, each) for other in found)
