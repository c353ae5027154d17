"""Waiting until a topic has enough neighbours."""

import asyncio
from collections.abc import Callable, Sequence

from gossamer.live.api.topics import LiveTopic
from gossamer.model.values.errors import NodeStateError
from gossamer.model.values.ids import NodeId, TopicId

# Chosen: interests also arrive in messages that change no link and therefore report no fact; look this often for those.
LOOK_SECONDS = 0.02


class Readiness:
    """The calls of `Node.ready` that wait, and the number of neighbours that each of them waits for."""

    def __init__(self, neighbours_on: Callable[[TopicId], Sequence[NodeId]]) -> None:
        self._neighbours_on = neighbours_on
        self._waiters: list[tuple[LiveTopic, int, asyncio.Future[None]]] = []

    def now(self) -> float:
        """The loop's clock, in seconds."""
        return asyncio.get_running_loop().time()

    async def wait(self, topic: LiveTopic, peers: int, timeout: float) -> None:
        """Wait until this many neighbours hold the topic; TimeoutError says how many do."""
        if len(self._neighbours_on(topic.id)) >= peers:
            return
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append((topic, peers, waiter))
        try:
            async with asyncio.timeout(timeout):
                while not waiter.done():
                    await asyncio.wait([waiter], timeout=LOOK_SECONDS)
                    self.check()
            waiter.result()
        except TimeoutError:
            found = len(self._neighbours_on(topic.id))
            raise TimeoutError(
                f"after {timeout:g} s {found} of {peers} wanted neighbours hold {topic.name!r}"
            ) from None
        finally:
            self._waiters = [entry for entry in self._waiters if entry[2] is not waiter]

    def check(self) -> None:
        """End the waits whose topics have enough neighbours now."""
        for topic, peers, waiter in self._waiters:
            if not waiter.done() and len(self._neighbours_on(topic.id)) >= peers:
                waiter.set_result(None)

    def stop(self) -> None:
        """End all waits with a NodeStateError: the node stops."""
        for _, _, waiter in self._waiters:
            if not waiter.done():
                waiter.set_exception(NodeStateError("this node was stopped during the call"))
