"""OMen's repair of one churn event beside LowODA's new plan, which is what a user without repair would compute."""

import time
from statistics import mean

import numpy as np

from bench.report import show
from gossamer.planners.greedy import lowoda, plan
from gossamer.systems.omen.parameters import OmenGParameters
from gossamer.systems.omen.sequential import MendedOverlay
from gossamer.workloads.samples import make_churn_events
from gossamer.workloads.social import SocialLaw, interests_of_graph, make_social_graph

SIZES = (300, 1_000, 4_000)
EVENTS = 200
# New plans are timed at every so many events.
EVERY = 50


def run() -> None:
    """Time repairs and new plans on generated friend graphs."""
    rows = []
    # The first size twice: the first time compiles.
    for nodes in (SIZES[0], *SIZES):
        interest = interests_of_graph(*make_social_graph(nodes, SocialLaw(mean_degree=20.0), False, 1), nodes, False)
        absent, churn = make_churn_events(nodes, EVENTS, 1)
        present = np.ones(nodes, np.bool_)
        present[absent] = False
        overlay = plan(interest.among(present), lowoda(3.0))
        mended = MendedOverlay(OmenGParameters(), 1, interest, overlay, absent.tolist())
        times: dict[str, list[float]] = {"leave": [], "join": [], "renew": [], "anew": []}
        shadows = []
        for number, (node, is_join) in enumerate(churn.tolist()):
            began = time.perf_counter()
            done = mended.join(node) if is_join else mended.leave(node)
            times["join" if is_join else "leave"].append(time.perf_counter() - began)
            shadows.append(done.shadow_size)
            began = time.perf_counter()
            mended.renew()
            times["renew"].append(time.perf_counter() - began)
            present[node] = is_join
            if number % EVERY == 0:
                among = interest.among(present)
                began = time.perf_counter()
                plan(among, lowoda(3.0))
                times["anew"].append(time.perf_counter() - began)
        found = {name: 1_000 * mean(values) for name, values in times.items()}
        share = (found["leave"] + found["join"]) / 2 / found["anew"]
        figures = [f"{found[name]:.2f}" for name in ("leave", "join", "renew", "anew")]
        rows.append([f"{nodes:,}", f"{mean(shadows):.0f}", *figures, f"{share:.2%}"])
    show(
        f"OMen, friend graphs of mean degree 20, {EVENTS} churn events",
        ["nodes", "shadow set", "leave ms", "join ms", "backup sets ms", "new plan ms", "repair / new plan"],
        rows[1:],
        "Wanted: at most 1% at 1,000 nodes. Backup sets are chosen in the background, between events.",
    )
