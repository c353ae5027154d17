"""SpiderCast for a whole population: in lockstep, the same links as `systems/spidercast/machine.py`.

`World` is the content of the interest view; `TaskState` is the state of every node for one of its two tasks. Rows have
different lengths and are stored one after another: the neighbours of node v are in slots starts[v] .. starts[v] +
counts[v] - 1, with room for L_max + Margin. Each slot also has the (degree, target) that the neighbour told this node
and the values that this node last told the neighbour, as in the machine; no code reads another node's state.

Full views use one bitset of holders for each topic and compare 64 candidates at a time. A partial view is a stride
through all ids. If interests are small and never change, each slot that shares a topic has a four-byte mask of the
shared topics, and a slot is read only if its mask can win. Cost of one CONNECT: n/64 words for each uncovered topic
(full view), four bytes for each slot that shares a topic (partial view with masks), or view times interest (partial
view without).
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
ASK_CHANGED, ASK_ALWAYS, ASK_ONCE = range(3)
ADAPTIVE_COVERAGE_MAX = 3
# A value that no degree or target has: the neighbour was never told, or never asked.
NEVER = np.uint16(65535)
# Counters: messages by kind, then rare events that tests require.
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


class TurnRules(NamedTuple):
    """Rules that parameters of the same names choose (`systems/spidercast/parameters.py`)."""

    adaptive: bool
    drop_when_stuck: bool
    # Ties by a scan, and the largest draw with which a later candidate wins.
    scan: bool
    coin_limit: np.uint64
    # Figure 3, line 9, as printed; one of ASK_CHANGED, ASK_ALWAYS, ASK_ONCE; Figure 4, line 23, as printed.
    parts_above_degree: bool
    ask_again: int
    agrees_above_target: bool
    # A covered task sleeps until it loses a neighbour; the random task disconnects only above L_max.
    wakes_on_loss: bool
    random_parts_above: bool


class World(NamedTuple):
    """Interests and presence. The topics of v, ascending, are topics[starts[v]] .. topics[starts[v] + sizes[v] - 1]."""

    starts: NDArray[np.int64]
    sizes: NDArray[np.int32]
    topics: NDArray[np.int32]
    present: NDArray[np.bool_]
    # uint64[topics, words] and uint64[words]: the present holders of each topic, and all present nodes.
    holders: NDArray[np.uint64]
    everybody: NDArray[np.uint64]
    # Views: the number of slots (0: full), and the stride and start of each node (empty for full views).
    view_size: int
    strides: NDArray[np.int64]
    offsets: NDArray[np.int64]
    # The slots of node v's view that share a topic with v: mask_starts[v] .. mask_starts[v + 1] - 1. The upper 16 bits
    # are the number of the slot, the lower 16 bits mark the topics of v, by position, that it shares. Empty: not used.
    mask_starts: NDArray[np.int64]
    masks: NDArray[np.uint32]
    # Scratch: the number of wanted topics of each of these slots.
    counts: NDArray[np.uint8]
    # Scratch: nodes that must not be chosen, and wanted topics.
    blocked: NDArray[np.uint64]
    wanted: NDArray[np.bool_]
    # Scratch: counts in binary; planes[l] has bit l of every node's count, and the last row is the carry.
    planes: NDArray[np.uint64]


class TaskState(NamedTuple):
    """The state of one task for every node; see the module's docstring."""

    starts: NDArray[np.int64]
    counts: NDArray[np.int32]
    nodes: NDArray[np.int32]
    degrees: NDArray[np.uint16]
    targets: NDArray[np.uint16]
    told_degrees: NDArray[np.uint16]
    told_targets: NDArray[np.uint16]
    asked_degrees: NDArray[np.uint16]
    asked_targets: NDArray[np.uint16]
    # Bits for the node's own topics, by position, that the neighbour holds; unused for nodes with more than 64 topics.
    shared: NDArray[np.uint64]
    # The slot of this node among the neighbour's own slots, for heartbeats; -1 if there is none yet.
    mirrors: NDArray[np.int64]
    # By node: L, K, the number of uncovered topics; by subscription: the number of neighbours that hold the topic.
    target: NDArray[np.int32]
    coverage: NDArray[np.int32]
    uncovered: NDArray[np.int32]
    cover: NDArray[np.uint16]
    # By node: the node that it was redirected to; -1 if none.
    redirect: NDArray[np.int32]
    # [n, cycles of quarantine]: the node that was asked in each cycle; -1 if none. The population clears expired
    # entries.
    quarantine: NDArray[np.int32]
    # By node: whether its last turn did nothing and no change since then can make the next turn differ.
    quiet: NDArray[np.bool_]
    # By node, with `wakes_on_loss`: the task is covered, and no loss of a neighbour has woken it since.
    asleep: NDArray[np.bool_]
    # By slot: whether the neighbour has sent claims since it became a neighbour; whether the link is a bridge.
    met: NDArray[np.bool_]
    is_bridge: NDArray[np.bool_]
    # By node: whether neighbours or interests changed since its last claims.
    moved: NDArray[np.bool_]


class RootState(NamedTuple):
    """State of `systems/spidercast/roots.py` by subscription.

    The root is the lowest node heard of, `links` its distance, `alone` the number of turns in which it was the node
    itself.
    """

    roots: NDArray[np.int32]
    links: NDArray[np.uint8]
    alone: NDArray[np.uint8]
    # By node: whether claims of a neighbour changed since this node last processed them.
    stale: NDArray[np.bool_]
