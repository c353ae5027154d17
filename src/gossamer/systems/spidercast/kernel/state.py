"""SpiderCast for a whole population: the links of `protocols/spidercast`, one by one, in lockstep.

`World` is what the interest view knows; `TaskState` is what every node keeps for one of its two tasks. Rows
differ in length, so they lie one after another: node v's neighbours are slots starts[v] .. starts[v] +
counts[v] - 1, with room for L_max + Margin. What a node was told of a neighbour (degree, target) and what it
last told it stand beside the neighbour, as in the machine; nothing reads another node's state.

Full views are answered from one bitset of holders for each topic, 64 candidates at a time. Partial views hold
a stride through all ids; where interests are small and do not change, a mask of shared topics is kept for each slot
that shares any (four bytes), and a slot is looked up only when its mask can win. Cost of one CONNECT: n/64 words for
each uncovered topic (full), four bytes for each such slot (partial with masks), or view times interest (without).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gossamer.model.values.draw import Purpose

CONNECT = np.array([Purpose.SPIDERCAST_CONNECT_GREEDY, Purpose.SPIDERCAST_CONNECT_RANDOM], np.uint64)
DISCONNECT = np.array([Purpose.SPIDERCAST_DISCONNECT_GREEDY, Purpose.SPIDERCAST_DISCONNECT_RANDOM], np.uint64)
BRIDGE = np.uint64(Purpose.SPIDERCAST_BRIDGE)
REDIRECT = np.array([Purpose.SPIDERCAST_REDIRECT_GREEDY, Purpose.SPIDERCAST_REDIRECT_RANDOM], np.uint64)

COVER_GREEDILY, COVER_AT_RANDOM, COUNT_SIMILAR, COUNT_RANDOM = range(4)
ADAPTIVE_COVERAGE_MAX = 3
# A (degree, target) that nobody has: never told, or never asked.
NEVER = np.uint16(65535)
# Counters: messages by kind, then what tests want to see happen.
KINDS = (
    "ConnectRequest",
    "ConnectOk",
    "Redirect",
    "DisconnectRequest",
    "DisconnectOk",
    "LeaveNotice",
    "Heartbeat",
    "Claims",
)
M_CONNECT, M_CONNECT_OK, M_REDIRECT, M_DISCONNECT, M_DISCONNECT_OK, M_LEAVE, M_HEARTBEAT, M_CLAIMS = range(8)
RAISES, STUCK_DROPS, BRIDGES, IDLE_BRIDGES, COUNTERS = range(8, 13)


class World(NamedTuple):
    """Interests and presence. topics rows: starts[v] .. starts[v] + sizes[v] - 1, ascending."""

    starts: NDArray[np.int64]
    sizes: NDArray[np.int32]
    topics: NDArray[np.int32]
    present: NDArray[np.bool_]
    # uint64[topics, words] and uint64[words]: present holders of each topic; everybody present.
    holders: NDArray[np.uint64]
    everybody: NDArray[np.uint64]
    # Views: how many slots (0: full), and each node's stride and start (empty when full).
    view_size: int
    strides: NDArray[np.int64]
    offsets: NDArray[np.int64]
    # Slots of a node's view with whom it shares a topic: mask_starts[v] .. mask_starts[v + 1] - 1, each the slot's place
    # in the upper 16 bits and, in the lower, which of the node's own topics, by place, it shares. Empty: not kept.
    mask_starts: NDArray[np.int64]
    masks: NDArray[np.uint32]
    # Scratch: how many wanted topics each of these slots has.
    counts: NDArray[np.uint8]
    # Scratch: who may not be chosen, and which topics are wanted.
    blocked: NDArray[np.uint64]
    wanted: NDArray[np.bool_]
    # Scratch: counters in binary, bit l of every node's count in planes[l]; the last row is the carry.
    planes: NDArray[np.uint64]


class TaskState(NamedTuple):
    """One task of every node; see the module's docstring."""

    starts: NDArray[np.int64]
    counts: NDArray[np.int32]
    nodes: NDArray[np.int32]
    degrees: NDArray[np.uint16]
    targets: NDArray[np.uint16]
    told_degrees: NDArray[np.uint16]
    told_targets: NDArray[np.uint16]
    asked_degrees: NDArray[np.uint16]
    asked_targets: NDArray[np.uint16]
    # Which of the node's own topics, by place in its row, the neighbour holds; unused by nodes with more than 64.
    shared: NDArray[np.uint64]
    # Where this node stands among the neighbour's own slots, so that a heartbeat finds its place; -1 nowhere yet.
    mirrors: NDArray[np.int64]
    # By node: L, K, uncovered topics; by subscription: how many neighbours hold the topic.
    target: NDArray[np.int32]
    coverage: NDArray[np.int32]
    uncovered: NDArray[np.int32]
    cover: NDArray[np.uint16]
    # By node: whom the node was redirected to; -1 nobody.
    redirect: NDArray[np.int32]
    # [n, cycles of quarantine]: whom the node asked, by cycle; -1 nobody. The cycle engine clears what has expired.
    quarantine: NDArray[np.int32]
    # By node: its last turn did nothing, and nothing that could change that has happened since.
    quiet: NDArray[np.bool_]
    # By slot: the neighbour has made its claims since it became one; the link is a bridge.
    met: NDArray[np.bool_]
    is_bridge: NDArray[np.bool_]
    # By node: neighbours or interests changed since its last claims.
    moved: NDArray[np.bool_]


class RootState(NamedTuple):
    """`systems/spidercast/roots.py`, by subscription: lowest node heard of, links away, looks that it was oneself."""

    roots: NDArray[np.int32]
    links: NDArray[np.uint8]
    alone: NDArray[np.uint8]
    # By node: a neighbour claims something else than at this node's last look.
    stale: NDArray[np.bool_]
