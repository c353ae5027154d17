"""The exhibits of the paper, in its order."""

from gossamer.analysis.exhibits.harness import Exhibit
from gossamer.systems.omen.exhibits import backups, degrees, network, views

EXHIBITS: tuple[Exhibit, ...] = (
    *backups.EXHIBITS,
    *views.EXHIBITS,
    *degrees.EXHIBITS,
    *network.EXHIBITS,
)
