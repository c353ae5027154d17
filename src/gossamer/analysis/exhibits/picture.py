"""Draws an exhibit: measured curves with their intervals, and the published values."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from gossamer.analysis.exhibits.harness import (
    Exhibit,
    JudgedExhibit,
    SeriesValue,
    chosen_settings,
    curve,
    published_source,
)

# Without a fixed salt, two SVG files of the same picture differ.
mpl.rcParams["svg.hashsalt"] = "gossamer"

COLOURS = (
    "#1b6d7d",
    "#c4572e",
    "#6a4c93",
    "#3f8f3f",
    "#b58a00",
    "#8c3b5e",
    "#555555",
    "#2f5fb3",
    "#d1495b",
    "#00798c",
)
# Different markers and dashes distinguish curves that lie on each other.
MARKERS = "os^Dv<>PX*"
DASHES = ("-", "--", "-.", ":")
FAINT = "#777777"
# Up to this many values of x, each has its own tick.
TICKS_MAX = 8
# The y axis is broken where a gap takes more than this share of it and at least this many curves share the rest.
GAP_SHARE = 0.75
PRESSED_MIN = 3
# Intervals are drawn from this many seeds on. The interval of two seeds is so wide that it would hide the curves.
SEEDS_MIN = 3


def draw(outcome: JudgedExhibit, folder: Path) -> list[Path]:
    """Write the picture as SVG and PNG; returns the files."""
    exhibit = outcome.exhibit
    curves = {name: curve(outcome.values, name) for name in dict.fromkeys(value.series for value in outcome.values)}
    quantities = dict.fromkeys(values[0].quantity or exhibit.y_label for values in curves.values())
    if len(quantities) == 1:
        figure, panels = _one_quantity(outcome, curves)
    else:
        figure, panels = _by_quantity(outcome, curves, list(quantities))
    note = " (quick)" if outcome.quick else ""
    panels[0].set_title(f"{exhibit.title}{note}", loc="left")
    panels[-1].set_xlabel(exhibit.x_label)
    if exhibit.log_x:
        panels[-1].set_xscale("log")
    _set_x(panels[-1], outcome)
    figure.supxlabel(_footer(outcome), x=0.995, ha="right", fontsize=7, color=FAINT)
    stem = exhibit.name.replace("/", "-")
    paths = [folder / f"{stem}.svg", folder / f"{stem}.png"]
    for path in paths:
        figure.savefig(path, dpi=130, metadata={"Date": None} if path.suffix == ".svg" else None)
    return paths


Curves = dict[str, list[SeriesValue]]


def _one_quantity(outcome: JudgedExhibit, curves: Curves) -> tuple[Figure, list[Axes]]:
    """One y axis, broken where a wide gap would press many curves together."""
    exhibit = outcome.exhibit
    figure = Figure(figsize=(8.6, 4.8), layout="constrained")
    # A logarithmic scale cannot show zero.
    logarithmic = exhibit.log_y and _seen(outcome.values)[0] > 0
    whole = logarithmic or exhibit.is_histogram or exhibit.from_zero
    parts = [list(curves.values())] if whole else _parts(list(curves.values()))
    # The panel with more curves is taller.
    heights = [4 if len(part) == max(map(len, parts)) else 1 for part in parts]
    panels = list(figure.subplots(len(parts), sharex=True, squeeze=False, height_ratios=heights)[:, 0])
    for axes, part in zip(panels, parts, strict=True):
        for number, (name, values) in enumerate(curves.items()):
            # A curve of the other panel is only named in the legend.
            _draw_series(axes, exhibit, values if values in part else [], outcome, number, name)
        _set_y(
            axes, [value for values in part for value in values], logarithmic, exhibit.from_zero or exhibit.is_histogram
        )
        axes.grid(alpha=0.25)
    if len(parts) > 1:
        _show_break(panels[0], panels[-1])
    main = panels[heights.index(max(heights))]
    main.set_ylabel(exhibit.y_label)
    _add_legend(main, outcome.values)
    return figure, panels


def _by_quantity(outcome: JudgedExhibit, curves: Curves, quantities: list[str]) -> tuple[Figure, list[Axes]]:
    """One panel for each quantity, each with its own y axis and legend."""
    exhibit = outcome.exhibit
    figure = Figure(figsize=(8.6, 1.4 + 2.5 * len(quantities)), layout="constrained")
    panels = list(figure.subplots(len(quantities), sharex=True, squeeze=False)[:, 0])
    for axes, quantity in zip(panels, quantities, strict=True):
        here: list[SeriesValue] = []
        for number, (name, values) in enumerate(curves.items()):
            if (values[0].quantity or exhibit.y_label) == quantity:
                _draw_series(axes, exhibit, values, outcome, number, name)
                here += values
        logarithmic = exhibit.log_y and quantity == exhibit.y_label and _seen(here)[0] > 0
        _set_y(axes, here, logarithmic, exhibit.from_zero)
        axes.set_ylabel(quantity, fontsize="small")
        axes.grid(alpha=0.25)
        _add_legend(axes, here)
    return figure, panels


def _add_legend(axes: Axes, values: Sequence[SeriesValue]) -> None:
    """Put the legend beside the curves."""
    handles, names = axes.get_legend_handles_labels()
    if any(value.expected is not None for value in values):
        handles += axes.plot([], [], "-", color="#333333", alpha=0.6, linewidth=1.3)
        names.append("theory")
    if any(value.published is not None for value in values):
        handles += axes.plot([], [], "x", color="#333333", markersize=8, markeredgewidth=1.8)
        names.append("published")
    axes.legend(
        handles, names, loc="upper left", bbox_to_anchor=(1.01, 1), borderaxespad=0, frameon=False, fontsize="small"
    )


def _footer(outcome: JudgedExhibit) -> str:
    """The number of runs, the points that a quick picture leaves out, and the place in the paper."""
    seeds = max(value.seeds for value in outcome.values)
    mean = "one run" if seeds == 1 else f"mean of {seeds} runs"
    if outcome.exhibit.spread:
        parts = [f"{mean}; bars: 95% interval over nodes"]
    else:
        parts = [f"{mean} and its 95% interval" if seeds >= SEEDS_MIN else mean]
    if source := published_source(outcome.exhibit):
        parts.append(source)
    left_out = f"left out: {outcome.exhibit.left_out}\n" if outcome.quick else ""
    chosen = chosen_settings(outcome.exhibit)
    return left_out + (f"chosen, not published: {chosen}\n" if chosen else "") + "; ".join(parts)


def _interval(value: SeriesValue, over_nodes: bool = False) -> tuple[float, float]:
    """The lower and upper end of the drawn interval."""
    return (value.low, value.high) if over_nodes or value.seeds >= SEEDS_MIN else (value.measured, value.measured)


def _seen(values: Sequence[SeriesValue]) -> list[float]:
    """All measured, published and predicted values in ascending order."""
    known = [value.published for value in values if value.published is not None]
    expected = [value.expected for value in values if value.expected is not None]
    return sorted([value.measured for value in values] + known + expected)


def _parts(curves: list[list[SeriesValue]]) -> list[list[list[SeriesValue]]]:
    """The curves of each panel, top first. There are two panels where a wide gap would press many curves together."""
    by_height = sorted(curves, key=lambda values: _seen(values)[0])
    lowest, highest = _seen(by_height[0])[0], max(_seen(values)[-1] for values in curves)
    for place in range(1, len(by_height)):
        below, above = by_height[:place], by_height[place:]
        gap = _seen(above[0])[0] - max(_seen(values)[-1] for values in below)
        if gap > GAP_SHARE * (highest - lowest) and max(len(below), len(above)) >= PRESSED_MIN:
            return [above, below]
    return [curves]


def _show_break(top: Axes, bottom: Axes) -> None:
    """Mark the break of the y axis between two panels with two strokes."""
    top.spines.bottom.set_visible(False)
    bottom.spines.top.set_visible(False)
    top.tick_params(bottom=False)
    for axes, edge in ((top, 0), (bottom, 1)):
        stroke = [(-1, -0.6), (1, 0.6)]
        axes.plot(
            [0, 1],
            [edge, edge],
            transform=axes.transAxes,
            marker=stroke,
            markersize=9,
            linestyle="none",
            color="black",
            markeredgewidth=1,
            clip_on=False,
        )


def _apart(values: Sequence[SeriesValue], number: int, count: int) -> float:
    """The horizontal offset of a curve; not zero only where all curves have a single x and would cover each other."""
    places = {value.x for value in values}
    return (number - (count - 1) / 2) * 0.02 * max(places) if len(places) == 1 else 0.0


def _draw_series(
    axes: Axes, exhibit: Exhibit, values: list[SeriesValue], outcome: JudgedExhibit, number: int, name: str
) -> None:
    colour = COLOURS[number % len(COLOURS)]
    if exhibit.is_histogram:
        _draw_bars(axes, values, colour, name)
        return
    apart = _apart(outcome.values, number, len({value.series for value in outcome.values}))
    theory = [(value.x + apart, value.expected) for value in values if value.expected is not None]
    limit = exhibit.asymptotes.get(name)
    if theory:
        # Below and above an asymptote there are two theories, which no line may join.
        for side in (
            [at for at in theory if limit is None or at[0] < limit],
            [at for at in theory if limit is not None and at[0] >= limit],
        ):
            if side:
                axes.plot(*zip(*side, strict=True), color=colour, linewidth=1.3, alpha=0.6)
    if limit is not None and values:
        axes.axvline(limit, color=colour, linewidth=1, linestyle=":")
    over_nodes = exhibit.spread is not None and bool(values) and values[0].quantity is None
    axes.errorbar(
        [value.x + apart for value in values],
        [value.measured for value in values],
        yerr=[
            [value.measured - _interval(value, over_nodes)[0] for value in values],
            [_interval(value, over_nodes)[1] - value.measured for value in values],
        ],
        color=colour,
        marker=MARKERS[number % len(MARKERS)],
        markersize=5,
        markerfacecolor="none" if number % 2 else colour,
        # Where the prediction is a line, measured values are points without a line. Between settings there is nothing.
        linestyle="none" if theory or exhibit.is_categorical else DASHES[number % len(DASHES)],
        linewidth=1.3,
        elinewidth=0.9,
        capsize=2,
        label=name,
    )
    known = [(value.x + apart, value.published) for value in values if value.published is not None]
    if known:
        axes.plot(*zip(*known, strict=True), "x", color=colour, markersize=8, markeredgewidth=1.8)


def _draw_bars(axes: Axes, values: list[SeriesValue], colour: str, name: str) -> None:
    """A histogram, and a dashed line at its mean."""
    shares = [value.measured for value in values]
    mean = sum(value.x * value.measured for value in values) / (sum(shares) or 1.0)
    places = [value.x for value in values]
    axes.fill_between(places, shares, step="mid", color=colour, alpha=0.25, linewidth=0)
    axes.step(places, shares, where="mid", color=colour, linewidth=1.3, label=f"{name} (mean {mean:.3g})")
    axes.axvline(mean, color=colour, linewidth=1, linestyle="--")


def _set_x(axes: Axes, outcome: JudgedExhibit) -> None:
    """Put a tick at each measured x, if there are few. A histogram ends at the largest value that occurs."""
    places = sorted({value.x for value in outcome.values})
    if outcome.exhibit.is_histogram:
        axes.set_xlim(places[0] - 0.5, max((value.x for value in outcome.values if value.measured), default=1.0) + 0.5)
    if len(places) <= TICKS_MAX:
        axes.set_xticks(places)
    if len(places) == 1:
        axes.set_xlim(0.8 * places[0], 1.2 * places[0])
    axes.xaxis.set_major_formatter(FuncFormatter(_number))


def _set_y(axes: Axes, values: Sequence[SeriesValue], logarithmic: bool, from_zero: bool) -> None:
    """Choose limits that show every point and interval, do not go below zero, and let a flat curve look flat."""
    if logarithmic:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_minor_formatter(NullFormatter())
    else:
        seen = _seen(values)
        low = min(seen[0], *(_interval(value)[0] for value in values))
        high = max(seen[-1], *(_interval(value)[1] for value in values))
        # The axis spans at least a tenth of the highest value.
        span = max(high - low, 0.1 * seen[-1]) or 1.0
        room = 0.06 * span + (span - (high - low)) / 2
        whole = all(value == int(value) for value in seen)
        low, high = low - room, high + room
        if whole and seen[-1] == 0:
            high = 1.0
        begins_at_zero = from_zero and seen[0] >= 0
        axes.set_ylim(0.0 if begins_at_zero else -0.03 * high if seen[0] >= 0 > low else low, high)
        axes.yaxis.set_major_locator(MaxNLocator(nbins="auto", steps=[1, 2, 2.5, 5, 10], integer=whole))
    axes.yaxis.set_major_formatter(FuncFormatter(_number))


def _number(value: float, _: int | None = None) -> str:
    """A number with thousands separators and without trailing digits."""
    return f"{value:,.0f}" if value == int(value) else f"{value:,.10g}"
