"""What SpiderCast's neighbours hold, as they tell it: at first, when it changes, and all of it when something was missed."""

from collections.abc import Sequence

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.actions import Action, Observe
from gossamer.protocols.contract.facts import PeerMisbehaved
from gossamer.protocols.membership.interest_exchange import (
    PART_TOPICS,
    TOPICS_MAX,
    InterestExchange,
    InterestFetched,
)
from gossamer.systems.spidercast.links import Links
from gossamer.systems.spidercast.messages import ConnectOk, ConnectRequest, Heartbeat
from gossamer.systems.spidercast.roots import Roots
from gossamer.systems.spidercast.task import NO_VERSION, Neighbour, NeighbourTask


class NeighbourInterests:
    """Keeps each task's neighbours at the latest version of their interests that can be had."""

    __slots__ = ("_exchange", "_links", "_roots", "_tasks")

    def __init__(self, tasks: Sequence[NeighbourTask], links: Links, roots: Roots, exchange: InterestExchange) -> None:
        self._tasks = tasks
        self._links = links
        self._roots = roots
        self._exchange = exchange

    def new_neighbour(
        self, sender: NodeId, message: ConnectRequest | ConnectOk, told: tuple[int, int], now_us: int, out: list[Action]
    ) -> Neighbour:
        """A neighbour as its message says; the rest of an interest that did not fit is asked for."""
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
            self._exchange.want(self._links.peer(sender), now_us, out)
        return neighbour

    def hear(self, sender: NodeId, message: Heartbeat, now_us: int, out: list[Action]) -> bool:
        """The version that a neighbour is at, and what it changed; says whether it now holds something else."""
        task = self._tasks[message.task]
        neighbour = task.neighbours[sender]
        if message.version <= neighbour.version:
            # Known, or overtaken.
            return False
        if message.since != neighbour.version or message.since == NO_VERSION:
            # Something was lost, or is still to come.
            self._exchange.want(self._links.peer(sender), now_us, out)
            return False
        if len(neighbour.interest) + len(message.added) > TOPICS_MAX:
            out.append(Observe(PeerMisbehaved(sender, f"claims more than {TOPICS_MAX} topics")))
            return False
        task.change_interest(sender, message.added, message.removed)
        self._is_at(neighbour, message.version)
        return True

    def take_in(self, fetched: InterestFetched) -> None:
        """Somebody told all that it holds: maybe a neighbour."""
        for task in self._tasks:
            neighbour = task.neighbours.get(fetched.node)
            if neighbour is not None and fetched.version > neighbour.version:
                task.replace_interest(fetched.node, fetched.topics)
                self._is_at(neighbour, fetched.version)

    def _is_at(self, neighbour: Neighbour, version: int) -> None:
        neighbour.version = version
        self._links.changed()
        self._roots.is_stale = True
