"""Shapes of SpiderCast's curves and histograms for several readings of the protocol.

python -m studies.shapes        # some minutes of CPU time
"""

import argparse
from collections.abc import Callable
from typing import Any

from gossamer.model.values.run import Run, WorkloadLaw
from gossamer.simulator.pool import run_metrics
from gossamer.systems.spidercast.exhibits.settings import near_average, shares
from studies.tables import read_study, shown, write_table

NAME = "shapes"
Built = Callable[..., dict[str, Any]]


def _degree(metrics: dict[str, Any]) -> float:
    return float(metrics["average_degree"])


def shapes(built: Built) -> dict[str, float]:
    """All measures of one variant and seed; `built` runs a workload that differs from the usual one."""
    few, many = built(subscriptions="20"), built(subscriptions="20", topics=1000)
    counts = [_degree(built(subscriptions=str(count))) for count in (10, 15, 20)]
    equal, unequal = built(subscriptions="40"), built(subscriptions="10:70")
    skewed, uniform, usual = built(popularity="zipf:2"), built(popularity="uniform"), built()
    nodes = sum(uniform["degrees"]["nodes"])
    return {
        "8b: degree with 1,000 / 100 topics": _degree(many) / _degree(few),
        "8c: degree at 15 / 10 subscriptions": counts[1] / counts[0],
        "8c: degree at 20 / 15 subscriptions": counts[2] / counts[1],
        "9b: average with [10:70] / with 40": _degree(unequal) / _degree(equal),
        "9b: within a third of the average, [10:70] (%)": near_average(unequal),
        "9b: within a third of the average, 40 (%)": near_average(equal),
        "3.3: nodes with three links, Zipf 2 (%)": 100 * shares(skewed).get(3, 0.0),
        "3.4: nodes with 18 links or more, Uniform": nodes
        * sum(share for degree, share in shares(uniform).items() if degree >= 18),
        "3.5.1: maximum / average": float(usual["max_degree"]) / _degree(usual),
    }


def main() -> None:
    """Run all variants and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()
    study = read_study(NAME)
    rows: list[list[str]] = []
    names: list[str] = []
    for name, parameters in study["variants"].items():
        found: list[dict[str, float]] = []
        for seed in study["seeds"]:

            def built(seed: int = seed, parameters: dict[str, Any] = parameters, **law: Any) -> dict[str, Any]:
                usual = {"nodes": study["nodes"], "topics": 100, "subscriptions": "10", "popularity": "rss"}
                run = Run(
                    system="spidercast",
                    parameters={"paper": True, **parameters},
                    seed=seed,
                    workload=WorkloadLaw(**{**usual, **law}),
                    lengths=False,
                )
                return run_metrics(run)

            found.append(shapes(built))
        names = list(found[0])
        rows.append([name, *(shown([each[measure] for each in found]) for measure in names)])
        print(rows[-1], flush=True)
    rows.insert(
        0,
        ["the paper", "moderate", "> 1", "> 1", "about 1", "concentrated", "concentrated", "many", "several", "2 or 3"],
    )
    note = f"{study['nodes']:,} nodes; standard errors over seeds."
    print(write_table(NAME, study, ["variant", *names], rows, note))


if __name__ == "__main__":
    main()
