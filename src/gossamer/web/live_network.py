"""A live network: asks every node for its status and its telemetry, again and again, and keeps the scene up to date."""

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Any

from gossamer.live.operations.status import NodeStatus
from gossamer.live.operations.status_server import fetch_watch
from gossamer.live.operations.trace import NodeWatch
from gossamer.model.values.errors import PeerError
from gossamer.model.values.ids import NodeId, Role, TopicId
from gossamer.protocols.telemetry import (
    ControlSent,
    CopyReceived,
    MessageDelivered,
    MessageDropped,
    MessagePublished,
    MessagesLost,
)
from gossamer.web.frames import FrameMaker
from gossamer.web.scene import Scene

# Chosen: how often nodes are asked, and how many at a time.
ASK_SECONDS = 0.5
AT_ONCE = 16
ANSWER_SECONDS = 3.0
# Chosen: a node that did not answer so many times in turn is shown as gone.
SILENT_MAX = 2
# Chosen: so many messages a second are traced; of faster networks, every second, fourth, eighth ... message.
TRACED_PER_SECOND = 20.0
# Nodes, links and interests come from the status; of the records only those of messages count.
_ABOUT_MESSAGES = (MessagePublished, CopyReceived, MessageDelivered, MessagesLost, MessageDropped, ControlSent)


class WatchedNode:
    """What is known of the node at one address."""

    def __init__(self) -> None:
        self.node: NodeId | None = None
        self.next = 0
        self.silent = 0
        # None: not asked yet, so that nobody knows what is new.
        self.published: int | None = None
        self.delivered = 0
        # How often something was dropped, by reason.
        self.counts: dict[str, int] = {}


class LiveNetwork:
    """Nodes at addresses that may change; `names` are readable names of nodes by id, if there are any."""

    title = "live network"

    def __init__(self, addresses: Callable[[], list[str]], names: Callable[[], Mapping[NodeId, str]] = dict) -> None:
        self._addresses = addresses
        self._names = names
        self._topic_names: dict[TopicId, str] = {}
        self._watched: dict[str, WatchedNode] = {}
        # Neighbours that were never asked, because nobody gave their address.
        self._strangers: set[NodeId] = set()
        self._every = 1
        self.scene = Scene(self._name_node, lambda topic: self._topic_names.get(topic, f"{topic:016x}"))
        self._frames = FrameMaker(self.scene)
        self._asked_at = time.monotonic()

    def frame(self, at_us: int, **wanted: Any) -> dict[str, Any]:
        """The scene now, as the page draws it; `at_us` is for runs that are over."""
        return {**self._frames.frame(**wanted), "every": self._every}

    async def run(self) -> None:
        """Ask all nodes again and again."""
        while True:
            began = time.monotonic()
            await self.ask()
            await asyncio.sleep(max(ASK_SECONDS - (time.monotonic() - began), ASK_SECONDS / 5))

    async def ask(self) -> None:
        """Ask all nodes once."""
        turns = asyncio.Semaphore(AT_ONCE)

        async def ask(address: str) -> NodeWatch | PeerError:
            async with turns:
                try:
                    return await fetch_watch(address, self._watched[address].next, self._every, ANSWER_SECONDS)
                except PeerError as error:
                    return error

        addresses = self._addresses()
        for address in addresses:
            self._watched.setdefault(address, WatchedNode())
        answers = await asyncio.gather(*map(ask, addresses))
        self.scene.now_us = time.time_ns() // 1000
        published = self.scene.published
        found = dict(zip(addresses, answers, strict=True))
        for address, watched in self._watched.items():
            answer = found.get(address)
            if isinstance(answer, NodeWatch):
                self._take_status(watched, answer)
            elif address in found:
                self._miss(watched, "does not answer")
            else:
                self._remove(watched, "is gone")
        # Records after all statuses, so that a message's followers are known when its first record comes.
        for answer in answers:
            if isinstance(answer, NodeWatch):
                self._take_records(answer)
        self._show_strangers(answers)
        self._frames.note_totals()
        self._choose_trace(self.scene.published - published)

    def _take_status(self, watched: WatchedNode, answer: NodeWatch) -> None:
        scene, status = self.scene, answer.status
        node = int(status.node, 16)
        if watched.node != node:
            # Another node listens there now.
            self._remove(watched, "was replaced")
            watched.node, watched.published = node, None
        watched.silent, watched.next = 0, answer.next
        self._topic_names.update((topic, name) for name, topic in answer.topics.items())
        entry = scene.add(node)
        roles = {answer.topics[each.topic]: _role(each.follows, each.publishes) for each in status.topics}
        for topic in [*entry.roles, *roles]:
            scene.set_role(node, topic, roles.get(topic, 0))
        kept = {int(link.node, 16) for link in status.links if link.kept}
        for peer in [*entry.neighbours, *kept]:
            scene.set_link(node, peer, peer in kept)
        views = {
            answer.topics[name]: {int(peer, 16): None for peer in peers} for name, peers in answer.neighbours.items()
        }
        if views != entry.views:
            entry.views = views
            scene.version += 1
        self._count(watched, status)

    def _count(self, watched: WatchedNode, status: NodeStatus) -> None:
        """Add what the node published and delivered since it was last asked, and say what it dropped."""
        scene = self.scene
        if watched.published is not None:
            scene.published += status.published - watched.published
            scene.delivered += status.delivered - watched.delivered
            for reason, count in status.counts.items():
                more = count - watched.counts.get(reason, 0)
                if more > 0:
                    name = scene.name_node(int(status.node, 16))
                    scene.say(f"node {name}: {reason}" + (f" ({more} times)" if more > 1 else ""))
        watched.published, watched.delivered = status.published, status.delivered
        watched.counts = status.counts

    def _take_records(self, answer: NodeWatch) -> None:
        if answer.missed:
            name = self.scene.name_node(int(answer.status.node, 16))
            self.scene.say(f"{answer.missed} records of node {name} were forgotten before they were read")
        for record in answer.records:
            if isinstance(record, _ABOUT_MESSAGES):
                self.scene.apply(record, self.scene.now_us)

    def _show_strangers(self, answers: list[NodeWatch | PeerError]) -> None:
        """Show neighbours whose own status nobody asks for, while a node reports them."""
        asked = {watched.node for watched in self._watched.values()}
        found = {
            int(link.node, 16)
            for answer in answers
            if isinstance(answer, NodeWatch)
            for link in answer.status.links
            if link.kept
        } - asked
        for node in self._strangers - found - asked:
            self.scene.remove(node, "is no longer a neighbour")
        for node in found:
            self.scene.add(node)
        self._strangers = found

    def _choose_trace(self, published: int) -> None:
        """Trace one message in a power of two, so that nodes that change at different moments still agree on some."""
        now = time.monotonic()
        speed = published / max(now - self._asked_at, 0.1)
        self._asked_at = now
        wanted = 1
        while speed / wanted > TRACED_PER_SECOND:
            wanted *= 2
        self._every = wanted

    def _miss(self, watched: WatchedNode, how: str) -> None:
        watched.silent += 1
        if watched.silent >= SILENT_MAX:
            self._remove(watched, how)

    def _remove(self, watched: WatchedNode, how: str) -> None:
        if watched.node is not None:
            self.scene.remove(watched.node, how)

    def _name_node(self, node: NodeId) -> str:
        return self._names().get(node) or f"{node:016x}"


def _role(follows: bool, publishes: bool) -> int:
    return (Role.FOLLOWS if follows else 0) | (Role.PUBLISHES if publishes else 0)
