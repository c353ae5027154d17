"""The harness of exhibits: verdicts depend only on published and measured values."""

import csv
import inspect
import json
import re
import sys
import tomllib
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from random import Random

import pyarrow.parquet as pq
import pytest
from msgspec import structs

from gossamer.analysis.exhibits.catalogue import all_exhibits, find_exhibits
from gossamer.analysis.exhibits.harness import (
    Claim,
    Exhibit,
    Point,
    SeriesValue,
    as_expected,
    chosen_settings,
    claim_sources,
    compare,
    falls,
    fitted_series,
    judge,
    measured_at,
    published_source,
    published_values,
    rival_readings,
    show_deviation,
    steps,
    summary,
)
from gossamer.analysis.exhibits.picture import draw
from gossamer.cli import app as cli
from gossamer.model.values.errors import InputError
from gossamer.model.values.run import Run, WorkloadLaw
from gossamer.protocols.contract.system import load, read_parameters
from gossamer.simulator.pool import run_key, run_metrics
from gossamer.systems import all_systems, find_system

ROOT = Path(__file__).parents[3]
FIG12 = all_exhibits()["spidercast/fig12"]
RUN = Run(system="spidercast", seed=1, workload=WorkloadLaw(nodes=10, topics=5, subscriptions="2", popularity="rss"))


TABLE2 = all_exhibits()["stan/table2"]


def as_published(shift=1.0, exhibit=FIG12):
    return [(Point(series, x, RUN), value * shift) for (series, x), value in published_values(exhibit).items()]


def at_random(exhibit, quick, count):
    """Judge an exhibit as if each of its points had measured zero, and several times a random number."""
    points = list({(point.series, point.x): point for point in exhibit.points(quick)}.values())
    outcomes = [judge(exhibit, quick, [(point, 0.0) for point in points])]
    for seed in range(count):
        random = Random(seed)
        outcomes.append(judge(exhibit, quick, [(point, 10 ** random.uniform(-1, 4)) for point in points]))
    return outcomes


def test_published_values_are_met_and_values_off_by_a_tenth_are_missed():
    assert judge(FIG12, False, as_published()).verdict == "met"
    for shift in (0.9, 1.1):
        outcome = judge(FIG12, False, as_published(shift))
        assert outcome.verdict == "missed"
        assert all(value.verdict == "missed" for value in outcome.values)


def test_one_value_off_by_a_tenth_changes_only_its_own_verdict():
    measured = as_published()
    measured[3] = (measured[3][0], measured[3][1] * 1.1)
    outcome = judge(FIG12, False, measured)
    assert outcome.verdict == "missed"
    (missed,) = [value for value in outcome.values if value.verdict == "missed"]
    assert (missed.series, missed.x) == (measured[3][0].series, measured[3][0].x)
    assert missed.deviation == pytest.approx(0.1)
    assert f"{missed.series} at {missed.x:g}, published" in outcome.line()


def test_an_exhibit_with_nothing_to_compare_is_neither_met_nor_missed():
    exhibit = replace(FIG12, name="spidercast/fig7a", claims=())
    outcome = judge(exhibit, True, [(Point("a", 1.0, RUN), 1.0)])
    assert outcome.verdict == "not compared"
    assert outcome.line() == "spidercast/fig7a: not compared"
    assert summary([outcome]) == "1 exhibit: 0 met, 0 missed, 1 not compared."


def test_a_claim_that_the_measured_values_cannot_contradict_is_not_compared():
    exhibit = replace(FIG12, name="spidercast/fig7a", claims=(Claim("it rises", lambda _: None),))
    outcome = judge(exhibit, True, [(Point("a", 1.0, RUN), 1.0)])
    assert outcome.verdict == "not compared"
    assert outcome.claims == (("it rises", "not compared"),)
    assert "0 of 1 claims hold; 1 of them not compared" in outcome.line()


def test_fitted_values_are_counted_apart_and_never_make_an_exhibit_met():
    exhibit = replace(TABLE2, claims=())
    everything = as_published(exhibit=exhibit)
    outcome = judge(exhibit, False, everything)
    assert outcome.verdict == "met"
    assert "9 of 9 predictions met" in outcome.line()
    assert "18 of 18 fitted values met" in outcome.line()
    fitted = [(point, value) for point, value in everything if point.series in fitted_series(exhibit)]
    assert judge(exhibit, False, fitted).verdict == "not compared"
    assert judge(exhibit, False, [(point, 2 * value) for point, value in fitted]).verdict == "missed"
    assert "18 of 18 fitted values met" in summary([outcome])
    assert "9 of 9 predictions met" in summary([outcome])


def test_a_fitted_claim_never_makes_an_exhibit_met_and_can_make_it_missed():
    point = Point("a", 1.0, RUN)
    for holds, verdict, words in (
        (True, "not compared", "1 of 1 claims hold; 1 of them fitted"),
        (False, "missed", "0 of 1"),
    ):
        claim = Claim("so it is", lambda _, holds=holds: holds, is_fitted=True)
        outcome = judge(replace(FIG12, name="spidercast/fig7a", claims=(claim,)), False, [(point, 1.0)])
        assert outcome.verdict == verdict
        assert words in outcome.line()


def test_a_rival_reading_is_compared_with_the_published_values_and_never_changes_the_verdict():
    exhibit = all_exhibits()["stan/table1"]
    ((rival, published),) = rival_readings(exhibit).items()
    for shift, verdict in ((1.0, "met"), (2.0, "missed")):
        others = [(Point(rival, point.x, RUN), value * shift) for point, value in as_published(exhibit=exhibit)]
        outcome = judge(exhibit, False, [*as_published(exhibit=exhibit), *others])
        assert outcome.verdict == "met"
        assert {value.verdict for value in outcome.values if value.series == rival} == {verdict}
        assert {value.ground for value in outcome.values} == {"prediction", "rival reading"}
        assert judge(exhibit, False, others).verdict == "not compared"
    assert {value.series for value in outcome.compared("prediction")} == {published}


def test_a_rival_claim_never_changes_the_verdict():
    point = Point("a", 1.0, RUN)
    claims = (Claim("it is one", lambda values: values[0].measured == 1), Claim("it is two", lambda _: False, True))
    outcome = judge(replace(FIG12, name="spidercast/fig7a", claims=claims), False, [(point, 1.0)])
    assert outcome.verdict == "met"
    assert outcome.rival_claims == (("it is two", "does not hold"),)
    only_rival = replace(FIG12, name="spidercast/fig7a", claims=claims[1:])
    assert judge(only_rival, False, [(point, 1.0)]).verdict == "not compared"


@pytest.mark.parametrize("name", sorted(all_exhibits()))
def test_every_exhibit_can_miss_and_every_claim_can_fail_or_is_not_compared(name):
    exhibit = all_exhibits()[name]
    for quick in (False, True):
        outcomes = at_random(exhibit, quick, 20)
        verdicts = {outcome.verdict for outcome in outcomes}
        assert "missed" in verdicts or (quick and verdicts == {"not compared"})
        for place, claim in enumerate(claim for claim in exhibit.claims if not claim.is_rival):
            found = {outcome.claims[place][1] for outcome in outcomes}
            assert "does not hold" in found or found == {"not compared"}, claim.text


@pytest.mark.parametrize("name", sorted(all_exhibits()))
def test_every_published_value_has_a_source_and_stands_once(name):
    exhibit = all_exhibits()[name]
    source = published_source(exhibit)
    assert re.search(r"Figure \d|Table \d|section|^ours", source), source
    assert published_values(exhibit) == {} or not source.startswith("ours")
    assert set(rival_readings(exhibit).values()) | fitted_series(exhibit) <= {
        series for series, _ in published_values(exhibit)
    }
    assert not set(rival_readings(exhibit)) & {series for series, _ in published_values(exhibit)}
    assert set(rival_readings(exhibit)) <= {point.series for point in exhibit.points(False)}


@pytest.mark.parametrize("package", sorted({exhibit.package for exhibit in all_exhibits().values()}))
def test_no_row_of_published_values_is_repeated(package):
    content = tomllib.loads((files(package) / "published.toml").read_text(encoding="utf-8"))
    keys = {"source", "chosen", "x", "series", "fitted", "rival_readings", "claims"}
    assert all(set(entry) <= keys for entry in content.values())
    rows = [tuple(row) for entry in content.values() for row in entry.get("series", {}).values() if len(row) > 1]
    assert len(rows) == len(set(rows))
    # A row of one repeated number is a number that the paper gives once.
    assert all(len(set(row)) > 1 for row in rows)


@pytest.mark.parametrize("name", sorted(all_exhibits()))
def test_every_claim_names_the_sentence_that_it_judges_or_says_that_it_is_ours(name):
    exhibit = all_exhibits()[name]
    sources = claim_sources(exhibit)
    assert set(sources) == {claim.text for claim in exhibit.claims}
    for text, source in sources.items():
        assert re.match(r"ours|[\dIVX][\w.-]*: .{15}", source), f"{text}: {source}"
        assert published_source(exhibit).startswith("ours") <= source.startswith("ours"), text


def plain(text):
    """Text without marks of the scan, on one line."""
    return re.sub(r"\s+", " ", re.sub(r"[*$`\\]", "", text).replace("\u2019", "'")).strip()


def sentences():
    """(exhibit column, section, quote) of the tables in docs/papers.md, by paper."""
    text = (ROOT / "docs/papers.md").read_text(encoding="utf-8").split("## Every sentence that states a result")[1]
    found = {}
    for part in text.split("### ")[1:]:
        rows = re.findall(r"^\| ([\dIVX][\w.-]*) \| (.+?) \| (.+) \|$", part, re.MULTILINE)
        found[part.partition("\n")[0].split()[0].lower()] = rows
    return found


def test_every_sentence_has_an_exhibit_or_a_reason_and_every_claim_its_sentence():
    listed = sentences()
    assert set(listed) == {"spidercast", "stan", "gossip", "feverfew", "omen"}
    for paper, rows in listed.items():
        quotes = {f"{section}: {quote}": where for section, quote, where in rows}
        exhibits = {name: exhibit for name, exhibit in all_exhibits().items() if name.startswith(f"{paper}/")}
        for where in quotes.values():
            assert where.startswith(("none: ", "judged with")) or set(re.findall(r"`(\w+/[\w-]+)`", where)) <= set(
                exhibits
            )
        for name, exhibit in exhibits.items():
            for source in claim_sources(exhibit).values():
                assert source.startswith("ours") or source in quotes, f"{name}: {source} is not in docs/papers.md"


@pytest.mark.parametrize("paper", ["spidercast", "stan", "gossip", "feverfew", "omen"])
def test_quoted_sentences_stand_in_the_paper(paper):
    path = ROOT.parent / "shared" / "papers" / f"{paper}.txt"
    if not path.is_file():
        pytest.skip("the texts of the papers are not beside this repository")
    text = plain(path.read_text(encoding="utf-8"))
    for section, quote, _ in sentences()[paper]:
        assert plain(quote) in text, f"{section}: {quote}"


def test_a_claim_about_a_series_that_does_not_exist_is_refused():
    claim = Claim("it falls", lambda values: steps(values, ["no such series"], rising=False))
    with pytest.raises(ValueError, match="fig12 has no series 'no such series'"):
        judge(replace(FIG12, claims=(claim,)), False, as_published())


def test_settings_that_no_paper_gives_are_marked_as_chosen():
    assert "gamma" in chosen_settings(all_exhibits()["gossip/fig1"])
    assert "5,000 nodes" in chosen_settings(all_exhibits()["gossip/fig4"])
    assert "b = 1, 1.2, 1.5" in chosen_settings(all_exhibits()["gossip/fig6"])
    assert "10,000 nodes" in chosen_settings(all_exhibits()["spidercast/fig7-diameter"])
    assert "fitted" in chosen_settings(all_exhibits()["stan/table3"])
    assert chosen_settings(FIG12) == ""


@pytest.mark.parametrize(
    ("published", "measured", "expected"),
    [(10, 10.19, "met"), (10, 10.21, "missed"), (10, 9.81, "met"), (0, 0, "met"), (0, 1, "missed")],
)
def test_a_value_is_met_within_its_tolerance(published, measured, expected):
    assert compare(published, measured, 0.02)[1] == expected


def test_a_deviation_from_a_published_zero_is_not_a_percentage():
    assert [show_deviation(value) for value in (None, 0.1, compare(0, 1, 0.02)[0])] == ["", "+10.0%", "from zero"]


@pytest.mark.parametrize(
    "measured",
    [
        pytest.param([("a", 1, 0.0), ("a", 2, 0.0), ("b", 1, 0.0)], id="all zero"),
        pytest.param([("a", 1, 3.0), ("b", 1, 3.0)], id="one place"),
        pytest.param([(name, x, 10.0 + x) for name in "abc" for x in (1, 2)] + [("far", 1, 90.0)], id="far curve"),
        pytest.param([("a", 1, 2.0)] * 3, id="seeds alike"),
    ],
)
@pytest.mark.parametrize("log_y", [False, True])
def test_any_values_can_be_drawn_and_equal_values_give_equal_pictures(measured, log_y, tmp_path):
    exhibit = replace(FIG12, name="spidercast/fig7a", claims=(), log_y=log_y)
    outcome = judge(exhibit, True, [(Point(series, float(x), RUN), y) for series, x, y in measured])
    drawn = [path.read_bytes() for path in draw(outcome, tmp_path)]
    assert [path.read_bytes() for path in draw(outcome, tmp_path)] == drawn


def test_the_interval_of_the_mean_follows_students_t():
    point = Point("a", 1.0, RUN)
    exhibit = replace(FIG12, name="spidercast/fig7a", claims=())
    (value,) = judge(exhibit, False, [(point, 1.0), (point, 2.0), (point, 3.0)]).values
    # Standard deviation 1, three values, t = 4.303.
    assert (value.measured, value.seeds) == (2.0, 3)
    assert value.high - value.measured == pytest.approx(4.303 / 3**0.5)


def test_a_claim_that_fails_makes_the_exhibit_missed():
    point = Point("a", 1.0, RUN)
    for holds, verdict in ((True, "met"), (False, "missed")):
        exhibit = replace(FIG12, name="spidercast/fig7a", claims=(Claim("so it is", lambda _, holds=holds: holds),))
        assert judge(exhibit, False, [(point, 1.0)]).verdict == verdict


def test_a_point_may_have_its_own_measure_and_a_prediction(tmp_path):
    exhibit = replace(FIG12, name="spidercast/fig7a", claims=(), measure=lambda metrics: metrics["degree"])
    own = Point("b", 1.0, RUN, lambda metrics: metrics["other"], 8.0)
    metrics = {"degree": 3.0, "other": 9.0}
    points = [Point("a", 1.0, RUN), own]
    outcome = judge(exhibit, False, [(point, measured_at(exhibit, point, metrics)) for point in points])
    assert [(value.measured, value.expected) for value in outcome.values] == [(3.0, None), (9.0, 8.0)]
    assert as_expected(outcome.values, 0.13)
    assert not as_expected(outcome.values, 0.12)
    assert all(path.stat().st_size for path in draw(outcome, tmp_path))


def values_of(*numbers):
    return [SeriesValue("a", float(x), 1, y, y - 0.1, y + 0.1, None, None, None) for x, y in enumerate(numbers)]


def test_a_curve_falls_if_it_ends_lower_and_never_rises_beyond_its_intervals():
    assert falls(values_of(5, 4, 3), "a")
    assert falls(values_of(5, 4, 4.05), "a")
    assert not falls(values_of(5, 4, 4.5), "a")
    assert not falls(values_of(5, 5, 5), "a")


@pytest.mark.parametrize("name", sorted(all_exhibits()))
def test_every_exhibit_has_valid_runs_and_a_source(name):
    exhibit: Exhibit = all_exhibits()[name]
    assert published_source(exhibit), f"{name} has no entry in published.toml"
    for quick in (True, False):
        points = exhibit.points(quick)
        assert points
        for point in points:
            assert point.measure or exhibit.measure, f"{point.series} has no measure"
            system = find_system(point.run.system)
            if isinstance(point.run, Run):
                read_parameters(system, point.run.parameters)
            else:
                function = getattr(load(system.experiments), point.run.name)
                inspect.signature(function).bind(seed=point.run.seed, **point.run.arguments, **point.run.data)
    assert len(exhibit.points(True)) < len(exhibit.points(False))
    assert exhibit.left_out
    measured = {(point.series, point.x) for point in exhibit.points(False)}
    assert set(published_values(exhibit)) <= measured, "a published value that nothing is compared with"


def test_an_exhibit_is_found_by_its_name_its_paper_and_all():
    assert [exhibit.name for exhibit in find_exhibits("spidercast/fig12")] == ["spidercast/fig12"]
    assert find_exhibits("all") == list(all_exhibits().values())
    papers = {name.partition("/")[0] for name in all_exhibits()}
    assert papers == {"spidercast", "stan", "gossip", "planners", "feverfew", "omen"}
    by_paper = {exhibit.name for paper in papers for exhibit in find_exhibits(paper)}
    assert by_paper == {exhibit.name for exhibit in find_exhibits("all")}
    with pytest.raises(InputError, match="did you mean spidercast/fig"):
        find_exhibits("spidercast/fig21")


def test_reproduce_writes_table_picture_and_verdict_and_reuses_stored_runs(monkeypatch, capsys, tmp_path):
    small = WorkloadLaw(nodes=60, topics=10, subscriptions="3", popularity="rss")

    def points(quick):
        return [
            Point(series, 1000.0, Run(system=system, seed=seed, workload=small))
            for series, system in (("SpiderCast (3,0)", "spidercast"), ("random(10)", "random"))
            for seed in (1, 2)
        ]

    monkeypatch.setitem(all_exhibits(), "spidercast/fig12", replace(FIG12, points=points, claims=()))
    monkeypatch.chdir(tmp_path)

    def reproduce():
        monkeypatch.setattr(
            sys,
            "argv",
            ["gossamer", "reproduce", "spidercast/fig12", "--quick", "--json", "--out", "r", "--html", "all.html"],
        )
        with pytest.raises(SystemExit) as ended:
            cli.main()
        assert ended.value.code == 0
        return json.loads(capsys.readouterr().out)

    (first,) = reproduce()
    folder = tmp_path / "r" / "spidercast" / "fig12"
    stem = "spidercast-fig12"
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        ["manifest.json", f"{stem}.png", f"{stem}.svg", "values.csv", "values.parquet", "verdict.json"]
    )
    assert first["verdict"] == "missed"  # sixty nodes are not a thousand
    assert first["cpu_seconds"] > 0
    page = (tmp_path / "all.html").read_text()
    for part in (
        "spidercast/fig12: missed",
        "gossamer reproduce spidercast/fig12 --quick",
        "left out",
        "data:image/svg",
    ):
        assert part in page
    table = pq.read_table(folder / "values.parquet").to_pylist()
    assert [row["measured"] for row in table] == [value["measured"] for value in first["values"]]
    with (folder / "values.csv").open() as file:
        assert [float(row["measured"]) for row in csv.DictReader(file)] == [row["measured"] for row in table]
    kept = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "r" / "runs").iterdir()}
    assert len(kept) == 4
    assert reproduce() == [first]
    assert kept == {path.name: path.stat().st_mtime_ns for path in (tmp_path / "r" / "runs").iterdir()}


def test_a_page_in_a_folder_that_does_not_exist_is_refused_before_any_run(gossamer, tmp_path):
    code, _, complaint = gossamer("reproduce", "gossip/fig6", "--quick", "--html", "no/such/page.html")
    assert code == 2
    assert "--html no/such/page.html" in complaint
    assert not list(tmp_path.iterdir())


def test_reproduce_lists_every_exhibit(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["gossamer", "reproduce", "list", "--json"])
    with pytest.raises(SystemExit):
        cli.main()
    assert {entry["name"] for entry in json.loads(capsys.readouterr().out)} == set(all_exhibits())


def test_every_system_of_the_exhibits_is_listed():
    systems = {point.run.system for exhibit in all_exhibits().values() for point in exhibit.points(True)}
    assert systems <= set(all_systems())


def small(run):
    """The run on forty nodes, for a short time."""
    law = run.workload
    if isinstance(law, WorkloadLaw):
        subscriptions = law.subscriptions if ":" in law.subscriptions else str(min(int(law.subscriptions), 5))
        law = structs.replace(law, nodes=40, topics=min(law.topics, 20), subscriptions=subscriptions)
    else:
        law = structs.replace(law, nodes=40, topics=20)
    parameters = {**run.parameters, "degree": "poisson:3"} if "degree" in run.parameters else run.parameters
    until_us = None if run.until_us is None else min(run.until_us, 3_000_000)
    return structs.replace(
        run, workload=law, parameters=parameters, until_us=until_us, event_count=min(run.event_count, 5)
    )


@pytest.mark.parametrize(
    "name",
    [
        *("spidercast", "stan/table1", "stan/table2", "stan/fig2", "stan/fig3", "stan/table3"),
        *("planners/average-degree", "gossip/fig4", "gossip/fig7"),
    ],
)
def test_every_measure_finds_its_metric_although_a_run_measures_only_what_is_needed(name):
    kept = {}
    for exhibit in find_exhibits(name):
        points = {(point.series, point.quantity): point for point in exhibit.points(True)}
        for point in points.values():
            if "10:" in str(getattr(point.run.workload, "subscriptions", "")) or point.run.until_us:
                continue
            run = small(point.run)
            metrics = kept.get(run_key(run)) or run_metrics(run)
            kept[run_key(run)] = metrics
            assert measured_at(exhibit, point, metrics) >= 0
            assert exhibit.spread is None or exhibit.spread(metrics) >= 0
