"""StAN: the kernel at three sizes, how it grows, and against its own machine."""

from math import log
from time import perf_counter

from bench.report import resident_bytes, seconds, show
from gossamer.model.arrays.interest import Interest
from gossamer.model.values.run import GridLaw
from gossamer.simulator.lockstep import Lockstep
from gossamer.simulator.view_measures import measure_views
from gossamer.systems import find_system
from gossamer.systems.stan.parameters import StanParameters
from gossamer.systems.stan.population import StanPopulation
from gossamer.workloads.interests import make_grid_interests, make_interests

TOPICS = 1_000
CYCLES = 20
COLUMNS = ["nodes", "subscriptions", "start", "cycles", "a walk", "distinct peers", "memory"]


def run() -> None:
    """Seconds for 20 cycles at 10,000, 30,000 and 100,000 nodes, 20 of 1,000 topics each; and against the machine."""
    rows = []
    before: tuple[int, float] | None = None
    for node_count in (10_000, 30_000, 100_000):
        row, took = _measure(make_interests(node_count, TOPICS, "20", "rss", 1), CYCLES)
        grows = "" if before is None else f"{log(took / before[1]) / log(node_count / before[0]):.2f}"
        before = (node_count, took)
        rows.append([*row, grows])
    show(
        f"StAN kernel, 20 of {TOPICS:,} topics (rss), {CYCLES} cycles, one core",
        [*COLUMNS, "exponent"],
        rows,
        "The exponent is the growth of time with nodes since the line above.",
    )
    node_count = 500
    interest = make_interests(node_count, 50, "8", "rss", 1)
    driver = Lockstep(find_system("stan"), StanParameters(), 1, node_count, 0, interest)
    driver.start()
    machine = interest.subscription_count / seconds(driver.cycle)
    population = StanPopulation(StanParameters(), 1, interest)
    kernel = interest.subscription_count / seconds(population.cycle, 10)
    show(
        "StAN, kernel against machine, 500 nodes, the same views",
        ["machine", "kernel", "ratio"],
        [[f"{machine:,.0f} walks/s", f"{kernel:,.0f} walks/s", f"{kernel / machine:,.0f}x"]],
    )


def run_large() -> None:
    """Measure the paper's workload at 100,000 nodes and 1,000 topics: 76 topics a node, ten cycles."""
    row, _ = _measure(make_grid_interests(GridLaw(nodes=100_000, topics=TOPICS), 1), 10)
    show("StAN kernel on the paper's plane, 10 cycles, one core", COLUMNS, [row])


def _measure(interest: Interest, cycles: int) -> tuple[list[str], float]:
    """A row of the table, and the seconds that the cycles took."""
    began = perf_counter()
    population = StanPopulation(StanParameters(), 1, interest)
    started = perf_counter()
    first = measure_views(population.views(), interest)
    cycling = perf_counter()
    for _ in range(cycles):
        population.cycle()
    took = perf_counter() - cycling
    last = measure_views(population.views(), interest)
    row = [
        f"{interest.node_count:,}",
        f"{interest.subscription_count:,}",
        f"{started - began:.1f} s",
        f"{took:.1f} s",
        f"{took / cycles / interest.subscription_count * 1e6:.2f} us",
        f"{first.unique.mean():.0f} -> {last.unique.mean():.0f} of {last.total.mean():.0f}",
        f"{resident_bytes() / 2**30:.1f} GiB",
    ]
    return row, took
