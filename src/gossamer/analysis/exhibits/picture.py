"""Draw an exhibit: our curves with their intervals, the published values beside them."""

from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gossamer.analysis.exhibits.harness import Outcome, Value, curve, published_source

# Without it every SVG of the same picture differs.
mpl.rcParams["svg.hashsalt"] = "gossamer"

COLOURS = ("#1b6d7d", "#c4572e", "#6a4c93", "#3f8f3f", "#b58a00", "#8c3b5e", "#555555", "#2f5fb3")


def draw(outcome: Outcome, folder: Path) -> list[Path]:
    """Write the picture as SVG and PNG; returns the files."""
    exhibit = outcome.exhibit
    figure = Figure(figsize=(7.6, 4.6), layout="constrained")
    axes = figure.subplots()
    names = list(dict.fromkeys(value.series for value in outcome.values))
    for number, name in enumerate(names):
        _draw_series(axes, curve(outcome.values, name), COLOURS[number % len(COLOURS)], name)
    if any(value.published is not None for value in outcome.values):
        axes.plot([], [], "x", color="#333333", label="published")
    note = " (quick)" if outcome.quick else ""
    axes.set(xlabel=exhibit.x_label, ylabel=exhibit.y_label, title=f"{exhibit.title}{note}")
    if exhibit.log_y:
        axes.set_yscale("log")
    axes.grid(alpha=0.25)
    axes.legend(frameon=False, fontsize="small")
    figure.text(0.995, 0.005, published_source(exhibit.name), ha="right", va="bottom", fontsize=6, color="#777777")
    stem = exhibit.name.replace("/", "-")
    paths = [folder / f"{stem}.svg", folder / f"{stem}.png"]
    for path in paths:
        figure.savefig(path, dpi=130, metadata={"Date": None} if path.suffix == ".svg" else None)
    return paths


def _draw_series(axes: Axes, values: list[Value], colour: str, name: str) -> None:
    x = [value.x for value in values]
    y = [value.measured for value in values]
    errors = [[value.measured - value.low for value in values], [value.high - value.measured for value in values]]
    axes.errorbar(x, y, yerr=errors, color=colour, marker="o", markersize=4, linewidth=1.3, capsize=2, label=name)
    known = [(value.x, value.published) for value in values if value.published is not None]
    if known:
        axes.plot(*zip(*known, strict=True), "x", color=colour, markersize=8, markeredgewidth=1.8)
