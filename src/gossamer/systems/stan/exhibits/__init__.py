"""The exhibits of the StAN paper: subscriptions, view sizes, and the shape of the physical links."""

from gossamer.analysis.exhibits.harness import Exhibit
from gossamer.systems.stan.exhibits import shape, subscriptions, views

EXHIBITS: tuple[Exhibit, ...] = (*subscriptions.EXHIBITS, *views.EXHIBITS, *shape.EXHIBITS)
