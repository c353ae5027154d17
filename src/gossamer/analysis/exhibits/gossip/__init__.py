"""The exhibits of the paper on gossip over unstructured overlays, and ours beyond it."""

from gossamer.analysis.exhibits.gossip import above, below, beyond
from gossamer.analysis.exhibits.harness import Exhibit

EXHIBITS: tuple[Exhibit, ...] = (*below.EXHIBITS, *above.EXHIBITS, *beyond.EXHIBITS)
