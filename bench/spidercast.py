"""SpiderCast: kernel and machine at 10,000 nodes, growth with nodes, topics and subscriptions, and a million nodes."""

import resource
import time

from bench.report import show
from gossamer.kernels.measures import topic_components
from gossamer.protocols.contract.system import load, read_parameters
from gossamer.simulator.lockstep import Lockstep
from gossamer.systems import find_system
from gossamer.workloads.interests import make_interests

CYCLES = 60


def run() -> None:
    """Wanted: 0.6 s for the kernel and 25 s for the machine at 10,000 nodes; growth as measured."""
    _kernel(200, 100, 10)
    interest = make_interests(10_000, 100, "10", "rss", seed=1)
    system = find_system("spidercast")
    rows = []
    protocols: dict[str, dict[str, int]] = {"the paper's (mend_us=0)": {"mend_us": 0}, "default (mends topics)": {}}
    for name, chosen in protocols.items():
        kernel = min(_kernel(10_000, 100, 10, chosen) for _ in range(3))
        driver = Lockstep(system, read_parameters(system, chosen), 1, 10_000, 0, interest)
        began = time.perf_counter()
        driver.start()
        for _ in range(CYCLES):
            driver.cycle()
        machine = time.perf_counter() - began
        rows.append([name, f"{kernel:.2f} s", f"{machine:.1f} s", f"{machine / kernel:.0f}x"])
    show(
        f"SpiderCast, 10,000 nodes, 10 of 100 topics, full view, {CYCLES} cycles, one core: the same links",
        ["protocol", "kernel", "machine", "ratio"],
        rows,
        "Wanted: under 0.6 s and under 25 s.",
    )
    growth = {
        "nodes": [(count, 100, 10) for count in (5_000, 10_000, 20_000)],
        "topics": [(10_000, count, 10) for count in (100, 300, 1_000)],
        "subscriptions": [(10_000, 200, count) for count in (10, 20, 40)],
    }
    rows = []
    for what, settings in growth.items():
        for nodes, topics, subscriptions in settings:
            elapsed = _kernel(nodes, topics, subscriptions)
            rows.append([what, f"{nodes:,}", f"{topics:,}", str(subscriptions), f"{elapsed:.2f} s"])
    show(
        "How the kernel's cost grows, full view: quadratic in nodes (a CONNECT reads n/64 words for each topic)",
        ["grown", "nodes", "topics", "subscriptions", "time"],
        rows,
    )


def _kernel(nodes: int, topics: int, subscriptions: int, settings: dict[str, int] | None = None) -> float:
    interest = make_interests(nodes, topics, str(subscriptions), "rss", seed=1)
    simulated = find_system("spidercast")
    assert simulated.population is not None
    began = time.perf_counter()
    population = load(simulated.population)(read_parameters(simulated, settings or {}), 1, interest, (), 0)
    for _ in range(CYCLES):
        population.cycle()
    return time.perf_counter() - began


def run_million() -> None:
    """A million nodes, 10 of 1,000 topics, views of 1,000 peers, 40 cycles; wanted: under 4 minutes and 6 GiB."""
    simulated = find_system("spidercast")
    assert simulated.population is not None
    rows = []
    sizes = [(100_000, 0), (300_000, 0), (1_000_000, 0), (1_000_000, 15_000_000)]
    for nodes, mend_us in sizes:
        interest = make_interests(nodes, 1_000, "10", "rss", seed=1)
        parameters = read_parameters(simulated, {"view": 1_000 / nodes, "mend_us": mend_us})
        began = time.perf_counter()
        population = load(simulated.population)(parameters, 1, interest, (), 0)
        ready = time.perf_counter()
        for _ in range(40):
            population.cycle()
        ended = time.perf_counter()
        overlay = population.overlay()
        arrays = (interest.topic_starts, interest.topic_nodes, overlay.starts, overlay.neighbours)
        connected = int((topic_components(*arrays, 0, 1_000)[0] == 1).sum())
        covered = float((population.tasks[0].uncovered == 0).mean())
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        times = f"{ready - began:.0f} + {ended - ready:.0f} s"
        rows.append(
            [
                f"{nodes:,}",
                "default" if mend_us else "the paper's",
                times,
                f"{memory:.1f} GiB",
                f"{covered:.1%}",
                f"{connected} of 1,000",
            ]
        )
    show(
        "SpiderCast kernel, 10 of 1,000 topics, views of 1,000 peers, 40 cycles, one core",
        ["nodes", "protocol", "views + cycles", "peak memory", "covered nodes", "connected topics"],
        rows,
        "Wanted at 1,000,000 nodes: under 240 s and 6 GiB.",
    )
