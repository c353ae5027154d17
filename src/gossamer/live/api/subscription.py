"""A subscription: a bounded queue of messages that the application iterates over."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, Self

from gossamer.live.api.arrival import Arrival
from gossamer.live.api.messages import (
    CODECS,
    Codec,
    Gap,
    Message,
)
from gossamer.model.values.errors import InputError, NodeStateError
from gossamer.model.values.ids import NodeId
from gossamer.protocols.contract.actions import Deliver

if TYPE_CHECKING:
    from gossamer.live.api.held import HeldTopics
    from gossamer.live.api.patterns import LivePatterns

log = logging.getLogger("gossamer.live")

# Chosen: a reader that never waits yields to the event loop after this many messages, so that the node keeps working.
YIELD_EVERY = 256
# Chosen: gaps that a subscription remembers.
GAPS_MAX = 1_000
# What happens when the queue of a reader is full.
Slow = Literal["block", "drop"]


@dataclass(frozen=True)
class Wanted:
    """The older messages that a subscription asks for."""

    last: int = 0
    last_us: int = 0
    since_us: int = 0


NOTHING_OLDER = Wanted()


def check_wanted(slow: str, last: int, last_seconds: float, since: float, queue: int | None) -> Wanted:
    """The older messages that the options of a subscription ask for; an InputError if an option is wrong."""
    if slow not in ("block", "drop"):
        raise InputError(f"`slow` must be 'block' or 'drop', got {slow!r}")
    if min(last, last_seconds, since) < 0 or (queue is not None and queue < 1):
        raise InputError("`last`, `last_seconds` and `since` must not be negative, and `queue` must be at least 1")
    if since and (last or last_seconds):
        raise InputError("`since` gets everything that `last` and `last_seconds` would get; give one of them")
    return Wanted(last, int(last_seconds * 1_000_000), int(since * 1_000_000))


@lru_cache(maxsize=4096)
def hex_id(node: NodeId) -> str:
    """A node's id as applications see it: 16 hexadecimal digits."""
    return f"{node:016x}"


class Subscription:
    """The result of `Node.subscribe`: enter it with `async with`, then iterate over it.

    `slow="drop"`: a full queue drops its oldest messages; `dropped` counts them, and `gaps` lists them. `slow="block"`:
    while the queue is full, this node reads from no link, also not the messages that it relays to other nodes.
    """

    def __init__(
        self,
        held: "HeldTopics | LivePatterns",
        topic: str,
        codec: Codec,
        unseal: Callable[[Deliver], bytes] | None,
        queue: tuple[int, int],
        slow: Slow,
        own: bool,
        wanted: Wanted,
    ) -> None:
        self.topic = topic
        # Messages that were dropped because the reader was slow, and messages that the codec could not decode.
        self.dropped = 0
        self.unreadable = 0
        # The newest gaps, the newest last, and the first and last dropped message of each publisher since the last read.
        self._gaps: deque[Gap] = deque(maxlen=GAPS_MAX)
        self._missed: dict[NodeId, tuple[int, int]] = {}
        self.own = own
        self.wanted = wanted
        self._held = held
        # Content of the codec "bytes" needs no decoding.
        self._decode = None if codec is CODECS["bytes"] else codec.decode
        self._unseal = unseal
        # Remembers that the reader took a message, where the node has a history on disk.
        self._note: Callable[[NodeId, int], None] | None = None
        self._is_plain = unseal is None and self._decode is None
        self._slow = slow
        # Bounds of the queue, and the payload bytes that were put in since it was empty, or since they were last counted.
        self._most, self._bytes_most = queue
        self._bytes = 0
        self._queue: deque[Deliver] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiter: Arrival | None = None
        self._is_open = self._was_entered = False
        self._is_pausing = False
        self._since_yield = 0
        self._key = f"reader {id(self)}"
        # A pattern stands for several topics.
        self._is_one_topic = type(self) is Subscription

    async def __aenter__(self) -> Self:
        """Follow the topic from now on."""
        self._held.open_subscription(self)
        # Kept, because asking for the running loop takes a system call.
        self._loop = asyncio.get_running_loop()
        self._is_open = self._was_entered = True
        return self

    async def __aexit__(self, *exception: object) -> None:
        """Unsubscribe."""
        self.close()

    def close(self) -> None:
        """Unsubscribe; iteration ends after the messages that have arrived."""
        if not self._is_open:
            return
        self._is_open = False
        self._resume_reading()
        self._held.close_subscription(self)
        self.wake()

    def require_entered(self) -> None:
        """Raise a NodeStateError if the subscription was never entered: no message can arrive."""
        if not self._was_entered:
            raise NodeStateError(
                f"the subscription to {self.topic!r} was not entered; "
                "use `async with node.subscribe(...) as messages` (`with` for a SyncNode)"
            )

    def __aiter__(self) -> Self:
        """Iterate over the messages."""
        return self

    async def __anext__(self) -> Message:
        """The next message; iteration ends with the subscription or the node."""
        queue = self._queue
        while True:
            while not queue:
                if not self._is_open or self._loop is None:
                    self.require_entered()
                    raise StopAsyncIteration
                self._bytes = 0
                self._waiter = Arrival(self._loop)
                await self._waiter
            self._since_yield += 1
            if self._since_yield >= YIELD_EVERY:
                self._since_yield = 0
                await asyncio.sleep(0)
            if self._missed:
                self._note_missed()
            action = queue.popleft()
            if self._is_pausing and len(queue) <= self._most // 2 and self._count_bytes() <= self._bytes_most // 2:
                self._resume_reading()
            payload: Any = action.payload
            if not self._is_plain:
                if self._note is not None:
                    self._note(action.publisher, action.sequence)
                try:
                    content = payload if self._unseal is None else self._unseal(action)
                except ValueError:
                    self.unreadable += 1
                    reason = "payload not encrypted with the topic's secret"
                    self._held.count_drop(reason, f"dropped a message on {self.topic!r}: {reason}")
                    continue
                try:
                    payload = content if self._decode is None else self._decode(content)
                except Exception as error:
                    self.unreadable += 1
                    problem = f"{type(error).__name__}: {error}"
                    sentence = f"dropped a message on {self.topic!r}: the codec cannot decode its payload ({problem})"
                    self._held.count_drop("payload not readable by the codec", sentence)
                    continue
            publisher, published_at = hex_id(action.publisher), action.published_us / 1e6
            topic = self.topic if self._is_one_topic else self.name_of(action)
            return Message(topic, payload, publisher, action.sequence, action.hops, published_at)

    @property
    def waiting(self) -> int:
        """The number of messages in the queue."""
        return len(self._queue)

    @property
    def gaps(self) -> deque[Gap]:
        """The newest messages that this reader will not get: gaps that could not be filled, and dropped messages."""
        self._note_missed()
        return self._gaps

    # Called by the node.

    def keep_position(self, note: Callable[[NodeId, int], None]) -> None:
        """Call this with the publisher and the number of each message before the reader gets it."""
        self._note = note
        self._is_plain = False

    def take_note(self) -> Callable[[NodeId, int], None] | None:
        """What `keep_position` gave, for a reader that takes messages in advance and calls it itself."""
        note, self._note = self._note, None
        return note

    def name_of(self, action: Deliver) -> str:
        """The name of the topic that a message is delivered on."""
        return self.topic

    def put(self, actions: Sequence[Deliver]) -> None:
        """Add messages to the queue; `wake` follows."""
        self._queue.extend(actions)
        self._bytes += (
            len(actions[0].payload) if len(actions) == 1 else sum([len(action.payload) for action in actions])
        )
        if self._is_full():
            if self._slow == "drop":
                self._drop_oldest()
            elif not self._is_pausing:
                self._is_pausing = True
                self._held.pause_reading(self._key)

    def wake(self) -> None:
        """Let the reader run if it waits."""
        waiter, self._waiter = self._waiter, None
        if waiter is not None:
            waiter.wake()

    def _is_full(self) -> bool:
        # One message is always kept, however large it is.
        if len(self._queue) > self._most:
            return True
        return self._bytes > self._bytes_most and len(self._queue) > 1 and self._count_bytes() > self._bytes_most

    def _count_bytes(self) -> int:
        # Reading a message does not subtract its bytes: that would cost a tenth of the time of a read.
        self._bytes = sum([len(action.payload) for action in self._queue])
        return self._bytes

    def _drop_oldest(self) -> None:
        if not self._missed:
            log.warning("a reader of %s is too slow: its oldest messages are dropped", self.topic)
        self._count_bytes()
        while len(self._queue) > self._most or (self._bytes > self._bytes_most and len(self._queue) > 1):
            action = self._queue.popleft()
            self._bytes -= len(action.payload)
            self.dropped += 1
            self._held.count_drop("reader too slow")
            first, _ = self._missed.get(action.publisher, (action.sequence, 0))
            self._missed[action.publisher] = (first, action.sequence)
            if len(self._missed) > GAPS_MAX:
                self._note_missed()

    def _note_missed(self) -> None:
        for publisher, (first, last) in self._missed.items():
            self._gaps.append(Gap(self.topic, hex_id(publisher), first - 1, last + 1))
        self._missed.clear()

    def _resume_reading(self) -> None:
        if self._is_pausing:
            self._is_pausing = False
            self._held.resume_reading(self._key)
