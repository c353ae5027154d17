"""Backup sets: for each node v', other nodes that hold its topics (section 4.2).

Topic coverage: each topic of v' is held by a node of the set. Individual commitment: each node of the set holds a topic
of v'. The set is `coverage` successive covers, none of which uses a node of another; a topic with fewer holders is
covered by all of them.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet

from gossamer.model.values.draw import ITEM_FACTOR, MASK, Purpose, below, draw_base, finish
from gossamer.model.values.ids import NodeId, TopicId

# From (topic) to the nodes that may be chosen for it, and from (node) to the topics of a node.
Holders = Callable[[TopicId], Sequence[NodeId]]
# From (topic, nodes chosen already, number of the draw) to a random holder of the topic, if there is another one.
Pick = Callable[[TopicId, Collection[NodeId], int], NodeId | None]
TopicsOf = Callable[[NodeId], AbstractSet[TopicId]]

# More than the covers of any backup set.
COVERS_MAX = 256
# Chosen: draws of a node that is not yet in the set, before all nodes are looked at.
TRIES = 8


def by_primal_dual(
    node: NodeId,
    topics: Collection[TopicId],
    pick: Pick,
    topics_of: TopicsOf,
    loads: Mapping[NodeId, int],
    coverage: int,
    seed: int,
    counter: int,
    choices: int = 2,
) -> list[NodeId]:
    """Cover a random uncovered topic by one of its holders, again and again (`buildBackupsByPD`).

    Differs: the paper takes the holder with most uncovered topics, which loads nodes with large interests as heavily as
    the greedy choice does. Here it is the less loaded of two random holders (`choices`). `loads` counts the sets that a node is in.
    """
    chosen: dict[NodeId, None] = {}
    step = 0
    for cover in range(coverage):
        left = set(topics)
        base = draw_base(seed, node, Purpose.BACKUP_TOPIC, counter * COVERS_MAX + cover)
        for topic in sorted(topics, key=lambda each: (finish((base + each * ITEM_FACTOR) & MASK), each)):
            if topic not in left:
                continue
            best: NodeId | None = None
            for _ in range(choices):
                found = pick(topic, chosen, step)
                step += 1
                if found is not None and (best is None or loads.get(found, 0) < loads.get(best, 0)):
                    best = found
            if best is None:
                left.discard(topic)
            else:
                chosen[best] = None
                left -= topics_of(best)
    return list(chosen)


def among(holders: Holders, node: NodeId, seed: int, counter: int) -> Pick:
    """A random holder, if all holders of a topic are known."""
    base = draw_base(seed, node, Purpose.BACKUP_CHOICE, counter)

    def pick(topic: TopicId, chosen: Collection[NodeId], step: int) -> NodeId | None:
        return _fresh(holders(topic), chosen, node, base, step * (TRIES + 1))

    return pick


def by_rank(holders: Holders, node: NodeId, seed: int) -> Pick:
    """The holder with the lowest draw, as an interest view answers: equal for equal holders, whoever asks and when."""

    def pick(topic: TopicId, chosen: Collection[NodeId], step: int) -> NodeId | None:
        key = draw_base(seed, node, Purpose.BACKUP_CHOICE, step)
        others = (other for other in holders(topic) if other != node and other not in chosen)
        return min(others, key=lambda other: (finish((key + other * ITEM_FACTOR) & MASK), other), default=None)

    return pick


def _fresh(others: Sequence[NodeId], chosen: Collection[NodeId], node: NodeId, base: int, item: int) -> NodeId | None:
    """A random node of `others` that is not chosen yet and is not `node` itself; the draws begin at `item`."""
    count = len(others)
    if count <= TRIES and all(other == node or other in chosen for other in others):
        return None
    for attempt in range(item, item + TRIES):
        found = others[below(finish((base + attempt * ITEM_FACTOR) & MASK), count)]
        if found != node and found not in chosen:
            return found
    rest = [other for other in others if other != node and other not in chosen]
    if not rest:
        return None
    return rest[below(finish((base + (item + TRIES) * ITEM_FACTOR) & MASK), len(rest))]


def by_greed(
    node: NodeId, topics: Collection[TopicId], holders: Holders, topics_of: TopicsOf, coverage: int
) -> list[NodeId]:
    """Take the node that holds most uncovered topics, again and again (`buildBackupsGreedily`); ties by id."""
    chosen: dict[NodeId, None] = {}
    for _ in range(coverage):
        left = set(topics)
        counts: dict[NodeId, int] = {}
        for topic in left:
            for other in holders(topic):
                if other != node and other not in chosen:
                    counts[other] = counts.get(other, 0) + 1
        while counts:
            best = min(counts, key=lambda other: (-counts[other], other))
            covered = left & topics_of(best)
            if not covered:
                break
            chosen[best] = None
            left -= covered
            for topic in covered:
                for other in holders(topic):
                    if other in counts:
                        counts[other] -= 1
            del counts[best]
    return list(chosen)


def is_acceptable(
    node: NodeId,
    topics: Collection[TopicId],
    backups: Collection[NodeId],
    holders: Holders,
    topics_of: TopicsOf,
    coverage: int,
) -> bool:
    """Both properties: enough backups hold each topic, and each backup holds one."""
    wanted = set(topics)
    if any(backup == node or not wanted & topics_of(backup) for backup in backups):
        return False
    return all(
        sum(topic in topics_of(backup) for backup in backups)
        >= min(coverage, sum(other != node for other in holders(topic)))
        for topic in topics
    )
