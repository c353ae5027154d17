"""The exhibits of the StAN paper, by what they show."""

from gossamer.analysis.exhibits.harness import Exhibit
from gossamer.systems.stan.exhibits import shape, subscriptions, views

EXHIBITS: tuple[Exhibit, ...] = (*subscriptions.EXHIBITS, *views.EXHIBITS, *shape.EXHIBITS)
