"""Charts for a page that opens offline: SVG as text, equal for equal numbers."""

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

DARK, PALE, WARM = "#1b6d7d", "#b9d3d8", "#d1751f"
PALETTE = (DARK, WARM, "#6b8e23", "#7a5195", "#5b6b75")


@contextmanager
def _figure(width: float, height: float) -> Iterator[tuple[Any, Any, list[str]]]:
    """(figure, axes, a list that gets the SVG when the block ends)."""
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot as plt

    drawn: list[str] = []
    # A fixed salt makes identifiers repeatable; text that stays text is small and searchable.
    with mpl.rc_context({"svg.hashsalt": "gossamer", "svg.fonttype": "none", "font.size": 9}):
        figure, axes = plt.subplots(figsize=(width, height))
        yield figure, axes, drawn
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        out = io.StringIO()
        figure.savefig(out, format="svg", bbox_inches="tight", metadata={"Date": None})
        plt.close(figure)
    text = out.getvalue()
    drawn.append(f"<figure>{text[text.index('<svg') :]}</figure>")


def bars(labels: Sequence[str], values: Sequence[float], title: str, pale: Sequence[bool] | None = None) -> str:
    """One bar for each label, with its value beside it. Bars marked in `pale` are pale."""
    with _figure(8, 0.32 * len(labels) + 0.9) as (_, axes, drawn):
        colours = [PALE if is_pale else DARK for is_pale in pale or [False] * len(labels)]
        drawn_bars = axes.barh(range(len(labels)), values, color=colours)
        axes.set_yticks(range(len(labels)), labels)
        axes.invert_yaxis()
        axes.set_xlabel(title)
        axes.bar_label(drawn_bars, [f"{value:.3g}" for value in values], padding=3)
        axes.margins(x=0.12)
    return drawn[0]


def grouped_bars(labels: Sequence[str], series: Mapping[str, Sequence[float]], title: str) -> str:
    """One bar of every series for each label."""
    thick = 0.8 / max(len(series), 1)
    with _figure(8, 0.26 * len(labels) * len(series) + 1.2) as (_, axes, drawn):
        for number, (name, values) in enumerate(series.items()):
            places = [place + (number - (len(series) - 1) / 2) * thick for place in range(len(labels))]
            colour = PALETTE[number % len(PALETTE)]
            drawn_bars = axes.barh(places, values, height=thick * 0.9, label=name, color=colour)
            axes.bar_label(drawn_bars, [f"{value:.3g}" for value in values], padding=3, fontsize=8)
        axes.set_yticks(range(len(labels)), labels)
        axes.invert_yaxis()
        axes.set_xlabel(title)
        axes.margins(x=0.12)
        axes.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.25), ncols=len(series))
    return drawn[0]


def shares_above(curves: Mapping[str, tuple[Sequence[int], Sequence[float]]], title: str) -> str:
    """Complementary distributions on logarithmic axes."""
    with _figure(8, 3.6) as (_, axes, drawn):
        for colour, (name, (values, shares)) in zip(PALETTE, curves.items(), strict=False):
            seen = [(value, share) for value, share in zip(values, shares, strict=True) if value > 0]
            axes.loglog(*zip(*seen, strict=True), marker=".", markersize=4, linewidth=1, label=name, color=colour)
        axes.set_xlabel(title)
        axes.set_ylabel("share with at least as many")
        axes.grid(visible=True, which="major", alpha=0.3)
        axes.legend(frameon=False)
    return drawn[0]
