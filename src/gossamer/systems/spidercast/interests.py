"""The interests of SpiderCast's neighbours: sent with CONNECT, updated by heartbeats, fetched whole after a lost update."""

from collections.abc import Collection, Sequence

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.actions import Action, Observe
from gossamer.protocols.contract.facts import PeerMisbehaved
from gossamer.protocols.membership.interest_exchange import (
    PART_TOPICS,
    TOPICS_MAX,
    InterestExchange,
    InterestFetched,
)
from gossamer.protocols.roots import Roots
from gossamer.systems.spidercast.links import Links
from gossamer.systems.spidercast.messages import ConnectOk, ConnectRequest, Heartbeat, Task
from gossamer.systems.spidercast.task import NO_VERSION, Neighbour, NeighbourTask

# The last fields of a heartbeat: the version before a change of interest, the topics added and removed, and whether an answer is
# wanted.
HeartbeatFields = tuple[int, tuple[TopicId, ...], tuple[TopicId, ...], bool]
NO_CHANGE: HeartbeatFields = (0, (), (), False)
ASKS: HeartbeatFields = (0, (), (), True)


class NeighbourInterests:
    """Keeps the interests of each task's neighbours up to date."""

    __slots__ = ("_exchange", "_links", "_roots", "_tasks")

    def __init__(self, tasks: Sequence[NeighbourTask], links: Links, roots: Roots, exchange: InterestExchange) -> None:
        self._tasks = tasks
        self._links = links
        self._roots = roots
        self._exchange = exchange

    def new_neighbour(
        self, sender: NodeId, message: ConnectRequest | ConnectOk, told: tuple[int, int], now_us: int, out: list[Action]
    ) -> Neighbour:
        """A neighbour with the interest in its message; the rest of an interest that did not fit the frame is fetched."""
        interest: Sequence[TopicId] = message.interest[:PART_TOPICS]
        is_whole = message.count <= len(interest)
        if not is_whole:
            fetched = self._exchange.recall(sender, message.version)
            is_whole = fetched is not None
            interest = interest if fetched is None else fetched
        neighbour = Neighbour(message.degree, message.target, interest, told)
        if is_whole:
            neighbour.version = message.version
        else:
            self._exchange.fetch(self._links.peer(sender), now_us, out)
        return neighbour

    def update(self, sender: NodeId, message: Heartbeat, now_us: int, out: list[Action]) -> bool:
        """Apply a change of interest from a heartbeat; returns whether the neighbour's interest is another now."""
        task = self._tasks[message.task]
        neighbour = task.neighbours[sender]
        if message.version <= neighbour.version:
            # This version is known, or a newer one.
            return False
        if message.since != neighbour.version or message.since == NO_VERSION:
            # An earlier change was lost or has not arrived yet.
            self._exchange.fetch(self._links.peer(sender), now_us, out)
            return False
        if len(neighbour.interest) + len(message.added) > TOPICS_MAX:
            out.append(Observe(PeerMisbehaved(sender, f"claims more than {TOPICS_MAX} topics")))
            return False
        task.change_interest(sender, message.added, message.removed)
        self._set_version(sender, neighbour, message.version)
        return True

    def take_in(self, fetched: InterestFetched) -> None:
        """A whole interest was fetched; the node may be a neighbour."""
        for task in self._tasks:
            neighbour = task.neighbours.get(fetched.node)
            if neighbour is not None and fetched.version > neighbour.version:
                task.replace_interest(fetched.node, fetched.topics)
                self._set_version(fetched.node, neighbour, fetched.version)

    def _set_version(self, node: NodeId, neighbour: Neighbour, version: int) -> None:
        neighbour.version = version
        self._links.topics_changed(node)
        self._roots.is_stale = True


def may_be_bridge(message: ConnectRequest, interest: Collection[TopicId]) -> bool:
    """Whether a CONNECT may make a bridge: in the random task, and with a shared topic, because bridges are not dropped."""
    shares = any(topic in interest for topic in message.interest) or message.count > len(message.interest)
    return message.is_bridge and message.task == Task.RANDOM and shares
