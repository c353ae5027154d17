"""AAP, anti-entropy aggregation: averages and sizes of a network, or of a topic's subscribers, by gossip.

M. Jelasity, A. Montresor, O. Babaoglu, *Gossip-based aggregation in large dynamic networks*, ACM Transactions on Computer
Systems 23 (2005), pages 219 to 252.

The idea: two nodes that meet replace their values by the mean of both. The sum never changes, and the variance falls to
1 / (2 sqrt(e)), about 0.303, in every cycle in which each node meets one random node (section 3). A *count* is an average,
too: one node, the leader of an *instance*, starts with 1 and all others with 0, so that the mean is 1/n (section 5).
Several instances run at the same time, and the median of their answers is the estimate. Everything restarts once an
*epoch*, so that estimates follow change (section 4.1); a node that hears of a later epoch joins it at once.

These are values without messages. A part sends `offer` with a request of its own, gives what arrived to `answer`, sends
the result with its reply, and gives that to `take`; once a period it calls `tick`.

Differs: a node remembers what it offered, and applies the difference that the answer implies to the value that it has by
then. In the paper an exchange is one step; here other exchanges may come between offer and answer, and the sum still does
not change. Only a lost answer changes it.
Differs: leaders are so many that about four times `instances` start; those with the smallest keyed hashes survive at
every node alike, and the rest are dropped. The paper has no bound on what a node keeps.

What a false value can do: an instance in which one side finds the value of the other implausible is left out of the
exchange. Plausible values of a count are from 0 to a ceiling that falls by half in each cycle of the epoch, as the
largest true value does; from the middle of the epoch on, also at least a quarter and at most four times the own value.
Without this, one node that always claims 1 would destroy every instance, because a mean of 1/n has to be found among
zeros. The tests state what this gives: 5% of the nodes that send numbers without meaning change a size by less than a
factor of 1.3, 5% that always claim 0 by a factor of 2.1, 1% that always claim the largest plausible value by a factor of
5; 1% of the nodes move an average by less than 26% of its distance to their claim. A node that invents instances with
small hashes displaces the true ones: against that, only sizes from shares (`shares.py`) are of use.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from math import isfinite
from statistics import median
from typing import Annotated

from msgspec import Meta, Struct

from gossamer.model.values.draw import Purpose, draw, unit
from gossamer.model.values.ids import NodeId
from gossamer.protocols.contract.messages import Number, Value

# Chosen: estimates never exceed 2^40 nodes.
SIZE_MAX = 2.0**40
# Chosen: from the middle of an epoch on, values of two nodes differ by less than this factor.
RATIO = 4.0
# Chosen: instances in one report; a longer one is refused by the decoder.
INSTANCES_MAX = 64
# Chosen: the ceiling of a count stays at 1 for this many cycles, because nodes do not enter an epoch at the same time.
CEILING_SLACK = 2
# Chosen: no node in the same network is more than a million epochs ahead. The number of an epoch never overflows.
EPOCH_LEAP = 10**6
EPOCH_MAX = 2**61


class AggregationParameters(Struct, frozen=True, kw_only=True):
    """The settings of all aggregates of a node."""

    epoch_cycles: Annotated[
        int, Meta(ge=4, le=1_000, description="Paper: 30. Cycles of an epoch; 30 reduce the variance by 10^-15")
    ] = 30
    instances: Annotated[
        int, Meta(ge=1, le=INSTANCES_MAX, description="Chosen: 16. Concurrent instances of a count; the median counts")
    ] = 16


class Report(Value, frozen=True, array_like=True, gc=False):
    """What one side of an exchange says: epoch, cycle, and the value of each instance (of an average: of instance 0)."""

    epoch: Number
    cycle: Number
    values: Annotated[tuple[tuple[NodeId, float], ...], Meta(max_length=INSTANCES_MAX)]


class _Epochs(ABC):
    """What averages and counts have in common: epochs, and exchanges that keep the sum."""

    __slots__ = (
        "_cycle",
        "_epoch",
        "_has_begun",
        "_has_met",
        "_is_lonely",
        "_is_settled",
        "_offered",
        "_offered_cycle",
        "_parameters",
        "_values",
    )

    def __init__(self, parameters: AggregationParameters) -> None:
        self._parameters = parameters
        self._epoch = 0
        self._cycle = 0
        self._has_begun = False
        # Whether this node exchanged values in the present epoch, whether it ever did, and whether it finished the last
        # epoch without any exchange.
        self._has_met = False
        self._is_settled = False
        self._is_lonely = False
        self._values: dict[NodeId, float] = {}
        self._offered: dict[NodeId, float] | None = None
        self._offered_cycle = 0

    @property
    def epoch(self) -> int:
        """The number of the present epoch."""
        return self._epoch

    def tick(self) -> None:
        """A cycle begins. Call it before each exchange that the node starts in this scope."""
        if not self._has_begun:
            self._begin(self._epoch)
            return
        self._cycle += 1
        if self._cycle >= self._parameters.epoch_cycles:
            self._end()
            self._is_lonely = not self._has_met
            self._begin(self._epoch + 1)

    def offer(self) -> Report:
        """What to send with a request. A later offer replaces this one: its answer is then dropped."""
        self._offered = dict(self._values)
        self._offered_cycle = self._cycle
        return self._report(self._offered)

    def answer(self, report: Report) -> Report | None:
        """Take in an offer; returns what to send back, or None if both nodes are in different epochs."""
        if not self._meets(report):
            return None
        theirs = dict(report.values)
        mine = {}
        for instance in self._common(theirs):
            own, claimed = self._values.get(instance, 0.0), theirs.get(instance, 0.0)
            # Both sides must accept, or one of them would change its value alone and the sum with it.
            if self._is_plausible(own, claimed, self._cycle) and self._is_plausible(claimed, own, report.cycle):
                mine[instance] = own
        for instance, own in mine.items():
            self._values[instance] = own + (theirs.get(instance, 0.0) - own) / 2
        self._bound()
        return self._report(mine)

    def take(self, report: Report | None) -> None:
        """Take in the answer to the last offer. An instance that the answer leaves out was not averaged."""
        offered, self._offered = self._offered, None
        cycle = self._offered_cycle
        if report is None or offered is None or report.epoch != self._epoch:
            return
        self._met()
        theirs = dict(report.values)
        for instance in self._common(theirs):
            if instance not in theirs:
                continue
            sent, claimed = offered.get(instance, 0.0), theirs[instance]
            if self._is_plausible(sent, claimed, cycle):
                # Other exchanges may have changed the value since the offer.
                moved = self._values.get(instance, 0.0) + (claimed - sent) / 2
                self._values[instance] = self._clamp(moved)
        self._bound()

    def _meets(self, report: Report) -> bool:
        """Join the epoch of a report if that is right; returns whether this node is in that epoch now."""
        if self._has_begun and report.epoch == self._epoch:
            self._met()
            return True
        if not self._may_join(report.epoch):
            return False
        if self._has_begun and self._is_past_middle:
            self._end()
        self._begin(report.epoch)
        self._met()
        return True

    def _met(self) -> None:
        self._has_met = self._is_settled = True
        self._is_lonely = False

    def _may_join(self, epoch: int) -> bool:
        """A newcomer joins any later epoch, a node that met nobody any epoch, and others a later one at a bounded rate.

        A node that counts on a false epoch number meets nobody, and so comes back. A node that names later and later
        epochs can at most halve the length of an epoch.
        """
        if not self._has_begun or self._is_lonely:
            return True
        if not self._is_settled:
            return epoch > self._epoch
        return self._epoch < epoch <= self._epoch + EPOCH_LEAP and self._is_past_middle

    @property
    def _is_past_middle(self) -> bool:
        return 2 * self._cycle >= self._parameters.epoch_cycles

    def _begin(self, epoch: int) -> None:
        self._has_begun = True
        self._has_met = False
        self._epoch = min(epoch, EPOCH_MAX)
        self._cycle = 0
        self._offered = None
        self._values = self._first_values()

    def _report(self, values: Mapping[NodeId, float]) -> Report:
        return Report(self._epoch, self._cycle, tuple(values.items()))

    @abstractmethod
    def _first_values(self) -> dict[NodeId, float]:
        """The values of this node at the start of an epoch."""

    @abstractmethod
    def _end(self) -> None:
        """An epoch ends: keep its result."""

    @abstractmethod
    def _common(self, theirs: Mapping[NodeId, float]) -> list[NodeId]:
        """The instances that an exchange with a node with these values averages."""

    @abstractmethod
    def _is_plausible(self, own: float, claimed: float, cycle: int) -> bool:
        """Whether a node with the value `own`, in this cycle of the epoch, may average it with the claimed value."""

    @abstractmethod
    def _clamp(self, value: float) -> float:
        """The value, moved into the range that is possible."""

    @abstractmethod
    def _bound(self) -> None:
        """Keep the state within its bound."""


class EpochAverage(_Epochs):
    """The mean of a value over all nodes, each of which reads its own anew at the start of an epoch.

    Values outside `low` to `high` are not averaged: a false value moves the mean by at most the width of this range.
    """

    __slots__ = ("_high", "_last", "_low", "_read")

    def __init__(self, parameters: AggregationParameters, read: Callable[[], float], low: float, high: float) -> None:
        super().__init__(parameters)
        self._read = read
        self._low = low
        self._high = high
        self._last: float | None = None

    @property
    def mean(self) -> float:
        """The mean at the end of the last epoch; before that, the present value."""
        if self._last is not None:
            return self._last
        return self._values.get(0, self._clamp(self._read()))

    @property
    def present(self) -> float:
        """The value within the present epoch."""
        return self._values.get(0, self.mean)

    def _first_values(self) -> dict[NodeId, float]:
        return {0: self._clamp(self._read())}

    def _end(self) -> None:
        self._last = self._values[0]

    def _common(self, theirs: Mapping[NodeId, float]) -> list[NodeId]:
        return [0] if 0 in theirs else []

    def _is_plausible(self, own: float, claimed: float, cycle: int) -> bool:
        return self._low <= claimed <= self._high

    def _clamp(self, value: float) -> float:
        return min(max(value, self._low), self._high) if isfinite(value) else self._low

    def _bound(self) -> None:
        """An average is a single value."""


class EpochCount(_Epochs):
    """The number of nodes that take part: those of the network, or the subscribers of a topic among themselves.

    `scope` separates counts that run side by side, such as the topic's id. An isolated node counts 1. In a topic that
    is disconnected, each component counts itself (Ma, Wang, Sun 2014, section 3.2).
    """

    __slots__ = ("_guess", "_last", "_node", "_scope", "_seed")

    def __init__(self, parameters: AggregationParameters, seed: int, node: NodeId, scope: int = 0) -> None:
        super().__init__(parameters)
        self._seed = seed
        self._node = node
        self._scope = scope
        self._last: float | None = None
        # The size by which leaders are chosen: the last estimate, halved in every epoch without an instance. At first 1,
        # so that every node leads, and the bound on instances decides which instances survive.
        self._guess = 1.0

    @property
    def size(self) -> float | None:
        """The estimate of the last epoch that had one, or None before that."""
        return self._last

    @property
    def present(self) -> float | None:
        """The estimate within the present epoch: right once the epoch has converged."""
        sizes = [1 / value for value in self._values.values() if value > 0]
        return min(max(median(sizes), 1.0), SIZE_MAX) if sizes else None

    def _first_values(self) -> dict[NodeId, float]:
        chance = min(4 * self._parameters.instances / self._guess, 1.0)
        bits = draw(self._seed, self._node, Purpose.AGGREGATION_LEADER, self._epoch, item=self._scope)
        return {self._node: 1.0} if unit(bits) < chance else {}

    def _end(self) -> None:
        found = self.present
        if found is None:
            self._guess = max(self._guess / 2, 1.0)
        else:
            self._last = self._guess = found

    def _common(self, theirs: Mapping[NodeId, float]) -> list[NodeId]:
        return [*self._values, *(instance for instance in theirs if instance not in self._values)]

    def _is_plausible(self, own: float, claimed: float, cycle: int) -> bool:
        ceiling = 2.0 ** -min(max(cycle - CEILING_SLACK, 0), 64)
        if not 0 <= claimed <= max(ceiling, RATIO * own):
            return False
        is_past_middle = 2 * cycle >= self._parameters.epoch_cycles
        return not is_past_middle or own / RATIO <= claimed <= RATIO * own

    def _clamp(self, value: float) -> float:
        return min(max(value, 0.0), 1.0)

    def _bound(self) -> None:
        """Keep the instances whose leaders have the smallest keyed hashes: the same ones at every node."""
        if len(self._values) <= self._parameters.instances:
            return
        # No seed and no node in the keys: all nodes must agree, whatever their seeds.
        kept = sorted(
            self._values,
            key=lambda leader: (draw(0, 0, Purpose.AGGREGATION_INSTANCE, self._epoch, item=leader), leader),
        )
        self._values = {leader: self._values[leader] for leader in kept[: self._parameters.instances]}
