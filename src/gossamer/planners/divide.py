"""Plan in parts, for workloads that are too large for one machine: plan each part of the nodes, then join the parts.

After a part has been planned, its holders of a topic are connected, so a link to any one of them joins the topic of
this part to the other parts. Each part provides representatives: a few holders of each topic that other parts have too,
so that the join has a choice. The greedy connects the representatives of all parts. Parts are independent tasks that
return their links; the join reads the representatives only.

Cost: each part of n/p nodes costs as much as a plan of that size; the join grows with topics times parts.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from gossamer.kernels.planning.cover import cover_topics
from gossamer.kernels.sampling import units
from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.overlay import Overlay
from gossamer.model.arrays.types import Floats, Ids
from gossamer.model.values.draw import Purpose
from gossamer.model.values.errors import InputError
from gossamer.model.values.progress import Progress, silent
from gossamer.planners.greedy import Draft, GreedyRule, plan

# Chosen: with one representative for each topic the maximum degree of LowODA is 50% higher; six are no better than
# three.
REPRESENTATIVES = 3
# Chosen: on a friendship graph, 8 parts need 24% more links than one plan after 40 rounds, 30% more after 10 rounds,
# and 67% more when nodes are sorted by their rarest topic instead. Without structure in the interests there is no
# difference.
ROUNDS = 40

U64 = np.uint64


@dataclass(frozen=True)
class PlanPart:
    """One task: the nodes of a part, and their interests, in which nodes are numbered by their position in `nodes`."""

    nodes: Ids
    interest: Interest
    rule: GreedyRule


# Plans the parts, in any process and order, and returns their links in the order of the parts.
RunParts = Callable[[Callable[[PlanPart], tuple[Ids, Ids]], Sequence[PlanPart]], Iterable[tuple[Ids, Ids]]]


def plan_part(part: PlanPart) -> tuple[Ids, Ids]:
    """The links of one part, with the node numbers of the whole workload."""
    u, v = plan(part.interest, part.rule).links()
    return part.nodes[u], part.nodes[v]


def plan_in_parts(
    interest: Interest,
    rule: GreedyRule,
    part_count: int,
    run: "RunParts" = map,
    progress: Progress = silent,
) -> Overlay:
    """A topic-connected overlay that is planned in `part_count` parts."""
    if not 1 <= part_count <= max(interest.node_count, 1):
        raise InputError(f"`parts` must be between 1 and the number of nodes ({interest.node_count}), got {part_count}")
    groups = part_nodes(interest, part_count)
    parts = [_part(interest, np.flatnonzero(groups == group).astype(np.int32), rule) for group in range(part_count)]
    found = []
    for done, links in enumerate(run(plan_part, parts), start=1):
        found.append(links)
        progress("planning parts", done, part_count)
    u, v = (np.concatenate([links[side] for links in found]) for side in range(2))
    overlay = Overlay.from_links(u, v, interest.node_count)
    if part_count == 1:
        return overlay
    nodes = _representatives(interest, groups, part_count)
    chosen = _part(interest, nodes, rule)
    draft = Draft(chosen.interest, degrees=overlay.degrees[nodes].astype(np.int32), groups=groups[nodes])
    joined = np.array(draft.connect(rule, progress=progress), np.int64).reshape(-1, 2)
    u, v = np.concatenate((u, nodes[joined[:, 0]])), np.concatenate((v, nodes[joined[:, 1]]))
    return Overlay.from_links(u, v, interest.node_count)


def part_nodes(interest: Interest, part_count: int) -> Ids:
    """The part of each node: the line of `place_on_line` is cut into parts of equally many nodes."""
    node_count = interest.node_count
    line = place_on_line(interest, ROUNDS if part_count > 1 else 0)
    groups = np.empty(node_count, np.int32)
    groups[np.argsort(line, kind="stable")] = np.arange(node_count) * part_count // max(node_count, 1)
    return groups


def place_on_line(interest: Interest, rounds: int = ROUNDS) -> Floats:
    """A position in [0, 1) for each node; nodes that share rare topics are close together.

    Positions are random at first. In each round a topic moves to the mean position of its holders and a node to the
    mean position of its topics, weighted by their rarity; then nodes are spread evenly over the line again. This is a
    power iteration towards the second eigenvector of the matrix of shared topics.
    """
    node_count, owners, topics = interest.node_count, interest.owners, interest.node_topics
    weights = 1 / np.maximum(interest.popularity, 1)[topics]
    totals = np.maximum(np.bincount(owners, weights=weights, minlength=node_count), 1e-12)
    line: Floats = units(U64(0), U64(Purpose.PARTS), U64(0), node_count)
    for _ in range(rounds):
        means = topic_places(interest, line)
        order = np.argsort(
            np.bincount(owners, weights=weights * means[topics], minlength=node_count) / totals, kind="stable"
        )
        line[order] = np.arange(node_count) / node_count
    return line


def topic_places(interest: Interest, line: Floats) -> Floats:
    """The mean position of each topic's holders."""
    sums = np.bincount(interest.node_topics, weights=line[interest.owners], minlength=interest.topic_count)
    places: Floats = sums / np.maximum(interest.popularity, 1)
    return places


def _part(interest: Interest, nodes: Ids, rule: GreedyRule) -> PlanPart:
    """The interests of some nodes, which are renumbered by their position."""
    sizes = interest.sizes[nodes]
    owners = np.repeat(np.arange(len(nodes)), sizes)
    starts = np.repeat(interest.node_starts[nodes] - np.concatenate(([0], np.cumsum(sizes)[:-1])), sizes)
    topics = interest.node_topics[starts + np.arange(len(owners))]
    return PlanPart(nodes, Interest.from_pairs(owners, topics, len(nodes), interest.topic_count), rule)


def _representatives(interest: Interest, groups: Ids, part_count: int) -> Ids:
    """Nodes of each part that together hold all topics which the part shares with other parts."""
    present = np.zeros((part_count, interest.topic_count), np.bool_)
    present[groups[interest.owners], interest.node_topics] = True
    is_spread = present.sum(axis=0) > 1
    found = []
    for group in range(part_count):
        nodes = np.flatnonzero(groups == group).astype(np.int32)
        wants = np.where(is_spread & present[group], REPRESENTATIVES, 0).astype(np.int32)
        chosen = np.empty(len(nodes), np.int32)
        count = cover_topics(interest.node_starts, interest.node_topics, nodes, wants, chosen)
        found.append(np.sort(chosen[:count]))
    return np.concatenate(found)
