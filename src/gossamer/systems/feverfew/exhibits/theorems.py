"""Figures 3, 6 and 7: the two theorems, for several numbers of samples, and simulations beside them."""

from collections.abc import Sequence

from gossamer.analysis.exhibits.harness import Claim, Exhibit, Point, SeriesValue, curve, falls
from gossamer.systems.feverfew.exhibits.settings import constant, formula
from gossamer.theory.coverage import bubble, ln_cover

SHUFFLES = (5, 10, 20)
TTL_SIZES = (2, 5, 10, 20, 50, 100, 200, 500, 1_000)
# Samples of a cycle: random nodes (c1) and similar nodes (c2).
SAMPLES = ((10, 40), (10, 20), (20, 40))
COVER_SIZES = (3, 5, 10, 20, 30, 40, 50, 100, 200, 500)
PAPER_SERIES = "section 3.2, c1 = 10, c2 = 40"


def _ttl_points(quick: bool) -> list[Point]:
    found = []
    for nodes in (10_000,) if quick else (10_000, 100_000):
        for shuffle in SHUFFLES:
            for size in TTL_SIZES:
                ttl = bubble(nodes, size, shuffle).ttl
                found.append(Point(f"{nodes:,} nodes, c = {shuffle}", float(size), formula(), constant(ttl)))
    return found


def _cover_points(nodes: int, quick: bool) -> list[Point]:
    found = []
    for random, similar in SAMPLES[:2] if quick else SAMPLES:
        for size in COVER_SIZES:
            cycles = ln_cover(nodes, size, random, similar)
            name = f"c1 = {random}, c2 = {similar}"
            found.append(Point(f"section 3.2, {name}", float(size), formula(), constant(cycles.cycles_section_3_2)))
            found.append(Point(f"as stated, {name}", float(size), formula(), constant(cycles.cycles_as_stated)))
    return found


def _falls_everywhere(values: Sequence[SeriesValue]) -> bool:
    return all(falls(values, name) for name in {value.series for value in values})


def _fewer_with_more_samples(values: Sequence[SeriesValue]) -> bool:
    """Whether more samples in a cycle give a lower curve at every topic size."""
    by_name: dict[tuple[str, int], dict[float, float]] = {}
    for value in values:
        numbers = [int(word.strip(",")) for word in value.series.split("= ")[1:] for word in [word.split()[0]]]
        key = value.series.split(", c")[0], sum(numbers)
        by_name.setdefault(key, {})[value.x] = value.measured
    return all(
        more[x] <= fewer[x]
        for (name, least), fewer in by_name.items()
        for (other, most), more in by_name.items()
        if name == other and least < most
        for x in fewer
    )


def _grows_slowly(values: Sequence[SeriesValue]) -> bool | None:
    """Whether ten times the nodes add at most log2 10 + 1 hops; None with one number of nodes."""
    found = [
        (small.measured, large.measured)
        for shuffle in SHUFFLES
        for small, large in zip(
            curve(values, f"10,000 nodes, c = {shuffle}"), curve(values, f"100,000 nodes, c = {shuffle}"), strict=False
        )
        # With two subscribers the theorem asks for more agents than there are nodes.
        if small.x > TTL_SIZES[0]
    ]
    return all(small < large <= small + 4.33 for small, large in found) if found else None


_CLAIMS = (
    Claim("the cycles fall with the size of the topic", _falls_everywhere),
    Claim("more samples in a cycle need fewer cycles", _fewer_with_more_samples),
)

EXHIBITS = (
    Exhibit(
        name="feverfew/fig3",
        title="Time to live of a search (Theorem 2)",
        x_label="topic size",
        y_label="TTL (hops)",
        points=_ttl_points,
        left_out="100,000 nodes",
        claims=(
            Claim("a smaller topic needs a higher TTL", _falls_everywhere),
            Claim("a longer shuffle needs a lower TTL", _fewer_with_more_samples),
            Claim("ten times the nodes need at most 4.3 hops more", _grows_slowly),
        ),
        log_x=True,
    ),
    Exhibit(
        name="feverfew/fig6",
        title="Cycles until a topic is ln-covered (Theorem 1), 10,000 nodes",
        x_label="topic size",
        y_label="cycles",
        points=lambda quick: _cover_points(10_000, quick),
        left_out="20 random and 40 similar nodes in a cycle",
        claims=_CLAIMS,
        log_x=True,
        log_y=True,
    ),
    Exhibit(
        name="feverfew/fig7",
        title="Cycles until a topic is ln-covered (Theorem 1), 100,000 nodes",
        x_label="topic size",
        y_label="cycles",
        points=lambda quick: _cover_points(100_000, quick),
        left_out="20 random and 40 similar nodes in a cycle",
        claims=_CLAIMS,
        log_x=True,
        log_y=True,
    ),
)
