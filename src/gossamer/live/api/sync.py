"""A node for scripts and notebooks: the same as `Node`, without asyncio.

with gossamer.SyncNode(join=["127.0.0.1:7400"]) as node:
    with node.subscribe("prices/eur") as messages:
        node.publish("prices/eur", b"1.07")
        for message in messages: ...

The node has its own thread with its own event loop, so that it also works where another loop runs, as in a notebook.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import CancelledError
from typing import Any, Self, TypeVar

from gossamer.live.api.messages import Gap, Message, Receipt
from gossamer.live.api.node import Node
from gossamer.live.api.subscription import Subscription
from gossamer.live.operations.status import NodeStatus
from gossamer.model.values.errors import NodeStateError

# Chosen: the most messages in transit from the loop's thread to the reader's; beyond that, the subscription's queue
# fills.
HANDOVER_MESSAGES = 256

Answer = TypeVar("Answer")


class SyncSubscription:
    """The result of `SyncNode.subscribe`: enter it with `with`, then iterate over it or `get` one message at a time."""

    def __init__(self, node: "SyncNode", subscription: Subscription) -> None:
        self.topic = subscription.topic
        self._node = node
        self._subscription = subscription
        self._messages: deque[Message] = deque()
        self._changed = threading.Condition()
        self._is_over = False
        # Set on the loop's thread when the reader has made room.
        self._room = asyncio.Event()
        # Remembers that the application took a message, where the node has a history on disk.
        self._note: Callable[[int, int], None] | None = None
        self._pump: asyncio.Task[None] | None = None

    def __enter__(self) -> Self:
        """Follow the topic from now on."""
        self._node.run(self._open())
        return self

    def __exit__(self, *exception: object) -> None:
        """Unsubscribe."""
        self.close()

    def close(self) -> None:
        """Unsubscribe; iteration ends. Any thread may call it, more than once."""
        self._node.call(self._subscription.close)

    def __iter__(self) -> Iterator[Message]:
        """Iterate over the messages; iteration ends with the subscription or the node."""
        return self

    def __next__(self) -> Message:
        """The next message."""
        message = self._take(None)
        if message is None:
            raise StopIteration
        return message

    def get(self, timeout: float | None = None) -> Message:
        """The next message; TimeoutError if none comes in time, NodeStateError after the subscription has ended."""
        message = self._take(timeout)
        if message is None:
            raise NodeStateError(f"the subscription to {self.topic!r} has ended")
        return message

    @property
    def dropped(self) -> int:
        """The number of messages that were dropped because the reader was slow."""
        return self._subscription.dropped

    @property
    def gaps(self) -> list[Gap]:
        """The newest gaps that could not be filled."""
        return list(self._subscription.gaps)

    def _take(self, timeout: float | None) -> Message | None:
        with self._changed:
            if not self._changed.wait_for(lambda: self._messages or self._is_over, timeout):
                raise TimeoutError(f"no message on {self.topic!r} within {timeout:g} s")
            if not self._messages:
                return None
            message = self._messages.popleft()
            if self._note is not None:
                self._note(int(message.publisher, 16), message.sequence)
            has_room = len(self._messages) == HANDOVER_MESSAGES // 2
        if has_room:
            self._node.call(self._room.set)
        return message

    # On the loop's thread.

    async def _open(self) -> None:
        await self._subscription.__aenter__()
        self._note = self._subscription.take_note()
        self._pump = asyncio.ensure_future(self._hand_over())

    async def _hand_over(self) -> None:
        try:
            async for message in self._subscription:
                with self._changed:
                    self._messages.append(message)
                    self._changed.notify()
                    is_full = len(self._messages) >= HANDOVER_MESSAGES
                    if is_full:
                        self._room.clear()
                if is_full:
                    await self._room.wait()
        finally:
            with self._changed:
                self._is_over = True
                self._changed.notify_all()


class SyncNode:
    """A live node without asyncio; the arguments are those of `Node`. `with` starts it and stops it."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._node = Node(*arguments, **options)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._closing = threading.Lock()

    def __enter__(self) -> Self:
        """Start."""
        if self._thread is not None:
            raise NodeStateError("this node was started before; make a new SyncNode")
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._live, name=f"gossamer {self._node.hex_id}", daemon=True)
        self._thread.start()
        try:
            self.run(self._node.start())
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        """Stop."""
        self.close()

    def close(self) -> None:
        """Leave the network, as `Node.stop`. Any thread may call this method, more than once."""
        with self._closing:
            loop, thread = self._loop, self._thread
            if loop is None or thread is None or not thread.is_alive():
                return
            if threading.current_thread() is thread:
                raise NodeStateError(
                    "a validator or codec cannot close its own node; close the node from another thread"
                )
            try:
                asyncio.run_coroutine_threadsafe(self._node.stop(), loop).result()
            finally:
                loop.call_soon_threadsafe(loop.stop)
                thread.join()

    def subscribe(self, topic: str, **options: Any) -> SyncSubscription:
        """Follow a topic: enter the result with `with`. The options are those of `Node.subscribe`."""
        return SyncSubscription(self, self._node.subscribe(topic, **options))

    def publish(self, topic: str | Sequence[str], payload: Any, **options: Any) -> Receipt:
        """See `Node.publish`."""
        return self.run(self._node.publish(topic, payload, **options))

    def ready(self, topic: str, peers: int = 1, timeout: float = 10.0) -> None:
        """See `Node.ready`."""
        self.run(self._node.ready(topic, peers, timeout))

    def status(self) -> NodeStatus:
        """See `Node.status`."""
        return self.run(_answer(self._node.status))

    @property
    def address(self) -> str:
        """HOST:PORT of this node, which other nodes can `join`."""
        return self._node.address

    @property
    def hex_id(self) -> str:
        """This node's id, as messages show it."""
        return self._node.hex_id

    def run(self, work: Coroutine[Any, Any, Answer]) -> Answer:
        """Run a coroutine on the node's loop and wait for its result."""
        loop, thread = self._loop, self._thread
        if loop is None or thread is None or not thread.is_alive():
            work.close()
            raise NodeStateError("this node is not running; use it inside `with gossamer.SyncNode(...) as node`")
        future = asyncio.run_coroutine_threadsafe(work, loop)
        try:
            return future.result()
        except CancelledError:
            raise NodeStateError("this node was closed during the call") from None
        except BaseException:
            # Ctrl-C, above all: cancel the call, because no caller waits for its result.
            future.cancel()
            raise

    def call(self, function: Callable[[], object]) -> None:
        """Call a function on the node's loop soon; do nothing if the loop has ended."""
        loop, thread = self._loop, self._thread
        if loop is not None and thread is not None and thread.is_alive() and not loop.is_closed():
            loop.call_soon_threadsafe(function)

    def _live(self) -> None:
        loop = self._loop
        assert loop is not None
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
            left = asyncio.all_tasks(loop)
            for task in left:
                task.cancel()
            loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        finally:
            loop.close()


async def _answer(function: Callable[[], Answer]) -> Answer:
    return function()
