"""Keyed randomness: a random number is a pure function of its keys.

`draw(seed, node, purpose, counter, item)` mixes five keys into 64 bits. There is no random stream, so the order of
unrelated draws does not matter, and compiled kernels (`kernels/draw.py`) compute the same numbers without shared
state. The mix multiplies each key by an odd constant, adds the products, and applies the finalizer of splitmix64
(Steele, Lea, Flood 2014; constants of Stafford's mix 13). It is fast and well distributed; it is not cryptographic.
"""

from enum import IntEnum
from hashlib import sha256

MASK = 0xFFFF_FFFF_FFFF_FFFF
SEED_FACTOR = 0x9E37_79B9_7F4A_7C15
NODE_FACTOR = 0xD1B5_4A32_D192_ED03
PURPOSE_FACTOR = 0x8CB9_2BA7_2F3D_8DD7
COUNTER_FACTOR = 0xABC9_8388_FB8F_AC03
ITEM_FACTOR = 0x8BB8_4B93_962E_ACC9
FIRST_MULTIPLIER = 0xBF58_476D_1CE4_E5B9
SECOND_MULTIPLIER = 0x94D0_49BB_1331_11EB

# A handler that draws more than once at the same time uses one counter for each draw, out of this many.
STEPS = 4096


class Purpose(IntEnum):
    """What a number is drawn for. The values are part of every recorded result: append, never renumber.

    A system outside this repository uses `third_party_purpose` instead.
    """

    ORDER = 1  # the order in which nodes are activated within a cycle
    INTRODUCER = 2  # the node that introduces a newcomer
    CONTACTS = 3  # the first contacts of nodes that all start at the same time
    LINK = 4  # latency and loss of one message
    CYCLON_PHASE = 10
    CYCLON_SHUFFLE = 11
    CYCLON_REPLY = 12
    CYCLON_WALK = 13
    CYCLON_REPLACE = 14
    SPIDERCAST_CONNECT_GREEDY = 15
    SPIDERCAST_CONNECT_RANDOM = 16
    SPIDERCAST_DISCONNECT_GREEDY = 17
    SPIDERCAST_DISCONNECT_RANDOM = 18
    SPIDERCAST_REDIRECT_GREEDY = 19
    SPIDERCAST_REDIRECT_RANDOM = 20
    VIEW = 21
    MESH = 22
    WORKLOAD_SIZE = 30
    WORKLOAD_TOPIC = 31
    WORKLOAD_PLACE = 32
    WORKLOAD_COUNT = 33
    GRAPH_DEGREE = 34
    GRAPH_COMMUNITY = 35
    GRAPH_STUB = 36
    CHURN_ON = 40
    CHURN_OFF = 41
    CHURN_PRESENT = 42
    CHURN_CRASH = 43
    PUBLISH_TIME = 50
    PUBLISH_TOPIC = 51
    PUBLISH_NODE = 52
    MATRIX_ROW = 53
    PARTITION = 54
    SPIDERCAST_BRIDGE = 55
    PARTS = 56
    SAMPLE = 57
    FAILED = 58  # whether a node is one of those that fail at the same time
    GOSSIP = 60  # whether a message is sent to a neighbour that does not follow its topic
    PUSH_PULL_CALL = 61  # the neighbour that a node calls in a round
    PUSH_PULL_FIRST = 62  # the neighbour that gets a message when it is published
    PUSH_PULL_PHASE = 63  # when the rounds of a node begin
    STAN_TOPIC = 70
    STAN_WEIGHT = 71
    STAN_WALK = 72
    STAN_PHASE = 74
    STAN_RAISE = 75
    STAN_SHRINK = 76
    STAN_FIRST = 77
    STAN_CONTACT = 78
    STAN_PROBE = 79
    SIMILAR_PARTNER = 90  # the node of a similar view that a node exchanges views with
    SIMILAR_TIE = 91  # ties between equally similar nodes
    COVER_TIE = 92  # ties between nodes that cover equally many topics
    AGENT_PLACE = 93  # which search a full agent view gives up
    SIMILAR_PHASE = 94
    COVER_BRIDGE = 95  # the node that a bridge between two components of a topic leads to
    SEARCH_AGENT = 96  # the node that gets a copy of an isolated search
    SEARCH_SAMPLE = 97  # the nodes that an agent of an isolated search samples
    COVER_RANDOM = 98  # which neighbours are chosen at random
    CHORD_ID = 100
    CHORD_LOOKUP = 101  # the node that looks up a key, and the key
    TMAN_PHASE = 102
    TMAN_PARTNER = 103
    TMAN_TIE = 104  # which of two equally ranked candidates a node prefers
    AGGREGATION_LEADER = 105  # whether a node starts an instance of a count
    AGGREGATION_INSTANCE = 106  # which instances of a count survive where there are too many
    COMMUNITY_PLACE = 107  # the order of users and of topics around the circle
    COMMUNITY_LOCAL = 108  # which subscriptions belong to a window, and where in it they look
    COMMUNITY_SWAP = 109
    TURN_PHASE = 110
    BACKUP_TOPIC = 111  # the order in which topics of a backup set are covered
    BACKUP_CHOICE = 112  # which holder of a topic becomes a backup
    COVER_KNOWN = 113  # which known holders of uncovered topics may enter a cover
    RING_SAMPLE = 114  # a random node for the circle of a node
    LONELY_TOPIC = 115  # which holder of a topic without a neighbour is asked for a link


# Purposes of other packages lie above every value that `Purpose` will ever have.
THIRD_PARTY_PURPOSE_LEAST = 2**32


def third_party_purpose(name: str) -> int:
    """The draw purpose of a system outside this repository, from a name such as `"star-per-topic/hub"`.

    The name is the system's registered name, a slash, and a word for what is drawn. The purpose is a SHA-256 hash of
    the name, at least 2**32 and below 2**64, so that it never equals a value of `Purpose`. It is the same on every
    machine and in every version.

    >>> draw(1, 0, third_party_purpose("star-per-topic/hub"), 0) < 2**64
    True
    """
    span = 2**64 - THIRD_PARTY_PURPOSE_LEAST
    return THIRD_PARTY_PURPOSE_LEAST + int.from_bytes(sha256(name.encode()).digest()[:16], "big") % span


def finish(total: int) -> int:
    """The finalizer: spread a sum of keys (already below 2**64) over 64 bits."""
    total = ((total ^ (total >> 30)) * FIRST_MULTIPLIER) & MASK
    total = ((total ^ (total >> 27)) * SECOND_MULTIPLIER) & MASK
    return total ^ (total >> 31)


def draw_base(seed: int, node: int, purpose: int, counter: int) -> int:
    """The part of a draw's sum that does not depend on the item, to be reused when many items share the other keys."""
    return (seed * SEED_FACTOR + node * NODE_FACTOR + purpose * PURPOSE_FACTOR + counter * COUNTER_FACTOR) & MASK


def draw(seed: int, node: int, purpose: int, counter: int, item: int = 0) -> int:
    """64 random bits for this seed, node, purpose, counter and item."""
    return finish((draw_base(seed, node, purpose, counter) + item * ITEM_FACTOR) & MASK)


def stepped(now_us: int, step: int) -> int:
    """The counter of draw number `step` of a handler at `now_us`."""
    return now_us * STEPS + step


def below(bits: int, bound: int) -> int:
    """A whole number in [0, bound) from the upper half of a draw; bound must be under 2**32."""
    return ((bits >> 32) * bound) >> 32


def unit(bits: int) -> float:
    """A float in [0, 1) from the upper 53 bits of a draw."""
    return (bits >> 11) * 2.0**-53
