"""Draws a profile: the complementary distributions of a data set and its sample in one picture (OMen, Figure 7)."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

# (values, for each the share that is at least as large, exponent and first value of the fitted tail if there is one)
Curve = tuple[NDArray[np.int64], NDArray[np.float64], tuple[float, int] | None]

LABELS = {
    "friends": "friends of a user",
    "followers": "followers of a user",
    "followees": "users that a user follows",
    "subscribers_per_topic": "subscribers of a topic",
    "topics_per_node": "topics of a node",
}


def draw_profile(curves: Mapping[str, Mapping[str, Curve]], paths: Sequence[Path]) -> None:
    """Draw one panel for each distribution and one curve for each data set. Fitted tails are dashed."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    with mpl.rc_context({"svg.hashsalt": "gossamer", "font.size": 9}):
        figure, panels = plt.subplots(1, len(curves), figsize=(4.8 * len(curves), 3.8), squeeze=False)
        for axes, (name, by_set) in zip(panels[0], curves.items(), strict=True):
            for colour, (label, (values, shares, tail)) in zip(("#1b6d7d", "#d1751f"), by_set.items(), strict=False):
                # A logarithmic axis cannot show zero; its share is the difference between 1 and the first point.
                seen = values > 0
                axes.loglog(
                    values[seen], shares[seen], marker=".", markersize=4, linewidth=1, color=colour, label=label
                )
                if tail is not None:
                    exponent, begins = tail
                    inside = values >= begins
                    line = shares[inside][0] * (values[inside] / begins) ** (1 - exponent)
                    legend = f"{label}: exponent {exponent:.2f} from {begins}"
                    axes.loglog(values[inside], line, linestyle="--", linewidth=1, color=colour, label=legend)
            axes.set_xlabel(LABELS.get(name, name))
            axes.set_ylabel("share with at least as many")
            axes.grid(visible=True, which="major", alpha=0.3)
            axes.legend(frameon=False, fontsize=8)
        figure.tight_layout()
        for path in paths:
            figure.savefig(path, dpi=150, metadata={"Date": None} if path.suffix == ".svg" else None)
        plt.close(figure)
