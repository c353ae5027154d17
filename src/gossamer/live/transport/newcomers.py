"""A bound on how often a newcomer is introduced: each JOIN makes up to a view of other nodes send to its address."""

from gossamer.model.values.ids import NodeId
from gossamer.model.values.time import SECOND_US

# Chosen: a newcomer is introduced once a second; it asks again once a period, 10 s in the paper.
INTERVAL_US = SECOND_US
# Chosen: the number of newcomers whose last introduction is remembered.
NEWCOMERS_MAX = 1_024


class Newcomers:
    """When each newcomer was last introduced here, the oldest first."""

    __slots__ = ("introduced_us",)

    def __init__(self) -> None:
        self.introduced_us: dict[NodeId, int] = {}

    def may_introduce(self, newcomer: NodeId, now_us: int) -> bool:
        """Whether to introduce a newcomer now; if so, the time is noted."""
        last_us = self.introduced_us.get(newcomer)
        if last_us is not None and now_us - last_us < INTERVAL_US:
            return False
        self.introduced_us.pop(newcomer, None)
        self.introduced_us[newcomer] = now_us
        if len(self.introduced_us) > NEWCOMERS_MAX:
            del self.introduced_us[next(iter(self.introduced_us))]
        return True
