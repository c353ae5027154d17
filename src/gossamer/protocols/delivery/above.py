"""The parts above an overlay: dissemination and recovery, for all topics together or apart for each."""

from collections.abc import Callable
from typing import Any

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.model.values.shown import Shown
from gossamer.protocols.contract.node import NodeMachine
from gossamer.protocols.contract.parts import Part
from gossamer.protocols.delivery.apart import apart
from gossamer.protocols.delivery.history import History, StoredHistory
from gossamer.protocols.delivery.own_messages import NumberCounter
from gossamer.protocols.delivery.recovery.machine import Recovery
from gossamer.protocols.delivery.recovery.messages import RecoveryParameters, for_one_topic
from gossamer.protocols.delivery.recovery.offline import OfflineRecovery
from gossamer.protocols.delivery.state import DeliveryState

# (overlay part, seed, node, delivery state) -> the part of a dissemination.
Disseminates = Callable[[Any, int, NodeId, DeliveryState], Part]


def parts_above(
    overlay: Any, make: Disseminates, recovery: RecoveryParameters | None, seed: int, node: NodeId, discloses: bool
) -> tuple[Part, ...]:
    """The parts above an overlay; without recovery if its parameters are None."""
    if discloses:
        return _parts(overlay, make, recovery, seed, DeliveryState(node, **_history(recovery)), node)

    # Only for simulations, where a publisher and a number name one message. Live drivers give each topic its own numbers.
    counter = NumberCounter()

    def of_topic(topic: TopicId, secret: bytes) -> NodeMachine:
        own_seed = Shown(secret).number(b"delivery seed", topic) if secret else seed
        limits = None if recovery is None else for_one_topic(recovery)
        held = DeliveryState(node, discloses=False, counter=counter, **_history(limits))
        return NodeMachine(_parts(overlay, make, limits, own_seed, held, node))

    return (apart(of_topic(0, b"").part_classes)(overlay, of_topic),)


def _history(recovery: RecoveryParameters | None) -> dict[str, Any]:
    if recovery is None:
        return {}
    kind = StoredHistory if recovery.stores else History
    return {"history": kind(recovery.history, recovery.history_bytes), "recovers": True}


def _parts(
    overlay: Any,
    make: Disseminates,
    recovery: RecoveryParameters | None,
    seed: int,
    held: DeliveryState,
    node: NodeId,
) -> tuple[Part, ...]:
    parts: tuple[Part, ...] = (make(overlay, seed, node, held),)
    if recovery is not None:
        kind = OfflineRecovery if recovery.stores else Recovery
        parts = (*parts, kind(recovery, overlay, held, node))
    return parts if held.announcements is None else (held.announcements, *parts)
