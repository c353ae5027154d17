"""A reader's end of a topic: a bounded queue that is iterated over."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, Self

from gossamer.live.api.messages import (
    CODECS,
    Codec,
    Gap,
    Message,
)
from gossamer.model.values.ids import NodeId
from gossamer.protocols.contract.actions import Deliver

if TYPE_CHECKING:
    from gossamer.live.api.node import Node

# Chosen: a reader that finds messages waiting lets the loop turn after so many, so that the node goes on meanwhile.
TURN_EVERY = 256
# What happens to a message for a reader whose queue is full.
Slow = Literal["block", "drop"]


@lru_cache(maxsize=4096)
def hex_id(node: NodeId) -> str:
    """A node's id as applications see it."""
    return f"{node:016x}"


class Subscription:
    """What `node.subscribe` gives: enter it, then iterate over it.

    `slow="block"`: while the queue is full this node reads from no link, so that publishers wait. `slow="drop"`: the
    oldest message gives way, and `dropped` counts it.
    """

    def __init__(
        self,
        node: "Node",
        topic: str,
        codec: Codec,
        unseal: Callable[[Deliver], bytes] | None,
        queue: int,
        slow: Slow,
        own: bool,
        last: int,
        last_seconds: float,
    ) -> None:
        self.topic = topic
        # Messages that this reader was too slow for, and those that its codec could not read.
        self.dropped = 0
        self.unreadable = 0
        # Gaps that could not be filled, newest last; bounded.
        self.gaps: deque[Gap] = deque(maxlen=1000)
        self.own = own
        self.last = last
        self.last_seconds = last_seconds
        self._node = node
        self._decode = codec.decode
        self._unseal = unseal
        # Bytes that nobody sealed are what they are.
        self._is_plain = unseal is None and codec is CODECS["bytes"]
        self._slow = slow
        self._most = queue
        self._queue: deque[Deliver] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._is_open = False
        self._holds = False
        self._since_turn = 0
        self._key = f"reader {id(self)}"

    async def __aenter__(self) -> Self:
        """Follow the topic from now on."""
        self._node.open_subscription(self)
        self._is_open = True
        return self

    async def __aexit__(self, *exception: object) -> None:
        """Follow it no longer."""
        self.close()

    def close(self) -> None:
        """Follow the topic no longer; who iterates is done."""
        if not self._is_open:
            return
        self._is_open = False
        self._let_read()
        self._node.close_subscription(self)
        self._wake()

    def __aiter__(self) -> Self:
        """Iterate over what comes."""
        return self

    async def __anext__(self) -> Message:
        """The next message; ends when the subscription or the node does."""
        queue = self._queue
        while True:
            while not queue:
                if not self._is_open:
                    raise StopAsyncIteration
                self._waiter = asyncio.get_running_loop().create_future()
                await self._waiter
            self._since_turn += 1
            if self._since_turn >= TURN_EVERY:
                self._since_turn = 0
                await asyncio.sleep(0)
            action = queue.popleft()
            if self._holds and len(queue) <= self._most // 2:
                self._let_read()
            payload: Any = action.payload
            if not self._is_plain:
                try:
                    payload = self._decode(payload if self._unseal is None else self._unseal(action))
                except ValueError:
                    self.unreadable += 1
                    self._node.count_drop("payload not readable by the codec")
                    continue
            publisher, published_at = hex_id(action.publisher), action.published_us / 1e6
            return Message(self.topic, payload, publisher, action.sequence, action.hops, published_at)

    @property
    def waiting(self) -> int:
        """Messages that have come and were not read."""
        return len(self._queue)

    # Called by the node.

    def put(self, actions: Sequence[Deliver]) -> None:
        """Messages for this reader."""
        queue = self._queue
        queue.extend(actions)
        if len(queue) > self._most:
            if self._slow == "drop":
                while len(queue) > self._most:
                    queue.popleft()
                    self.dropped += 1
                    self._node.count_drop("reader too slow")
            elif not self._holds:
                self._holds = True
                self._node.hold(self._key)
        waiter = self._waiter
        if waiter is not None:
            # As `_wake`, which is a call more for every message that is waited for.
            self._waiter = None
            if not waiter.done():
                waiter.set_result(None)

    def _let_read(self) -> None:
        if self._holds:
            self._holds = False
            self._node.release(self._key)

    def _wake(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)
