"""A profile drawn: the share of nodes or topics with at least so many, original and sample together (OMen, Figure 7)."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

# (values, share of at least each, exponent and beginning of the tail where one was fitted)
Curve = tuple[NDArray[np.int64], NDArray[np.float64], tuple[float, int] | None]

LABELS = {
    "friends": "friends of a user",
    "followers": "followers of a user",
    "followees": "users that a user follows",
    "subscribers_per_topic": "subscribers of a topic",
    "topics_per_node": "topics of a node",
}


def draw_profile(curves: Mapping[str, Mapping[str, Curve]], paths: Sequence[Path]) -> None:
    """One panel a spread, one curve a data set, on logarithmic axes; fitted tails dashed."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    with mpl.rc_context({"svg.hashsalt": "gossamer", "font.size": 9}):
        figure, panels = plt.subplots(1, len(curves), figsize=(4.8 * len(curves), 3.8), squeeze=False)
        for axes, (name, by_set) in zip(panels[0], curves.items(), strict=True):
            for colour, (label, (values, shares, tail)) in zip(("#1b6d7d", "#d1751f"), by_set.items(), strict=False):
                # Zero has no logarithm; its share is what is missing from one at the left edge.
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
