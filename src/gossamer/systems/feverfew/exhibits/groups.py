"""Real memberships: coverage and links on the groups of YouTube, in place of the paper's crawl of Douban."""

from collections.abc import Callable, Sequence

from gossamer.analysis.exhibits.harness import Claim, Exhibit, Metrics, Point, SeriesValue
from gossamer.model.values.run import Experiment
from gossamer.systems.feverfew.exhibits.settings import CONSTANT, CYCLES, PLACES, SYSTEM, last

# A. Mislove et al., Measurement and analysis of online social networks, IMC 2007.
FILE = "youtube-groups/release-youtube-groupmemberships.txt.gz"
SHOWN = (10, 20, 30, 40, 48, CYCLES)
FEVERFEW, GLOBAL, SPIDERCAST = "Feverfew", "Global", "SpiderCast (3,1)"
COVERED, LINKS = "covered subscriptions (%)", "links per subscription"


def _run(seed: int, cycles: int, **parameters: object) -> Experiment:
    arguments = {"parameters": {**PLACES, **parameters}, "cycles": cycles}
    return Experiment(system=SYSTEM, name="cover_groups", arguments=arguments, data={"groups": FILE}, seed=seed)


def _points(quick: bool) -> list[Point]:
    shown = SHOWN[:1] if quick else SHOWN
    ours, x = _run(1, shown[-1]), float(shown[-1])
    found = [Point(f"{FEVERFEW}, {COVERED}", float(cycle), ours, _covered_after(cycle)) for cycle in shown]
    found.append(Point(f"{FEVERFEW}, {LINKS}", x, ours, last("links_per_subscription")))
    if not quick:
        others = {
            SPIDERCAST: _run(1, CYCLES, **CONSTANT),
            GLOBAL: Experiment(system=SYSTEM, name="cover_groups_globally", data={"groups": FILE}, seed=1),
        }
        for name, run in others.items():
            found.append(Point(f"{name}, {LINKS}", x, run, last("links_per_subscription")))
    return found


def _covered_after(cycle: int) -> Callable[[Metrics], float]:
    def measure(metrics: Metrics) -> float:
        return 100.0 * float(metrics["covered_share"][cycle - 1])

    return measure


def _at(values: Sequence[SeriesValue], series: str) -> float | None:
    return next((value.measured for value in values if value.series == series and value.x == CYCLES), None)


def _is_covered(values: Sequence[SeriesValue]) -> bool | None:
    found = _at(values, f"{FEVERFEW}, {COVERED}")
    return None if found is None else found >= 99.5


def _has_at_most(values: Sequence[SeriesValue], other: str, factor: float) -> bool | None:
    ours, theirs = _at(values, f"{FEVERFEW}, {LINKS}"), _at(values, f"{other}, {LINKS}")
    return None if ours is None or theirs is None else ours <= factor * theirs


EXHIBITS = (
    Exhibit(
        name="feverfew/groups",
        title="Coverage and links on real memberships (YouTube groups)",
        x_label="cycle",
        y_label="percent; links",
        points=_points,
        left_out="cycles after 10, SpiderCast and Global",
        claims=(
            Claim("99.5% of the subscriptions are covered after 56 cycles", _is_covered),
            Claim(
                "Feverfew has at most 12% more links than nodes that know all", lambda v: _has_at_most(v, GLOBAL, 1.12)
            ),
            Claim("Feverfew has fewer links than SpiderCast (3,1)", lambda v: _has_at_most(v, SPIDERCAST, 0.9999)),
        ),
    ),
)
