"""Requests and replies on top of topics.

A request is an ordinary message on a topic; its publisher and its sequence number identify it. Replies travel on a second
topic, `TOPIC/replies`: nodes that reply publish on it, nodes that ask follow it. So the access rules of the two topics say who
may ask and who may reply, and a secret of each topic protects both ways.

Promises: a node that replies gets each request at most once. The node that asks takes the first reply (`Node.request`) or all
that arrive in time (`Node.request_all`). NoReply does not say whether a node has carried the request out.
"""

import asyncio
import struct
from typing import TYPE_CHECKING, Any, Self

from msgspec.structs import replace

from gossamer.live.api.held import HeldTopics
from gossamer.live.api.messages import Codec, Message, Receipt, find_codec
from gossamer.live.api.topics import check_topic
from gossamer.model.values.errors import InputError, NodeStateError, NoReply

if TYPE_CHECKING:
    from gossamer.live.api.node import Node
    from gossamer.live.api.publisher import Publisher
    from gossamer.live.api.subscription import Subscription

SUFFIX = "/replies"
# In front of the payload of a reply: the publisher and the sequence number of its request.
_HEAD = struct.Struct(">QQ")
# Chosen: how long a request waits for the first neighbour on the topic of replies, and on its own.
FIND_SECONDS = 3.0
# Chosen: replies that are kept while the numbers of their requests are not known yet.
EARLY_MAX = 1_024


def replies_topic(topic: str, held: HeldTopics) -> str:
    """The topic on which the replies to the requests of a topic travel; both have a secret or none has one."""
    check_topic(topic)
    check_topic(topic + SUFFIX)
    if held.topics.has_secret(topic) != held.topics.has_secret(topic + SUFFIX):
        raise InputError(
            f"give both {topic!r} and {topic + SUFFIX!r} a secret, or neither: replies travel on the second"
        )
    return topic + SUFFIX


class Request:
    """A request, as a node that replies receives it; `message` is the message that carries it."""

    def __init__(self, message: Message, publisher: "Publisher", codec: Codec) -> None:
        self.message = message
        self._publisher = publisher
        self._codec = codec
        self._is_answered = False

    @property
    def payload(self) -> Any:
        """The content of the request."""
        return self.message.payload

    async def reply(self, payload: Any) -> Receipt:
        """Send the reply. A request takes one reply from a node: a second call raises NodeStateError."""
        if self._is_answered:
            raise NodeStateError("this request was answered already; a node sends one reply to a request")
        content = self._codec.encode(payload)
        self._is_answered = True
        head = _HEAD.pack(int(self.message.publisher, 16), self.message.sequence)
        return await self._publisher.publish(head + content)


class Replies:
    """The result of `Node.replies`: enter it with `async with`, then iterate over the requests."""

    def __init__(self, subscription: "Subscription", publisher: "Publisher", codec: str | Codec) -> None:
        # What `SyncReplies` enters in its own way.
        self.subscription = subscription
        self.publisher = publisher
        self._codec = find_codec(codec)

    async def __aenter__(self) -> Self:
        """Take requests from now on."""
        await self.publisher.__aenter__()
        try:
            await self.subscription.__aenter__()
        except BaseException:
            await self.publisher.__aexit__()
            raise
        return self

    async def __aexit__(self, *exception: object) -> None:
        """Take no more requests."""
        self.subscription.close()
        await self.publisher.__aexit__()

    def __aiter__(self) -> Self:
        """Iterate over the requests."""
        return self

    async def __anext__(self) -> Request:
        """The next request; iteration ends with `close` or with the node."""
        return self.request_of(await anext(self.subscription))

    def request_of(self, message: Message) -> Request:
        """The request that a message is."""
        return Request(message, self.publisher, self._codec)

    def close(self) -> None:
        """Take no more requests; iteration ends after those that have arrived."""
        self.subscription.close()


class Asker:
    """The requests that a node sends, and the replies that it waits for."""

    def __init__(self, node: "Node", held: HeldTopics) -> None:
        self._node = node
        self._held = held
        # By topic: the task that reads the replies, and the replies that each open request waits for.
        self._readers: dict[str, asyncio.Task[None]] = {}
        self._waiting: dict[tuple[str, int], asyncio.Queue[Message | None]] = {}
        # Requests that are being published, whose numbers are not known yet, and replies that came meanwhile.
        self._leaving = 0
        self._early: list[tuple[tuple[str, int], Message]] = []

    async def first(self, topic: str, payload: Any, timeout: float, codec: str | Codec) -> Message:
        """The first reply; NoReply if none comes."""
        found = await self._ask(topic, payload, timeout, codec, 1)
        if not found:
            raise NoReply(f"no reply on {topic!r} within {timeout:g} s; a node may have carried the request out")
        return found[0]

    async def all(
        self, topic: str, payload: Any, timeout: float, codec: str | Codec, most: int | None
    ) -> list[Message]:
        """The replies that come in time, at most `most`; an empty list if no node replies."""
        if most is not None and most < 1:
            raise InputError(f"`most` must be at least 1, got {most}")
        try:
            return await self._ask(topic, payload, timeout, codec, most)
        except NoReply:
            return []

    def stop(self) -> None:
        """The node stops: every open request ends."""
        for queue in self._waiting.values():
            queue.put_nowait(None)

    async def _ask(
        self, topic: str, payload: Any, timeout: float, codec: str | Codec, most: int | None
    ) -> list[Message]:
        if not timeout > 0:
            raise InputError(f"`timeout` must be above 0 seconds, got {timeout:g}")
        coder, answers = find_codec(codec), replies_topic(topic, self._held)
        content = coder.encode(payload)
        loop = asyncio.get_running_loop()
        until = loop.time() + timeout
        await self._listen(topic, answers, min(timeout, FIND_SECONDS))
        sequence = await self._publish(topic, content, until - loop.time())
        queue = self._waiting[topic, sequence]
        found: list[Message] = []
        try:
            async with asyncio.timeout_at(until):
                while most is None or len(found) < most:
                    message = await queue.get()
                    if message is None:
                        raise NodeStateError("this node was stopped during the call")
                    try:
                        found.append(replace(message, payload=coder.decode(message.payload)))
                    except Exception as error:
                        self._drop(message.topic, f"the codec cannot decode it ({type(error).__name__}: {error})")
        except TimeoutError:
            pass
        finally:
            del self._waiting[topic, sequence]
        return found

    async def _listen(self, topic: str, answers: str, seconds: float) -> None:
        """Follow the topic of replies, and find a node that holds it; NoReply if there is none."""
        if topic not in self._readers or self._readers[topic].done():
            subscription = await self._node.subscribe(answers, own=True).__aenter__()
            self._readers[topic] = asyncio.create_task(self._read(topic, subscription))
        if self._held.topics.by_name[answers].publishers:
            # This node replies itself.
            return
        try:
            await self._node.ready(answers, timeout=seconds)
        except TimeoutError:
            raise NoReply(
                f"no node that replies on {topic!r} was found within {seconds:g} s; nothing was sent"
            ) from None

    async def _publish(self, topic: str, content: bytes, seconds: float) -> int:
        """Publish a request; returns its number, for which replies are kept from now on."""
        self._leaving += 1
        try:
            receipt = await self._node.publish(topic, content, timeout=max(min(seconds, FIND_SECONDS), 0))
        finally:
            self._leaving -= 1
            early, self._early = self._early, []
        self._waiting[topic, receipt.sequence] = asyncio.Queue()
        for key, message in early:
            self._put(key, message)
        return receipt.sequence

    async def _read(self, topic: str, subscription: "Subscription") -> None:
        async for message in subscription:
            if len(message.payload) < _HEAD.size:
                self._drop(message.topic, "it names no request")
                continue
            asker, sequence = _HEAD.unpack_from(message.payload)
            if asker == self._node.id:
                self._put((topic, sequence), replace(message, payload=message.payload[_HEAD.size :]))

    def _put(self, key: tuple[str, int], message: Message) -> None:
        waiting = self._waiting.get(key)
        if waiting is not None:
            waiting.put_nowait(message)
        elif self._leaving and len(self._early) < EARLY_MAX:
            self._early.append((key, message))

    def _drop(self, topic: str, problem: str) -> None:
        self._held.count_drop("reply not readable", f"dropped a reply on {topic!r}: {problem}")
