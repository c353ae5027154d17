"""The settings of a study, checked before any work is done."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.model.values.errors import InputError
from gossamer.pipeline.study_grid import grid_points
from gossamer.pipeline.study_results import _degree_figures, study_runs
from gossamer.pipeline.study_settings import Candidate, Study, read_study
from gossamer.systems import find_system


def written(tmp_path, text):
    path = tmp_path / "study.toml"
    path.write_text(text)
    return path


SPIDERCAST = '[[systems]]\nsystem = "spidercast"\n'


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('[[systems]]\nsystem = "spidercats"\n', "did you mean spidercast"),
        ('[[systems]]\nsystem = "gm"\nparameters = {rho = 3}\n', "gm has no parameter 'rho'"),
        (SPIDERCAST + "parameters = {greedy_converage = 3}\n", "did you mean greedy_coverage"),
        (SPIDERCAST + "parameter = {greedy_coverage = 3}\n", "did you mean parameters"),
        (SPIDERCAST + "parameters = {view = []}\n", "view is an empty list"),
        (SPIDERCAST + "parameters = {view = [1, 1]}\n", "view has a value twice"),
        (SPIDERCAST + "parameters = {view = [0.5, 2.0]}\n", "view is 2.0"),
        (SPIDERCAST + "parameters = {margin = {from = 1, too = 3, step = 1}}\n", "did you mean to"),
        (SPIDERCAST + "parameters = {margin = {from = 1, to = 3}}\n", "the range of margin has no step"),
        (SPIDERCAST + "parameters = {margin = {from = 3, to = 1, step = 1}}\n", "must go up"),
        (SPIDERCAST + "parameters = {margin = {from = 1, to = 3, step = 0}}\n", "must go up"),
        (SPIDERCAST + "parameters = {margin = {from = 1, to = 'x', step = 0}}\n", "must have numbers"),
        (SPIDERCAST + "parameters = {view = {from = 0.001, to = 1, step = 0.001}}\n", "has 1000 values; at most 500"),
        (SPIDERCAST + 'parameters = {view = [0.5, 1]}\nlabel = "{vew}"\n', "cannot be filled in"),
        (SPIDERCAST + 'parameters = {view = [0.5, 1]}\nlabel = "{view.__class__.x}"\n', "cannot be filled in"),
        (SPIDERCAST + SPIDERCAST, "2 systems have the label 'spidercast'"),
        ('disseminations = ["flod"]\n', "did you mean flood"),
        ("users = 0\n", "users"),
        ("colour = 3\n", "a study has no setting 'colour'"),
        ("membership = 'a.csv'\n", "did you mean memberships"),
        ("users = \n", "is not TOML"),
        ("nodes = 10\nchurn_nodes = 20\n", "must be at most `nodes`"),
        ("seeds = []\n", "at least one seed"),
        ("seeds = [1, 1]\n", "a seed twice"),
        ("max_links = 0\n", "max_links"),
        ("samples = 0\n", "samples"),
        ("systems = 3\n", "systems"),
        ("workload = 'w'\nedges = 'e'\n", "`workload` excludes"),
        ("memberships = 'm'\ndirected = true\n", "`directed` is for `edges` alone"),
        ("columns = ['a', 'b']\n", "describe one input"),
    ],
)
def test_a_study_with_bad_settings_is_refused_before_any_work(tmp_path, text, sentence):
    with pytest.raises(InputError, match=sentence) as refused:
        read_study(written(tmp_path, text))
    assert "study.toml" in str(refused.value)


def test_the_default_study_runs_every_dissemination_that_asks_for_it():
    assert Study().disseminations == ("flood", "tree", "push-pull")


def test_lists_and_ranges_make_one_candidate_for_each_combination(tmp_path):
    text = (
        SPIDERCAST + "parameters = {view = [0.05, 1.0], greedy_coverage = {from = 2, to = 4, step = 1}, margin = 3}\n"
    )
    study = read_study(written(tmp_path, text)).expanded()
    assert [each.parameters for each in study.systems] == [
        {"view": view, "greedy_coverage": coverage, "margin": 3} for view in (0.05, 1.0) for coverage in (2, 3, 4)
    ]
    assert study.systems[0].name() == "spidercast, view 0.05, greedy coverage 2"
    assert study.expanded() == study


def test_a_label_names_values_of_its_parameters(tmp_path):
    text = SPIDERCAST + 'parameters = {view = [0.05, 1.0]}\nlabel = "{view:.0%} views"\n'
    study = read_study(written(tmp_path, text)).expanded()
    assert [each.name() for each in study.systems] == ["5% views", "100% views"]


@given(st.integers(0, 40), st.integers(0, 60), st.integers(1, 20), st.sampled_from((1, 10, 100)))
def test_a_range_has_every_step_from_its_start_to_its_end(first, length, step, divisor):
    """With decimal steps such as 0.05, which binary numbers cannot add up exactly."""
    numbers = {"from": first / divisor, "to": (first + length) / divisor, "step": step / divisor}
    if divisor == 1:
        numbers = {name: int(value) for name, value in numbers.items()}
    points = grid_points("spidercast", {"view": numbers}, find_system("spidercast").parameters)
    expected = [value / divisor for value in range(first, first + length + 1, step)]
    assert [point["view"] for point in points] == expected
    assert all(isinstance(point["view"], int if divisor == 1 else float) for point in points)


def test_a_system_is_run_on_every_sample_with_every_seed(tmp_path):
    study = Study(samples=2, seeds=(1, 5), systems=(Candidate("spidercast"), Candidate("gm")), churn_systems=())
    runs = study_runs(study, tmp_path)
    found = [(each.label, each.run.seed, each.run.workload) for each in runs if each.kind == "build"]
    # A plan draws nothing, but the nodes that fail are drawn.
    assert found == [
        (label, seed, str(tmp_path / folder))
        for folder in ("workload", "workload-2")
        for label in ("spidercast", "gm")
        for seed in (1, 5)
    ]
    assert [each.sample for each in runs if each.kind == "build"] == [1] * 4 + [2] * 4


def test_systems_are_also_built_with_what_live_nodes_know(tmp_path):
    study = Study(seeds=(1,), systems=(Candidate("spidercast"), Candidate("gm")), churn_systems=())
    runs = {each.kind: each.run for each in study_runs(study, tmp_path)}
    assert set(runs) == {"build", "small", "live"}
    assert (runs["live"].engine, runs["live"].parameters) == ("event", {"membership": "cyclon"})
    assert runs["live"].workload == runs["small"].workload == str(tmp_path / "churn-workload")
    live = find_system("spidercast")
    assert not live.takes_view(live.parameters(**runs["live"].parameters))


@given(st.lists(st.integers(0, 30), min_size=1, max_size=300))
def test_at_least_99_percent_of_the_nodes_have_at_most_the_99th_percentile_of_links(degrees):
    counts = {degree: degrees.count(degree) for degree in degrees}
    figures = _degree_figures({"degrees": {"degree": list(counts), "nodes": list(counts.values())}})
    p99 = figures["p99_degree"]
    assert 100 * sum(degree <= p99 for degree in degrees) >= 99 * len(degrees)
    assert 100 * sum(degree < p99 for degree in degrees) < 99 * len(degrees)
