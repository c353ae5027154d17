"""The exhibits of the paper on gossip over unstructured overlays, and two exhibits that the paper does not have."""

from gossamer.analysis.exhibits.harness import Exhibit
from gossamer.systems.gossip.exhibits import above, below, beyond

EXHIBITS: tuple[Exhibit, ...] = (*below.EXHIBITS, *above.EXHIBITS, *beyond.EXHIBITS)
