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
from functools import partial
from typing import Any, Self, TypeVar

from gossamer.live.api.messages import Codec, Gap, Message, Receipt
from gossamer.live.api.node import Node
from gossamer.live.api.publisher import Publisher
from gossamer.live.api.requests import Replies, Request
from gossamer.live.api.subscription import Subscription
from gossamer.live.api.topics import Validator
from gossamer.live.operations.status import NodeStatus
from gossamer.model.values.errors import NodeStateError
from gossamer.model.values.ids import NodeId

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
    def own(self) -> bool:
        """Whether the messages of this node are delivered too."""
        return self._subscription.own

    @property
    def dropped(self) -> int:
        """The number of messages that were dropped because the reader was slow."""
        return self._subscription.dropped

    @property
    def unreadable(self) -> int:
        """The number of messages that could not be decoded or decrypted."""
        return self._subscription.unreadable

    @property
    def waiting(self) -> int:
        """The number of messages that the reader has not taken."""
        return self._subscription.waiting + len(self._messages)

    @property
    def gaps(self) -> list[Gap]:
        """The newest gaps that could not be filled."""
        return list(self._subscription.gaps)

    def _take(self, timeout: float | None) -> Message | None:
        self._subscription.require_entered()
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


class SyncPublisher:
    """The result of `SyncNode.publisher`: inside `with`, the node is part of the topic's overlay."""

    def __init__(self, node: "SyncNode", publisher: Publisher) -> None:
        self._node = node
        self._publisher = publisher

    def __enter__(self) -> Self:
        """Join the topic's overlay."""
        self._node.run(self._publisher.__aenter__())
        return self

    def __exit__(self, *exception: object) -> None:
        """Leave the topic's overlay."""
        self._node.run(self._publisher.__aexit__())

    def publish(self, payload: Any, **options: Any) -> Receipt:
        """See `Node.publish`."""
        return self._node.run(self._publisher.publish(payload, **options))


class SyncRequest:
    """A request, as `SyncReplies` gives it; see `Request`."""

    def __init__(self, node: "SyncNode", request: Request) -> None:
        self.message = request.message
        self._node = node
        self._request = request

    @property
    def payload(self) -> Any:
        """The content of the request."""
        return self._request.payload

    def reply(self, payload: Any) -> Receipt:
        """See `Request.reply`."""
        return self._node.run(self._request.reply(payload))


class SyncReplies:
    """The result of `SyncNode.replies`: enter it with `with`, then iterate over the requests."""

    def __init__(self, node: "SyncNode", replies: Replies) -> None:
        self._node = node
        self._replies = replies
        self._publisher = SyncPublisher(node, replies.publisher)
        self._messages = SyncSubscription(node, replies.subscription)

    def __enter__(self) -> Self:
        """Take requests from now on."""
        self._publisher.__enter__()
        try:
            self._messages.__enter__()
        except BaseException:
            self._publisher.__exit__()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        """Take no more requests."""
        self.close()
        self._publisher.__exit__()

    def close(self) -> None:
        """Take no more requests; iteration ends. Any thread may call it, more than once."""
        self._messages.close()

    def __iter__(self) -> Self:
        """Iterate over the requests; iteration ends with `close` or with the node."""
        return self

    def __next__(self) -> SyncRequest:
        """The next request."""
        return self._request(next(self._messages))

    def get(self, timeout: float | None = None) -> SyncRequest:
        """The next request; TimeoutError if none comes in time, NodeStateError after the end."""
        return self._request(self._messages.get(timeout))

    def _request(self, message: Message) -> SyncRequest:
        return SyncRequest(self._node, self._replies.request_of(message))


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

    def start(self) -> None:
        """As `with`, without its end: call `stop` afterwards."""
        self.__enter__()

    def stop(self) -> None:
        """As `close`; `Node` has this name for it."""
        self.close()

    def subscribe(self, topic: str, **options: Any) -> SyncSubscription:
        """Follow a topic: enter the result with `with`. The options are those of `Node.subscribe`."""
        return SyncSubscription(self, self._node.subscribe(topic, **options))

    def publisher(self, topic: str, codec: str | Codec = "bytes") -> SyncPublisher:
        """Publish on a topic without following it: enter the result with `with`."""
        return SyncPublisher(self, self._node.publisher(topic, codec))

    def replies(self, topic: str, **options: Any) -> SyncReplies:
        """Reply to the requests of a topic: enter the result with `with`. The options are those of `Node.replies`."""
        return SyncReplies(self, self._node.replies(topic, **options))

    def publish(self, topic: str | Sequence[str], payload: Any, **options: Any) -> Receipt:
        """See `Node.publish`."""
        return self.run(self._node.publish(topic, payload, **options))

    def request(self, topic: str, payload: Any, **options: Any) -> Message:
        """See `Node.request`."""
        return self.run(self._node.request(topic, payload, **options))

    def request_all(self, topic: str, payload: Any, **options: Any) -> list[Message]:
        """See `Node.request_all`."""
        return self.run(self._node.request_all(topic, payload, **options))

    def validate(self, topic: str, validator: Validator) -> None:
        """See `Node.validate`. The validator is called on the node's thread. It may be set before the node starts."""
        self._apply(partial(self._node.validate, topic, validator))

    def limit(self, topic: str, payload_bytes: int) -> None:
        """See `Node.limit`."""
        self._apply(partial(self._node.limit, topic, payload_bytes))

    def peers(self, topic: str) -> list[str]:
        """See `Node.peers`."""
        return self.run(_answer(partial(self._node.peers, topic)))

    def reload_rules(self) -> None:
        """See `Node.reload_rules`."""
        self._apply(self._node.reload_rules)

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
    def id(self) -> NodeId:
        """This node's id as a number."""
        return self._node.id

    @property
    def hex_id(self) -> str:
        """This node's id, as messages show it."""
        return self._node.hex_id

    @property
    def is_running(self) -> bool:
        """Whether the node was started and not stopped since."""
        return self._node.is_running

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

    def _apply(self, change: Callable[[], None]) -> None:
        """Change the node, on its loop if it runs."""
        if self._node.is_running:
            self.run(_answer(change))
        else:
            change()

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
