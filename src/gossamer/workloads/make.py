"""Make a workload from a few numbers and a seed: one function for every generator of this room."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from gossamer.model.arrays.interest import Interest
from gossamer.model.tables.workload import Workload
from gossamer.model.values.errors import InputError
from gossamer.model.values.run import GridLaw
from gossamer.workloads.communities import make_community_interests
from gossamer.workloads.interests import DOUBAN, Figures, make_douban_interests, make_grid_interests, make_interests
from gossamer.workloads.social import SocialLaw, interests_of_graph, make_social_graph

# The fields that each kind of workload needs; the kinds are the generators of this room.
_NEEDED = {
    "popularity": ("nodes", "topics", "subscriptions"),
    "grid": ("nodes", "topics"),
    "douban": (),
    "communities": (),
    "friends": ("nodes",),
    "followers": ("nodes",),
}
_FIGURES = ("nodes", "topics", "total", "largest")
_ALLOWED = {**_NEEDED, "douban": _FIGURES, "communities": _FIGURES}


@dataclass(frozen=True)
class MadeWorkload:
    """A generated workload, and facts about it for a manifest: the law, or the figures requested and reached."""

    workload: Workload
    facts: Mapping[str, Any]


def make_workload(
    *,
    seed: int,
    nodes: int | None = None,
    topics: int | None = None,
    subscriptions: int | str | None = None,
    popularity: str = "rss",
    kind: str = "popularity",
    total: int | None = None,
    largest: int | None = None,
    degree: float = 20.0,
) -> Workload:
    """Make a workload; the same arguments always give the same workload.

    `subscriptions` is the number of topics of each node: a number, `"low:high"`, or `"power:low:high[:exponent]"`.
    `popularity` is how often topics are chosen: rss, zipf:A, nyse, uniform, expo or expo:RATE. `kind` chooses another
    generator: grid (StAN), douban (with `total` subscriptions and `largest` subscribers of a topic), communities (the
    same figures with correlated interests), friends or followers (a social graph with a mean `degree`).

    >>> workload = make_workload(nodes=100, topics=10, subscriptions=3, seed=1)
    >>> workload.interest.subscription_count
    300
    """
    fields = {"nodes": nodes, "topics": topics, "subscriptions": subscriptions, "total": total, "largest": largest}
    return generate_workload(kind, fields, popularity, degree, seed).workload


def generate_workload(kind: str, fields: Mapping[str, Any], popularity: str, degree: float, seed: int) -> MadeWorkload:
    """`make_workload` with facts; `fields` are nodes, topics, subscriptions, total and largest, each may be None."""
    if kind not in _NEEDED:
        raise InputError(f"`kind` must be one of {', '.join(_NEEDED)}, got {kind!r}")
    _check_fields(kind, fields)
    interest, facts = _generate(kind, fields, popularity, degree, seed)
    if not interest.subscription_count:
        raise InputError("no node follows any topic with these numbers; ask for more nodes or topics")
    return MadeWorkload(Workload.from_interest(interest), facts)


def _check_fields(kind: str, fields: Mapping[str, Any]) -> None:
    for name in _NEEDED[kind]:
        if fields[name] is None:
            raise InputError(f"a workload of kind {kind} needs `{name}`")
    for name, value in fields.items():
        if value is not None and name not in _ALLOWED[kind]:
            raise InputError(f"`{name}` has no meaning for a workload of kind {kind}; leave it out")


def _generate(
    kind: str, fields: Mapping[str, Any], popularity: str, degree: float, seed: int
) -> tuple[Interest, dict[str, Any]]:
    nodes, topics = fields["nodes"], fields["topics"]
    if kind == "popularity":
        return make_interests(nodes, topics, str(fields["subscriptions"]), popularity, seed), {}
    if kind == "grid":
        grid = GridLaw(nodes=nodes, topics=topics)
        return make_grid_interests(grid, seed), {"law": msgspec.to_builtins(grid)}
    if kind in ("douban", "communities"):
        requested = Figures(
            users=_or(nodes, DOUBAN.users),
            topics=_or(topics, DOUBAN.topics),
            subscriptions=_or(fields["total"], DOUBAN.subscriptions),
            largest_topic=_or(fields["largest"], DOUBAN.largest_topic),
        )
        facts: dict[str, Any] = {"wanted": msgspec.to_builtins(requested)}
        if kind == "communities":
            made = make_community_interests(requested, seed)
            facts |= {"reached": msgspec.to_builtins(made.figures), "local_share": round(made.local_share, 4)}
            return made.interest, facts
        interest, reached = make_douban_interests(requested, seed)
        return interest, facts | {"reached": msgspec.to_builtins(reached)}
    directed = kind == "followers"
    source, target = make_social_graph(nodes, SocialLaw(mean_degree=degree), directed, seed)
    mean = len(source) * (1 if directed else 2) / nodes
    interest = interests_of_graph(source, target, nodes, directed)
    return interest, {"edges": len(source), "mean_degree_reached": round(mean, 3)}


def _or(value: int | None, default: int) -> int:
    return default if value is None else value
