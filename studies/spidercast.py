"""Readings of SpiderCast: each variant of the study file is judged on the published numbers of several exhibits.

python -m studies.spidercast --jobs 2       # about an hour of CPU time; runs are kept, so that it can be interrupted
"""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gossamer.model.values.progress import silent
from gossamer.model.values.run import Run, WorkloadLaw
from gossamer.simulator.pool import execute_all, run_key
from studies.tables import read_study, shown, write_table

NAME = "spidercast"
# Rivals run SpiderCast's code; they have these of its parameters.
RIVALS = ("paper", "ask_again", "wakes", "parts_above", "agrees_above", "margin")

Probe = tuple[str, float, float, Callable[[dict[str, Any], int], Run], str]


def _law(nodes: int, topics: int = 100, popularity: str = "rss") -> WorkloadLaw:
    return WorkloadLaw(nodes=nodes, topics=topics, subscriptions="10", popularity=popularity)


def _static(
    nodes: int, popularity: str = "rss", topics: int = 100, **more: Any
) -> Callable[[dict[str, Any], int], Run]:
    return lambda parameters, seed: Run(
        system="spidercast",
        parameters={**parameters, **more},
        seed=seed,
        workload=_law(nodes, topics, popularity),
        lengths=False,
    )


def _rival(system: str, **more: Any) -> Callable[[dict[str, Any], int], Run]:
    return lambda parameters, seed: Run(
        system=system,
        parameters={**{name: value for name, value in parameters.items() if name in RIVALS}, **more},
        seed=seed,
        workload=_law(1000),
        lengths=False,
    )


DEGREE, PARTED = "average_degree", "partitioned_topics"
# Name, published value, tolerance of the exhibit (0: the value itself), run, metric.
PROBES: tuple[Probe, ...] = (
    ("fig12, 1,000", 10.81, 0.02, _static(1000), DEGREE),
    ("fig12, 4,000", 9.53, 0.02, _static(4000), DEGREE),
    ("fig12, random(10), 1,000", 10.82, 0.02, _rival("random", links=10), DEGREE),
    ("fig12, similarity(9,1), 1,000", 10.22, 0.02, _rival("similarity", similar=9, random=1), DEGREE),
    ("fig8 maximum, 4,000", 32, 0.1, _static(4000), "max_degree"),
    ("fig7 parted, 4,000", 0, 0.0, _static(4000), PARTED),
    ("fig6a, 4,000", 0, 0.0, _static(4000, "zipf:2"), PARTED),
    ("fig6a, 6,000", 15, 0.25, _static(6000, "zipf:2"), PARTED),
    ("fig6b, (3,0), 4,000", 7, 1 / 7, _static(4000, "zipf:2"), DEGREE),
    ("fig6b, (3,1), 4,000", 13, 1 / 13, _static(4000, "zipf:2", random_coverage=1), DEGREE),
)


def main() -> None:
    """Run all variants and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("out/studies"), help="the folder that keeps finished runs")
    given = parser.parse_args()
    study = read_study(NAME)
    variants = {name: {"paper": True, **parameters} for name, parameters in study["variants"].items()}
    runs = {
        (name, probe[0], seed): probe[3](parameters, seed)
        for name, parameters in variants.items()
        for probe in PROBES
        for seed in study["seeds"]
    }
    metrics = execute_all(list(runs.values()), given.out, given.jobs, silent)
    rows = [["published", *(f"{probe[1]:g}" for probe in PROBES), ""]]
    for name in variants:
        cells, met = [name], 0
        for label, published, tolerance, _, metric in PROBES:
            samples = [float(metrics[run_key(runs[name, label, seed])][metric]) for seed in study["seeds"]]
            is_met = abs(sum(samples) / len(samples) - published) <= tolerance * published
            met += is_met
            cells.append(f"**{shown(samples)}**" if is_met else shown(samples))
        rows.append([*cells, f"{met} of {len(PROBES)}"])
    path = write_table(
        NAME,
        study,
        ["variant", *(probe[0] for probe in PROBES), "met"],
        rows,
        "Figure 11 and 3.8.1 are compared by the series of their exhibits.",
    )
    print(path)


if __name__ == "__main__":
    main()
