"""Parameters of push and pull, and the age limit of a message."""

from functools import cache
from math import ceil, log
from typing import Annotated

from msgspec import Meta, Struct

from gossamer.model.values.time import MILLISECOND_US

# Chosen: the largest age limit in rounds. The formula gives it for no number of nodes that fits an id.
ROUNDS_MAX = 256


class PushPullParameters(Struct, frozen=True, kw_only=True):
    """How often nodes call, how long they pass a message on, and how many messages they keep for that."""

    period_us: Annotated[
        int,
        Meta(ge=1_000, description="Chosen: 100 ms, several round trips of a network. Microseconds between two rounds"),
    ] = 100 * MILLISECOND_US
    age_rule: Annotated[
        bool,
        Meta(
            description="Paper: true. Whether a message is passed on only up to the age log3 n + O(ln ln n), in rounds; "
            "if false, nodes pass every message on for ever"
        ),
    ] = True
    spare_rounds: Annotated[
        float,
        Meta(
            ge=0,
            le=20,
            description="Chosen: 4, so that a message reaches 99.9% of the nodes over three links a topic. The factor c of "
            "the limit log3 n + c max(1, ln ln n); the paper gives no constant",
        ),
    ] = 4.0
    repeat_pushes: Annotated[
        bool,
        Meta(
            description="Chosen: false. Whether a node pushes a message also to neighbours that it knows to have it, as "
            "the paper's nodes do"
        ),
    ] = False
    topic_size: Annotated[
        int,
        Meta(
            ge=1,
            description="Chosen: 1,000. The number n of nodes that hold a topic, where the overlay does not estimate it; "
            "ten times as many are two rounds more",
        ),
    ] = 1_000
    quiet_calls: Annotated[
        bool,
        Meta(
            description="Chosen: false. Whether nodes also call on topics where no message is young, as the paper "
            "assumes; otherwise the first message of a quiet topic wakes its nodes"
        ),
    ] = False
    kept: Annotated[
        int, Meta(ge=1, le=1_000_000, description="Chosen: 16,384. Messages that a node keeps in order to pass them on")
    ] = 16_384
    kept_bytes: Annotated[
        int, Meta(ge=1, description="Chosen: 4 MiB. Bytes of the messages that a node keeps in order to pass them on")
    ] = 4 * 2**20
    call_bytes: Annotated[
        int,
        Meta(
            ge=1,
            description="Chosen: 256 KiB. Bytes that one call pushes, and that one answer contains, the newest first; "
            "one message always fits",
        ),
    ] = 256 * 1024


def linger_rounds(limit: int) -> int:
    """For how many rounds nodes still call on a topic after its last message has become old.

    Chosen: half of the message's life. A message that follows within this time finds all nodes of the topic calling, so
    a topic with many messages is woken about twice in the life of a message. Without it nodes that have not yet learnt
    the message could stop to pull before it is old.
    """
    return (limit + 1) // 2


@cache
def rounds_limit(topic_size: int, spare_rounds: float) -> int:
    """The age in rounds up to which a message is passed on: log3 n + c max(1, ln ln n), rounded up.

    Paper: "log3 n + O(ln ln n)" (Karp et al., theorem on push and pull). Chosen: max(1, ...), because ln ln n is below
    1 up to n = 15, and a small topic overlay is a path rather than the paper's complete graph.
    """
    size = max(topic_size, 2)
    return min(ceil(log(size, 3) + spare_rounds * max(1.0, log(max(log(size), 1.0)))), ROUNDS_MAX)
