"""Hashes of the messages of a burst: one signature covers them all, and each message can be checked alone.

A message is the time of its publication and its content. The digest covers the whole burst and is fast to compute; it checks
a burst that is complete. The tree checks a message that is alone: four neighbouring hashes form a group, and the hash of a
group is one hash of the level above, up to the root. The path of a message consists of its group on each level, the lowest
first; with the message and its path everybody can compute the root.

    digest   SHA-256(times of publication (8 bytes each), lengths (4 each), contents)
    message  SHA-256(0, time of publication (8), content), the first 16 bytes
    group    SHA-256(1, one to four hashes), the first 16 bytes
"""

import struct
from collections.abc import Sequence
from hashlib import sha256

DIGEST_BYTES = 32
# Chosen: 16 bytes. A relay would need 2**128 attempts to find another message with the same hash.
HASH_BYTES = 16
# Chosen: with four hashes in a group, a burst of 512 messages needs 171 hashes beyond its leaves (511 with two in a group), and
# a path has at most 288 bytes.
GROUP = 4
_GROUP_BYTES = GROUP * HASH_BYTES
_LEAF_HEAD = struct.Struct(">BQ").pack

# The time of publication and the content of each message of a burst.
Items = Sequence[tuple[int, bytes]]


def digest_of(items: Items) -> bytes:
    """The digest of a burst; raises struct.error if a time is no 64-bit number."""
    times, contents = zip(*items, strict=True)
    numbers = struct.pack(f">{len(items)}Q{len(items)}I", *times, *map(len, contents))
    return sha256(b"".join((numbers, *contents))).digest()


def leaf_of(published_us: int, content: bytes) -> bytes:
    """The hash of one message; raises struct.error if the time is no 64-bit number."""
    return sha256(_LEAF_HEAD(0, published_us) + content).digest()[:HASH_BYTES]


def grow(items: Items) -> tuple[bytes, list[bytes]]:
    """The root of the tree over messages, and the path that each four neighbouring messages share."""
    size, head = HASH_BYTES, _LEAF_HEAD
    # As `leaf_of`: the call would cost a fifth of the time of a leaf.
    hashes = [sha256(head(0, published_us) + content).digest()[:size] for published_us, content in items]
    levels: list[list[bytes]] = []
    while not levels or len(hashes) > 1:
        joined = b"".join(hashes)
        groups = [joined[start : start + _GROUP_BYTES] for start in range(0, len(joined), _GROUP_BYTES)]
        levels.append(groups)
        hashes = [sha256(b"\1" + group).digest()[:size] for group in groups]
    paths = levels.pop()
    while levels:
        paths = [group + paths[place // GROUP] for place, group in enumerate(levels.pop())]
    return hashes[0], paths


def root_of(leaf: bytes, position: int, count: int, path: bytes) -> bytes | None:
    """The root to which a path leads from the leaf at `position` of `count` leaves; None if the leaf is not on the path."""
    start, current = 0, leaf
    while True:
        place, groups = position // GROUP, -(-count // GROUP)
        end = start + HASH_BYTES * min(GROUP, count - place * GROUP)
        group, within = path[start:end], position % GROUP * HASH_BYTES
        if len(group) != end - start or group[within : within + HASH_BYTES] != current:
            return None
        start, current, position, count = end, sha256(b"\1" + group).digest()[:HASH_BYTES], place, groups
        if count == 1:
            return current if start == len(path) else None
