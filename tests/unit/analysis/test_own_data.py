"""Figures of the papers on a workload of the user's own."""

from collections import Counter
from pathlib import Path

from gossamer.analysis.exhibits.catalogue import all_exhibits, find_exhibits
from gossamer.analysis.exhibits.harness import NOT_COMPARED, Exhibit, Point, judge
from gossamer.analysis.exhibits.own_data import on_workload
from gossamer.model.tables.workload import read_workload
from gossamer.model.values.errors import InputError
from gossamer.model.values.run import Run, WorkloadLaw
from gossamer.workloads.make import make_workload

OWN = make_workload(nodes=40, topics=6, subscriptions=3, seed=1)
LAW = WorkloadLaw(nodes=1000, topics=100, subscriptions="10", popularity="rss")


def test_a_figure_over_nodes_is_drawn_for_a_quarter_to_all_nodes(tmp_path):
    (exhibit,) = find_exhibits("spidercast/fig12")
    own = on_workload(exhibit, OWN, "subs", tmp_path)
    points, theirs = own.points(True), exhibit.points(True)
    assert {point.series for point in points} == {point.series for point in theirs}
    assert {point.run.seed for point in points} == {point.run.seed for point in theirs}
    assert Counter(point.x for point in points) == dict.fromkeys((10.0, 20.0, 30.0, 40.0), len(points) // 4)
    for point in points:
        sample = read_workload(Path(point.run.workload))
        assert sample.interest.node_count == point.x
        assert set(sample.node_ids) <= set(OWN.node_ids)
    outcome = judge(own, True, [(point, 1.0) for point in points])
    assert outcome.verdict == NOT_COMPARED
    assert all(value.published is None for value in outcome.values)


def test_a_figure_over_a_parameter_keeps_its_axis(tmp_path):
    runs = [Run(system="spidercast", parameters={"greedy_coverage": k}, workload=LAW, seed=1) for k in (2, 3)]
    points = [Point("links", float(k), run) for k, run in zip((2, 3), runs, strict=True)]
    own = on_workload(Exhibit("a/b", "Title, on a law", "K", "links", lambda quick: points, ""), OWN, "subs", tmp_path)
    assert [(point.x, point.run.parameters) for point in own.points(False)] == [
        (2.0, {"greedy_coverage": 2}),
        (3.0, {"greedy_coverage": 3}),
    ]
    assert {point.run.workload for point in own.points(False)} == {str(tmp_path / "40")}


def test_every_exhibit_is_drawn_for_own_data_or_refused_in_one_sentence(tmp_path):
    refused = {}
    for exhibit in all_exhibits().values():
        try:
            on_workload(exhibit, OWN, "subs", tmp_path).points(True)
        except InputError as error:
            refused[exhibit.name] = str(error)
    assert 0 < len(refused) < len(all_exhibits())
    assert "spidercast/fig12" not in refused
    assert all(name in sentence for name, sentence in refused.items())


def test_series_that_differ_only_in_their_workload_are_drawn_once(tmp_path):
    (exhibit,) = find_exhibits("spidercast/fig14")
    points = on_workload(exhibit, OWN, "subs", tmp_path).points(True)
    assert {point.series for point in points} == {"SpiderCast (3,0)", "ring per topic"}


def test_the_command_draws_the_figure_for_a_file_of_names(gossamer, tmp_path):
    (tmp_path / "subs.csv").write_text("service,topic\n" + "".join(f"s{n},t{n % 3}\ns{n},all\n" for n in range(12)))
    code, out, error = gossamer(
        "reproduce", "spidercast/fig14", "--on", "subs.csv", "--quick", "--jobs", 1, "--out", "r"
    )
    assert code == 0, error
    assert "not compared" in out
    assert list(tmp_path.glob("r/spidercast/fig14-on-subs/*.svg"))


def test_a_figure_of_several_workloads_is_refused_by_the_command(gossamer, tmp_path):
    (tmp_path / "subs.csv").write_text("service,topic\na,x\nb,x\n")
    code, _, error = gossamer("reproduce", "spidercast/fig8b", "--on", "subs.csv")
    assert code == 2
    assert "spidercast/fig8b compares several workloads" in error
