"""Section 3.8: nodes that come and go, each time with a new interest."""

from collections.abc import Sequence

from gossamer.analysis.exhibits.harness import Claim, Exhibit, Point, SeriesValue, curve
from gossamer.model.values.run import Run
from gossamer.model.values.time import MILLISECOND_US, SECOND_US
from gossamer.systems.spidercast.exhibits.settings import (
    PAPER,
    QUICK_SEEDS,
    law,
    metric,
)

LIFE_TIMES = (100, 200, 300, 400, 500)
# Nodes in all, and those present on average.
POPULATIONS = {1250: "1,000 present", 2500: "2,000 present"}
SEEDS = (1, 2, 3)
LEFT_OUT = "2,500 nodes, mean life times other than 300 s, the last 600 s, seed 3"


def _points(quick: bool) -> list[Point]:
    found = []
    for nodes in (1250,) if quick else POPULATIONS:
        for life in (300,) if quick else LIFE_TIMES:
            for seed in QUICK_SEEDS if quick else SEEDS:
                run = Run(
                    system="spidercast",
                    # A cycle is a maintenance period here, so that a newcomer has the paper's 2 s to settle.
                    parameters={**PAPER, "heartbeat_us": 100 * MILLISECOND_US},
                    seed=seed,
                    workload=law(nodes),
                    until_us=(400 if quick else 1000) * SECOND_US,
                    churn=f"exp:{life}s/exp:{life / 4:g}s",
                )
                found.append(Point(POPULATIONS[nodes], float(life), run))
    return found


def _is_flat(values: Sequence[SeriesValue]) -> bool:
    """Whatever the life time, the degree is the same within 5%."""
    return all(
        max(point.measured for point in curve(values, name))
        <= 1.05 * min(point.measured for point in curve(values, name))
        for name in {value.series for value in values}
    )


EXHIBITS = (
    Exhibit(
        name="spidercast/fig11",
        title="Average degree under churn",
        x_label="mean life time (s)",
        y_label="average degree (links)",
        measure=metric("snapshot_average_degree"),
        points=_points,
        left_out=LEFT_OUT,
        tolerance=0.05,
        claims=(Claim("the degree does not depend on the churn rate (within 5%)", _is_flat),),
        remark=(
            "What sets the degree is how often DISCONNECT is asked: as we read it (degree >= target, again when the neighbour's "
            "state has changed) 11.6 and 11.0; each neighbour once in the life of a link 12.2 and 11.5; besides, a covered node "
            "woken only by the loss of a neighbour (Figure 4, lines 34-38) 12.4 to 12.6 and 11.8 to 12.0; Figure 3's degree > "
            "target, by which hardly anybody is ever asked, 15.0 and 14.1. The third is the only one of some sixty readings and "
            "settings tried that also meets 3.8.1 (36 and 34) and Figure 12 (10.84 to 9.03), but it was found by search: what the "
            "authors ran stays unexplained. Quarantines of 1 and 20 s, turns of 50 ms to 1 s, other moments of the snapshots "
            "and newcomers counted move ours by 0.1 at most."
        ),
    ),
    Exhibit(
        name="spidercast/fig11-partitions",
        title="Partitioned topics under churn, all snapshots together",
        x_label="mean life time (s)",
        y_label="partitioned topics (all snapshots)",
        measure=metric("snapshot_partitioned_topics"),
        points=_points,
        left_out=LEFT_OUT,
        claims=(
            Claim(
                "all topics are connected in all snapshots", lambda values: all(value.measured == 0 for value in values)
            ),
        ),
        remark=(
            "Holds with turns of 50, 100 and 200 ms; with turns of 500 ms and 1 s, too long for the 2 s that newcomers are given, 3 "
            "and 16 topics are parted in three snapshots (1,000 present, 300 s), and with newcomers counted at 100 ms 6."
        ),
    ),
    Exhibit(
        name="spidercast/sec381",
        title="Control messages per join or leave",
        x_label="mean life time (s)",
        y_label="control messages per join or leave",
        measure=metric("control_messages_per_join_or_leave"),
        points=_points,
        left_out=LEFT_OUT,
        tolerance=0.1,
        remark=(
            "Of our 76 and 69, 48 and 43 are DISCONNECT requests, more than nine in ten of them refused: each neighbour asked once "
            "in the life of a link gives 40 and 38, besides a covered node woken only by the loss of a neighbour 36 and 34 (and "
            "Figures 11 and 12 are met too), degree > target 22 and 21; at 1,000 present a request repeated every turn gives above "
            "1,100, and heartbeats only every 1, 5 and 10 s still 66, 60 and 56. Ours unchanged gives 37.5 and 35.2 if CONNECT and "
            "its replies alone are counted, for a join with its leave. Which of the two the paper did stays unexplained."
        ),
    ),
)
