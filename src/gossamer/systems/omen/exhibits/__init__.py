"""The exhibits of the paper, in its order."""

from gossamer.analysis.exhibits.harness import Exhibit
from gossamer.systems.omen.exhibits import backups, degrees

EXHIBITS: tuple[Exhibit, ...] = (*backups.EXHIBITS, *degrees.EXHIBITS)
