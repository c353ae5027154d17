"""The runs of the paper's evaluation (3), on the workload that was fitted to its Table 2."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from gossamer.model.values.run import GridLaw, Run

SEEDS = (1, 2, 3, 4, 5)
QUICK_SEEDS = (1, 2)
# Chosen: after 30 cycles view sizes are within 2% of their final values.
CYCLES = 30


@cache
def fits() -> list[dict[str, Any]]:
    """Parameters of the plane and of views that fit Total and Unique Initial of Table 2, best first (studies/stan_fit.py)."""
    content = tomllib.loads((Path(__file__).parents[1] / "fits.toml").read_text(encoding="utf-8"))
    return [{name: value for name, value in fit.items() if name != "deviation"} for fit in content["fit"]]


def run_on(nodes: int, topics: int, seed: int, fit: int = 0, **more: Any) -> Run:
    """The paper's protocol on the workload of one cell of Table 2."""
    numbers = dict(fits()[fit])
    factor = numbers.pop("view_factor")
    parameters = {"view_factor": factor, "weigh_sources": False}
    law = GridLaw(nodes=nodes, topics=topics, **numbers)
    return Run(
        system="stan",
        parameters=parameters,
        seed=seed,
        workload=law,
        **{"cycle_limit": CYCLES, "lengths": False, **more},
    )


def seeds(quick: bool) -> tuple[int, ...]:
    """Five seeds, or two."""
    return QUICK_SEEDS if quick else SEEDS
