"""Figures of a report: each is drawn once, shown on the page, and kept as SVG and PNG files with its data as CSV.

A page opens offline, so the SVG is part of it. There its colours are variables of the page's style, which has a light and
a dark form. Equal numbers give equal files.
"""

import csv
import html
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gossamer.model.tables.folders import output_folder, write_manifest

INK, DARK, PALE, WARM = "#1c2730", "#1b6d7d", "#b9d3d8", "#d1751f"
PALETTE = (DARK, WARM, "#6b8e23", "#7a5195", "#5b6b75")
# The variables of the page's style that replace colours of the files.
VARIABLES = {
    INK: "--ink",
    DARK: "--bar",
    PALE: "--pale",
    WARM: "--warm",
    PALETTE[2]: "--third",
    PALETTE[3]: "--fourth",
    PALETTE[4]: "--fifth",
}
_LOOK = {
    # A fixed salt makes identifiers repeatable; text that stays text is small and searchable.
    "svg.hashsalt": "gossamer",
    "svg.fonttype": "none",
    "font.size": 10,
    **dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), INK),
}


@dataclass(frozen=True)
class SystemPoint:
    """A system in the chart of costs and failures."""

    label: str
    x: float
    y: float
    # Whether no other system beats it, whether it is recommended, and whether it is planned centrally.
    is_best_of_some: bool
    is_recommended: bool
    is_central: bool


@dataclass
class FigureFiles:
    """Draws figures and collects their files."""

    files: dict[str, bytes] = field(default_factory=dict)

    def write(self, folder: Path, version: str) -> None:
        """Write all files into a folder, which appears complete or not at all."""
        with output_folder(folder, force=True) as making:
            for name, content in self.files.items():
                (making / name).write_bytes(content)
            write_manifest(making, {"gossamer": version, "figures": sorted(self.files)})

    def bars(
        self, name: str, labels: Sequence[str], values: Sequence[float], title: str, pale: Sequence[bool] | None = None
    ) -> str:
        """One bar for each label, with its value beside it. Bars marked in `pale` are pale."""
        with self._figure(name, 7, 0.32 * len(labels) + 0.9) as (axes, drawn):
            colours = [PALE if is_pale else DARK for is_pale in pale or [False] * len(labels)]
            drawn_bars = axes.barh(range(len(labels)), values, color=colours)
            axes.set_yticks(range(len(labels)), labels)
            axes.invert_yaxis()
            axes.set_xlabel(title)
            axes.bar_label(drawn_bars, [f"{value:.3g}" for value in values], padding=3)
            axes.margins(x=0.12)
        return self._shown(name, title, drawn, ("label", title), zip(labels, values, strict=True))

    def grouped_bars(self, name: str, labels: Sequence[str], series: Mapping[str, Sequence[float]], title: str) -> str:
        """One bar of every series for each label."""
        thick = 0.8 / max(len(series), 1)
        with self._figure(name, 7, 0.26 * len(labels) * len(series) + 1.2) as (axes, drawn):
            for number, (each, values) in enumerate(series.items()):
                places = [place + (number - (len(series) - 1) / 2) * thick for place in range(len(labels))]
                colour = PALETTE[number % len(PALETTE)]
                drawn_bars = axes.barh(places, values, height=thick * 0.9, label=each, color=colour)
                axes.bar_label(drawn_bars, [f"{value:.3g}" for value in values], padding=3, fontsize=8)
            axes.set_yticks(range(len(labels)), labels)
            axes.invert_yaxis()
            axes.set_xlabel(title)
            axes.margins(x=0.12)
            axes.figure.legend(frameon=False, loc="outside upper center", ncols=len(series))
        rows = ([label, *(values[place] for values in series.values())] for place, label in enumerate(labels))
        return self._shown(name, title, drawn, ("label", *series), rows)

    def shares_above(self, name: str, curves: Mapping[str, tuple[Sequence[int], Sequence[float]]], title: str) -> str:
        """Complementary distributions on logarithmic axes."""
        with self._figure(name, 7, 3.6) as (axes, drawn):
            for colour, (each, (values, shares)) in zip(PALETTE, curves.items(), strict=False):
                seen = [(value, share) for value, share in zip(values, shares, strict=True) if value > 0]
                axes.loglog(*zip(*seen, strict=True), marker=".", markersize=4, linewidth=1, label=each, color=colour)
            axes.set_xlabel(title)
            axes.set_ylabel("share with at least as many")
            axes.grid(visible=True, which="major", alpha=0.3)
            axes.legend(frameon=False)
        rows = (
            (each, value, share)
            for each, (values, shares) in curves.items()
            for value, share in zip(values, shares, strict=True)
        )
        return self._shown(name, title, drawn, ("data", title, "share with at least as many"), rows)

    def trade_offs(self, name: str, points: Sequence[SystemPoint], x_title: str, y_title: str) -> str:
        """Systems by cost and failures. Those that no other beats are dark; the others are pale."""
        from matplotlib.ticker import LogLocator, NullLocator

        with self._figure(name, 7, 4.6) as (axes, drawn):
            for point in points:
                colour = WARM if point.is_recommended else DARK if point.is_best_of_some else PALE
                marker = "s" if point.is_central else "o"
                axes.plot([point.x], [point.y], marker=marker, markersize=8, color=colour, linestyle="none")
            axes.set_xscale("log")
            axes.set_xlabel(x_title)
            axes.set_ylabel(y_title)
            # At least five percent high, so that the axis of points at zero does not go below zero.
            highest = max(5.0, 1.08 * max(point.y for point in points))
            axes.set_ylim(-0.05 * highest, highest)
            axes.margins(x=0.2)
            axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axes.xaxis.set_major_formatter("{x:g}")
            axes.xaxis.set_minor_locator(NullLocator())
            axes.grid(visible=True, which="major", alpha=0.3)
            _place_labels(axes, points)
        head = ("label", x_title, y_title, "no system beats it", "recommended", "planned centrally")
        rows = (
            (each.label, each.x, each.y, each.is_best_of_some, each.is_recommended, each.is_central) for each in points
        )
        return self._shown(name, f"{y_title}, against {x_title}", drawn, head, rows)

    @contextmanager
    def _figure(self, name: str, width: float, height: float) -> Iterator[tuple[Any, list[str]]]:
        """(axes, a list that gets the SVG for the page when the block ends)."""
        import matplotlib as mpl

        mpl.use("svg")
        from matplotlib import pyplot as plt

        drawn: list[str] = []
        with mpl.rc_context(_LOOK):
            figure, axes = plt.subplots(figsize=(width, height), layout="constrained")
            for side in ("top", "right"):
                axes.spines[side].set_visible(False)
            yield axes, drawn
            for kind in ("svg", "png"):
                out = io.BytesIO()
                told = {"Date": None} if kind == "svg" else {"Software": None}
                figure.savefig(out, format=kind, dpi=150, metadata=told)
                self.files[f"{name}.{kind}"] = out.getvalue()
            out = io.BytesIO()
            figure.savefig(out, format="svg", transparent=True, metadata={"Date": None})
            plt.close(figure)
        text = out.getvalue().decode()
        text = text[text.index("<svg") :]
        for colour, variable in VARIABLES.items():
            text = text.replace(colour, f"var({variable})")
        drawn.append(text)

    def _shown(
        self, name: str, title: str, drawn: Sequence[str], head: Sequence[str], rows: Iterable[Sequence[Any]]
    ) -> str:
        """The figure on the page, with links to its files; keeps its data."""
        table = io.StringIO()
        csv.writer(table, lineterminator="\n").writerows([head, *rows])
        self.files[f"{name}.csv"] = table.getvalue().encode()
        links = " ".join(f'<a href="figures/{name}.{kind}">{kind.upper()}</a>' for kind in ("svg", "png", "csv"))
        (text,) = drawn
        about = f'role="img" aria-label="{html.escape(title)}"'
        text = text.replace("<svg ", f"<svg {about} ", 1)
        return f'<figure><div class="wide">{text}</div><figcaption>{links}</figcaption></figure>'


def _place_labels(axes: Any, points: Sequence[SystemPoint]) -> None:
    """Write the label of every point beside it, where it covers no other label and no marker."""
    axes.figure.canvas.draw()
    size = axes.figure.dpi / 72
    # Left, bottom, right, top of every marker and of every label that is placed.
    places = [axes.transData.transform((point.x, point.y)) for point in points]
    taken = [(x - 5 * size, y - 5 * size, x + 5 * size, y + 5 * size) for x, y in places]
    for point, (x, y) in zip(points, places, strict=True):
        width, height = 5.4 * size * len(point.label), 11 * size
        boxes = [
            (left, y + shift * size - height / 2, left + width, y + shift * size + height / 2)
            for shift in sorted(range(-60, 61, 3), key=abs)
            for left in (x + 8 * size, x - 8 * size - width)
        ]
        free = (
            box for box in boxes if box[2] < axes.bbox.x1 + 10 * size and not any(_meet(box, each) for each in taken)
        )
        box = next(free, boxes[0])
        taken.append(box)
        axes.annotate(
            point.label,
            (point.x, point.y),
            ((box[0] - x) / size, ((box[1] + box[3]) / 2 - y) / size),
            textcoords="offset points",
            va="center",
            fontsize=9,
            fontweight="bold" if point.is_recommended else "normal",
            annotation_clip=False,
        )


def _meet(one: Sequence[float], other: Sequence[float]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
