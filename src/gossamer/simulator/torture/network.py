"""The network of a scenario: partitions of several kinds, slow links, loss and repetition, each for some time."""

from dataclasses import dataclass, field

from gossamer.model.values.draw import draw, finish, third_party_purpose, unit
from gossamer.simulator.network import Network
from gossamer.simulator.torture.scenario import Fault

_PAIR = third_party_purpose("torture/pair")
_CUTS = ("cut", "cut_some", "cut_one_way")
ON_LINKS = (*_CUTS, "clog", "lose", "repeat")


@dataclass(frozen=True)
class FaultyNetwork(Network):
    """Latency as in `Network`, with the faults of a scenario that concern links. `hits` counts what each fault did."""

    faults: tuple[Fault, ...] = ()
    seed: int = 0
    hits: list[int] = field(default_factory=list, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.hits.extend([0] * len(self.faults))

    def parted(self, at_us: int, sender: int, receiver: int) -> bool:
        """See `Network`."""
        return any(
            self._cuts(fault, place, sender, receiver)
            for place, fault in enumerate(self.faults)
            if fault.kind in _CUTS and fault.at_us <= at_us < fault.until_us
        )

    def delays_us(self, at_us: int, sender: int, receiver: int, bits: int) -> tuple[int, ...]:
        """See `Network`."""
        more_us, is_repeated = 0, False
        for place, fault in enumerate(self.faults):
            if not fault.at_us <= at_us < fault.until_us:
                continue
            kind = fault.kind
            if kind in _CUTS:
                if self._cuts(fault, place, sender, receiver):
                    self.hits[place] += 1
                    return ()
            elif kind == "clog":
                if sender in fault.nodes and receiver in fault.nodes:
                    self.hits[place] += 1
                    more_us += int(fault.amount)
            elif unit(finish(bits ^ (place + 1))) < fault.amount:
                self.hits[place] += 1
                if kind == "lose":
                    return ()
                is_repeated = True
        first = more_us + self.latency.delay_us(sender, receiver, bits >> 32)
        if not is_repeated:
            return (first,)
        return first, more_us + self.latency.delay_us(sender, receiver, finish(bits) >> 32)

    def _cuts(self, fault: Fault, place: int, sender: int, receiver: int) -> bool:
        is_from, is_to = sender in fault.nodes, receiver in fault.nodes
        if is_from == is_to:
            return False
        if fault.kind == "cut_one_way":
            return is_from
        low, high = min(sender, receiver), max(sender, receiver)
        return fault.kind == "cut" or unit(draw(self.seed, low, _PAIR, high, place)) < fault.amount
