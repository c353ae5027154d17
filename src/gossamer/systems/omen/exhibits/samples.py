"""Figure 7: samples of social graphs keep the shape of the numbers of followers and followees."""

from collections.abc import Callable, Sequence

from gossamer.analysis.exhibits.harness import Claim, Exhibit, Metrics, Point, SeriesValue
from gossamer.systems.omen.exhibits.settings import FOLLOWERS, GRAPHS, SEEDS, follows

COUNTS = (1, 3, 10, 30, 100, 300, 1_000)
SAMPLE, QUICK_SAMPLE = 10_000, 1_000
# ego-facebook has 4,039 users; the two larger graphs are sampled to 10,000 as in the paper.
SAMPLED = tuple(name for name in (*GRAPHS, *FOLLOWERS) if name != "ego-facebook")
# Chosen: how many percent of the users a sample may differ by, at any count.
MARGIN = 10.0


def _at(name: str, place: int) -> Callable[[Metrics], float]:
    return lambda metrics: float(metrics[name][place])


def _shares(quick: bool) -> list[Point]:
    found = []
    for graph in SAMPLED:
        for seed in SEEDS[:1] if quick else SEEDS[:3]:
            run = follows(graph, seed, QUICK_SAMPLE if quick else SAMPLE, COUNTS)
            for of in ("graph", "sample"):
                # Friendship is mutual: followers and followees are the same users.
                for kind in ("followers", "followees") if graph in FOLLOWERS else ("followers",):
                    series = f"{graph}, {of}: {kind if graph in FOLLOWERS else 'friends'}"
                    found += [
                        Point(series, float(count), run, _at(f"{of}: {kind}", place))
                        for place, count in enumerate(COUNTS)
                    ]
    return found


def _keeps_shape(values: Sequence[SeriesValue]) -> bool:
    whole = {(value.series, value.x): value.measured for value in values if ", graph: " in value.series}
    return all(
        abs(value.measured - whole[value.series.replace(", sample: ", ", graph: "), value.x]) <= MARGIN
        for value in values
        if ", sample: " in value.series
    )


EXHIBITS = (
    Exhibit(
        name="omen/fig7",
        title="Users with at least so many followers or followees",
        x_label="followers or followees",
        y_label="percent of users",
        points=_shares,
        left_out="samples of 10,000 users (1,000 instead), seeds 2 and 3",
        claims=(Claim("a sample differs from its graph by at most 10% of the users", _keeps_shape),),
        log_x=True,
    ),
)
