"""A node is a stack of parts behind one `handle`.

Parts stand bottom up: membership, overlay, dissemination, recovery. A message or timer goes to the
part that owns its class; what is published, to the dissemination and those above it. Every other
event concerns all parts, lowest first. A fact that a part returns is learnt by the parts above it, in
order, before anything else happens.
"""

from collections.abc import Sequence

from gossamer.model.values.errors import MachineMisuse
from gossamer.model.values.ids import NodeId
from gossamer.protocols.contract.actions import Action, Observe
from gossamer.protocols.contract.events import (
    Event,
    MessageReceived,
    PeerUp,
    Publish,
    PublishBurst,
    TimerFired,
)
from gossamer.protocols.contract.facts import Fact, PeerMisbehaved
from gossamer.protocols.contract.messages import Burst, Data
from gossamer.protocols.contract.parts import Overlay, Part


class NodeMachine:
    """One node's machine: routes events to parts and facts upwards."""

    __slots__ = ("_heard", "_learners", "_levels_by_class", "_parts")

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = tuple(parts)
        self._levels_by_class = _levels_by_class(tuple(type(part) for part in parts))
        # For each level, those above it who learn what it states.
        learners = [(level, part.learn) for level, part in enumerate(parts)]
        self._learners = [learners[level + 1 :] for level in range(len(learners))]
        # When each sender was last heard of, for a part that suspects the silent: it empties this.
        self._heard: dict[NodeId, int] | None = next((part.heard for part in parts if hasattr(part, "heard")), None)

    @property
    def overlay(self) -> Overlay:
        """The part that knows who holds a topic; for those who look, not for those who decide."""
        found: list[Overlay] = [part for part in self._parts if isinstance(part, Overlay)]
        if not found:
            raise MachineMisuse("no part of this node knows which neighbours hold a topic")
        return found[0]

    @property
    def part_classes(self) -> tuple[type[Part], ...]:
        """The classes of its parts, bottom up: they own every message and timer of the stack."""
        return tuple(type(part) for part in self._parts)

    @property
    def takes_bursts(self) -> bool:
        """Whether several messages may be published as one (`interface.PublishBurst`)."""
        return PublishBurst in self._levels_by_class

    def handle(self, event: Event, now_us: int) -> Sequence[Action]:
        """The machine contract (`interface.Machine`). The commonest event first."""
        out: list[Action] = []
        if type(event) is MessageReceived:
            if self._heard is not None:
                self._heard[event.sender] = now_us
            level = self._levels_by_class.get(type(event.message))
            if level is None:
                # Differs: no paper says what to do with a message of another system; we observe and drop it.
                reason = f"no part of this node takes {type(event.message).__name__}"
                return (Observe(PeerMisbehaved(event.sender, reason)),)
            # As `_tell`, which is a call more for every message.
            for fact in self._parts[level].handle(event, now_us, out):
                for above, learn in self._learners[level]:
                    further = learn(fact, now_us, out)
                    if further:
                        self._tell(above, further, now_us, out)
        elif type(event) is TimerFired:
            level = self._levels_by_class.get(type(event.timer))
            if level is None:
                raise MachineMisuse(f"no part of this node sets timers of {type(event.timer).__name__}")
            facts = self._parts[level].handle(event, now_us, out)
            if facts:
                self._tell(level, facts, now_us, out)
        else:
            if self._heard is not None and type(event) is PeerUp:
                self._heard[event.node] = now_us
            # What is published concerns the dissemination and what stands above it.
            first = self._levels_by_class.get(Publish, 0) if type(event) is Publish else 0
            if type(event) is PublishBurst:
                if not self.takes_bursts:
                    raise MachineMisuse("the dissemination of this node takes one message at a time")
                first = self._levels_by_class[PublishBurst]
            for level in range(first, len(self._parts)):
                facts = self._parts[level].handle(event, now_us, out)
                if facts:
                    self._tell(level, facts, now_us, out)
        return out

    def _tell(self, level: int, facts: Sequence[Fact], now_us: int, out: list[Action]) -> None:
        for fact in facts:
            for above, learn in self._learners[level]:
                further = learn(fact, now_us, out)
                if further:
                    self._tell(above, further, now_us, out)


_LEVELS: dict[tuple[type[Part], ...], dict[type, int]] = {}


def _levels_by_class(parts: tuple[type[Part], ...]) -> dict[type, int]:
    """Which level owns each message and timer class, and which is the first to publish; made once per stack and shared by all its nodes."""
    if parts not in _LEVELS:
        levels: dict[type, int] = {}
        for level, part in enumerate(parts):
            for owned in (*part.MESSAGES, *part.TIMERS):
                if owned in levels:
                    raise MachineMisuse(f"two parts of one node both own {owned.__name__}")
                levels[owned] = level
                if issubclass(owned, Data):
                    levels.setdefault(Publish, level)
                elif issubclass(owned, Burst):
                    levels.setdefault(PublishBurst, level)
        _LEVELS[parts] = levels
    return _LEVELS[parts]
