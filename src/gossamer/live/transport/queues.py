"""Messages on their way to a link: encoded once for all receivers, and gathered into frames of the link's wire version."""

from collections.abc import Sequence
from typing import Any

from gossamer.live.transport import wire
from gossamer.protocols.contract.compact import Definition, Writer

# Chosen: the size of a frame, unless it holds one long message. A larger one would take longer to arrive as a whole.
FRAME_BYTES = 64 * 1024


class Parcel:
    """Messages to the same nodes. Each is encoded once for each version of the wire format, when a link needs it."""

    __slots__ = ("_frames", "bodies", "era", "joined", "messages", "used")

    # Version 3: each message, all of them together, and the definitions that they need, in this era of the writer.
    bodies: list[bytes]
    joined: bytes
    used: set[Definition]

    def __init__(self, messages: Sequence[Any]) -> None:
        self.messages = messages
        self._frames: list[bytes] | None = None
        # Until a link needs version 3, it is not encoded.
        self.era = -1

    @property
    def count(self) -> int:
        """The number of messages."""
        return len(self.messages)

    @property
    def frames(self) -> list[bytes]:
        """Version 2: one frame for each message."""
        if self._frames is None:
            self._frames = [wire.frame(message) for message in self.messages]
        return self._frames

    def encode(self, writer: Writer) -> None:
        """Encode the messages for version 3."""
        self.bodies, self.used = writer.encode(self.messages)
        self.joined = self.bodies[0] if len(self.bodies) == 1 else b"".join(self.bodies)
        self.era = writer.era


class SendQueue:
    """What waits for the next write of one link. All messages that wait together become one frame, up to a size."""

    __slots__ = (
        "_count",
        "_era",
        "_frame_bytes",
        "_told",
        "_waiting",
        "_waiting_bytes",
        "_whole",
        "_writer",
        "frames_out",
        "size",
        "version",
    )

    def __init__(self, frame_bytes: int, writer: Writer) -> None:
        # Until the greeting has told the version, there is at most a `Bye`, which has the form of version 2.
        self.version = 2
        self.frames_out = 0
        # Bytes that wait.
        self.size = 0
        self._frame_bytes = min(FRAME_BYTES, frame_bytes) - wire.LIST_BYTES
        # Complete frames; and the messages of the next frame, their number and their bytes. The first item is for its head.
        self._whole: list[bytes] = []
        self._waiting = [b""]
        self._count = self._waiting_bytes = 0
        self._writer = writer
        # The definitions that this link has carried in this era of the writer.
        self._told: set[Definition] = set()
        self._era = 0

    def add(self, parcel: Parcel) -> None:
        """Queue all messages of a parcel, in order."""
        if self.version < wire.COMPACT:
            frames = parcel.frames
            self._whole += frames
            self.frames_out += len(frames)
            self.size += sum(map(len, frames))
            return
        era = self._writer.era
        if parcel.era != era:
            parcel.encode(self._writer)
            # The encoding may begin an era.
            era = parcel.era
        if self._era != era:
            self._told, self._era = set(), era
        if not parcel.used <= self._told:
            self._define(parcel.used)
        length = len(parcel.joined)
        total = self._waiting_bytes + length
        if total <= self._frame_bytes:
            self._waiting.append(parcel.joined)
            self._count += len(parcel.messages)
            self._waiting_bytes = total
            self.size += length
        else:
            for body in parcel.bodies:
                self._append(body)

    def take(self) -> bytes:
        """All that waits, as whole frames; empty if nothing does."""
        if self._whole:
            self._complete()
            content = b"".join(self._whole)
        else:
            self._waiting[0] = self._head()
            content = b"".join(self._waiting)
        self.clear()
        return content

    def clear(self) -> None:
        """Drop all that waits."""
        self._whole, self._waiting = [], [b""]
        self.size = self._count = self._waiting_bytes = 0

    def _define(self, used: set[Definition]) -> None:
        """Queue the definitions that the link has not carried. A definition without a body stands for an id."""
        new = sorted((each for each in used - self._told if each.body), key=_body)
        self._told.update(new)
        for each in new:
            self._append(each.body)

    def _append(self, body: bytes) -> None:
        length = len(body)
        if self._waiting_bytes + length > self._frame_bytes:
            self._complete()
        self._waiting.append(body)
        self._count += 1
        self._waiting_bytes += length
        self.size += length

    def _complete(self) -> None:
        """End the frame that is being filled."""
        self._waiting[0] = self._head()
        self._whole += self._waiting
        self._waiting = [b""]
        self._count = self._waiting_bytes = 0

    def _head(self) -> bytes:
        """The head of the frame that is being filled; empty if it has no messages."""
        if not self._count:
            return b""
        self.frames_out += 1
        return wire.list_head(self._count, self._waiting_bytes)


def _body(definition: Definition) -> bytes:
    return definition.body
