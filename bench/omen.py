"""OMen's repair of one churn event beside LowODA's new plan, which is what a user without repair would compute."""

import os
import resource
from collections.abc import Iterator
from pathlib import Path
from statistics import mean
from time import process_time

import numpy as np

from bench.report import show
from gossamer.model.arrays.interest import Interest
from gossamer.planners.greedy import lowoda, plan
from gossamer.simulator.measure import disconnected_topics
from gossamer.simulator.population import CycleChanges
from gossamer.systems.omen.exhibits.settings import GRAPHS
from gossamer.systems.omen.experiments import STARTS
from gossamer.systems.omen.parameters import OmenGParameters, OmenParameters
from gossamer.systems.omen.population import OmenPopulation
from gossamer.systems.omen.sequential import MendedOverlay
from gossamer.workloads.interests import make_interests
from gossamer.workloads.samples import make_churn_events, sample_graph
from gossamer.workloads.social import SocialLaw, interests_of_graph, make_social_graph

SIZES = (300, 1_000, 4_000, 10_000)
# The folder of the real data sets, if it exists, and the samples of its graphs.
DATA = Path(os.environ.get("GOSSAMER_DATA", "../shared/data"))
SAMPLES = (("ego-facebook", 1_000), ("Cornell", 1_000), ("Cornell", 10_000))
LARGE = (10_000, 30_000, 100_000)
EVENTS = 200
# New plans are timed at every so many events.
EVERY = 50


def run() -> None:
    """Time repairs and new plans on friend graphs, generated and real."""
    rows = [_row(name, interest) for name, interest in _graphs()]
    show(
        f"OMen, {EVENTS} churn events, CPU time",
        ["friend graph", "shadow set", "leave ms", "join ms", "backup sets ms", "new plan ms", "repair / new plan"],
        # The first row compiles.
        rows[1:],
        "Wanted: at most 1% at 1,000 nodes and 0.02% at 10,000. Backup sets are chosen in the background, between events.",
    )


def run_large() -> None:
    """The kernel of `omen` (`OmenPopulation`) from 10,000 to 100,000 nodes: a plan, then one event after another."""
    rows = []
    for nodes in LARGE:
        interest = make_interests(nodes, nodes // 10, "20", "zipf:0.5", seed=1)
        absent, churn = make_churn_events(nodes, EVENTS, 1)
        began = process_time()
        parameters = OmenParameters(choices=1, drops=False)
        population = OmenPopulation(parameters, 1, interest, absent.tolist())
        started = process_time()
        for node, is_join in churn.tolist():
            population.cycle(CycleChanges(joiners=(node,)) if is_join else CycleChanges(crashes=(node,)))
        ended = process_time()
        present = np.array(population.mended.present)
        overlay = population.overlay()
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        figures = [f"{started - began:.0f}", f"{1_000 * (ended - started) / EVENTS:.1f}", f"{memory:.2f} GiB"]
        parted = disconnected_topics(overlay, interest.among(present))
        rows.append([f"{nodes:,}", f"{nodes // 10:,}", *figures, str(overlay.degrees.max()), str(parted)])
    show(
        f"The kernel of omen, 20 topics a node (Zipf 0.5), {EVENTS} churn events, CPU time of one core",
        ["nodes", "topics", "start s", "event ms", "peak memory", "maximum degree", "disconnected topics"],
        rows,
        "The start is LowODA's plan. An event's time includes the choice of its backup set.",
    )


def _graphs() -> Iterator[tuple[str, Interest]]:
    """The first size twice: the first time compiles."""
    for nodes in (SIZES[0], *SIZES):
        graph = make_social_graph(nodes, SocialLaw(mean_degree=20.0), False, 1)
        yield f"generated, mean degree 20, {nodes:,} nodes", interests_of_graph(*graph, nodes, False)
    for name, nodes in SAMPLES:
        if (DATA / GRAPHS[name]).is_file():
            yield f"{name}, {nodes:,} nodes", sample_graph(DATA / GRAPHS[name], nodes, STARTS, 1, directed=False)
        else:
            print(f"no real data at {DATA} (set GOSSAMER_DATA): {name} is left out\n")


def _row(name: str, interest: Interest) -> list[str]:
    absent, churn = make_churn_events(interest.node_count, EVENTS, 1)
    present = np.ones(interest.node_count, np.bool_)
    present[absent] = False
    overlay = plan(interest.among(present), lowoda(3.0))
    mended = MendedOverlay(OmenGParameters(), 1, interest, overlay, absent.tolist())
    times: dict[str, list[float]] = {"leave": [], "join": [], "renew": [], "anew": []}
    shadows = []
    for number, (node, is_join) in enumerate(churn.tolist()):
        began = process_time()
        done = mended.join(node) if is_join else mended.leave(node)
        times["join" if is_join else "leave"].append(process_time() - began)
        shadows.append(done.shadow_size)
        began = process_time()
        mended.renew()
        times["renew"].append(process_time() - began)
        present[node] = is_join
        if number % EVERY == 0:
            among = interest.among(present)
            began = process_time()
            plan(among, lowoda(3.0))
            times["anew"].append(process_time() - began)
    found = {name: 1_000 * mean(values) for name, values in times.items()}
    share = (found["leave"] + found["join"]) / 2 / found["anew"]
    figures = [f"{found[name]:.2f}" for name in ("leave", "join", "renew", "anew")]
    return [name, f"{mean(shadows):.0f}", *figures, f"{share:.3%}"]
