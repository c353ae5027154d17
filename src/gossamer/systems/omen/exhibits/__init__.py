"""The exhibits of the paper, in its order."""

from gossamer.analysis.exhibits.harness import Exhibit
from gossamer.systems.omen.exhibits import backups, degrees, growth, network, samples, views

EXHIBITS: tuple[Exhibit, ...] = (
    *growth.EXHIBITS,
    *backups.EXHIBITS,
    *views.EXHIBITS,
    *samples.EXHIBITS,
    *degrees.EXHIBITS,
    *network.EXHIBITS,
)
