"""Messages on their way to a link: encoded once for all receivers, and gathered into frames of the link's wire version."""

from collections.abc import Sequence
from typing import Any

from gossamer.live.transport import wire

# Chosen: the size of a frame, unless it holds one long message. A larger one would take longer to arrive as a whole.
FRAME_BYTES = 64 * 1024


class Parcel:
    """Messages to the same nodes. Each is encoded once for each version of the wire format, when a link needs it."""

    __slots__ = ("_bodies", "_frames", "messages")

    def __init__(self, messages: Sequence[Any]) -> None:
        self.messages = messages
        self._bodies: list[bytes] | None = None
        self._frames: list[bytes] | None = None

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

    @property
    def bodies(self) -> list[bytes]:
        """Version 3: the messages, for a frame that may contain others too."""
        if self._bodies is None:
            self._bodies = [wire.encode(message) for message in self.messages]
        return self._bodies


class SendQueue:
    """What waits for the next write of one link. All messages that wait together become one frame, up to a size."""

    __slots__ = ("_frame_bytes", "_waiting", "_whole", "frames_out", "size", "version", "waiting_bytes")

    def __init__(self, frame_bytes: int) -> None:
        # Until the greeting has told the version, there is at most a `Bye`, which has the form of version 2.
        self.version = 2
        self.frames_out = 0
        # Bytes that wait.
        self.size = 0
        self._frame_bytes = min(FRAME_BYTES, frame_bytes) - wire.LIST_BYTES
        # Complete frames, and the messages of the next frame.
        self._whole: list[bytes] = []
        self._waiting: list[bytes] = []
        self.waiting_bytes = 0

    def add(self, parcel: Parcel) -> None:
        """Queue all messages of a parcel, in order."""
        if self.version < wire.LISTS:
            frames = parcel.frames
            self._whole += frames
            self.frames_out += len(frames)
            self.size += sum(map(len, frames))
            return
        bodies = parcel.bodies
        for body in bodies:
            length = len(body)
            if self.waiting_bytes + length > self._frame_bytes:
                self._complete()
            self._waiting.append(body)
            self.waiting_bytes += length
            self.size += length

    def take(self) -> bytes:
        """All that waits, as whole frames; empty if nothing does."""
        if self._waiting:
            self._complete()
        content = b"".join(self._whole)
        self.clear()
        return content

    def clear(self) -> None:
        """Drop all that waits."""
        self._whole.clear()
        self._waiting.clear()
        self.size = self.waiting_bytes = 0

    def _complete(self) -> None:
        if self._waiting:
            self._whole.append(wire.list_head(len(self._waiting), self.waiting_bytes))
            self._whole += self._waiting
            self._waiting.clear()
            self.waiting_bytes = 0
            self.frames_out += 1
