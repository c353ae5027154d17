"""A Cyclon view: a bounded list of peers with ages, in an order that is part of the state because positions are drawn."""

from typing import Any

from msgspec import Struct

from gossamer.model.values.draw import Purpose, below, draw, stepped
from gossamer.model.values.ids import NodeId
from gossamer.protocols.contract.messages import Address, Digest

# Chosen: 255, so that ages fit a byte. An entry of that age is asked next in any case.
OLDEST_AGE = 255


class ViewEntry(Struct, frozen=True, array_like=True, gc=False):
    """A peer in a view."""

    node: NodeId
    age: int
    address: Address = b""
    # A digest of the interest of the peer, where entries carry interests and it is known.
    digest: Digest | None = None


class CyclonView:
    """The entries, stored by column: every shuffle reads all ages, and few of the other values."""

    __slots__ = ("_addresses", "_ages", "_digests", "_node", "_seed", "_size_max", "nodes")

    def __init__(self, seed: int, node: NodeId, size_max: int) -> None:
        self._seed = seed
        self._node = node
        self._size_max = size_max
        self.nodes: list[NodeId] = []
        self._ages: list[int] = []
        self._addresses: list[bytes] = []
        self._digests: list[Digest | None] = []

    @property
    def is_full(self) -> bool:
        """Whether another entry can only replace one of these."""
        return len(self.nodes) >= self._size_max

    def has_room_for(self, node: NodeId) -> bool:
        """Whether a node may be appended: it is another node, not yet in the view, and the view is not full."""
        return node != self._node and not self.is_full and node not in self.nodes

    def address(self, position: int) -> bytes:
        """The address of the entry at a position."""
        return self._addresses[position]

    def grow_older(self) -> None:
        """Increase every age by one."""
        self._ages = [min(age + 1, OLDEST_AGE) for age in self._ages]

    def remove_oldest(self) -> ViewEntry:
        """Take out the first of the oldest entries."""
        return self.remove(self._ages.index(max(self._ages)))

    def renew(self, entry: ViewEntry, is_its_own: bool) -> None:
        """Update the address and interest of a known peer if the entry is newer; addresses may change."""
        position = self.nodes.index(entry.node)
        if entry.address and (is_its_own or entry.age < self._ages[position]):
            self._addresses[position] = entry.address
        known = self._digests[position]
        if entry.digest is not None and (known is None or entry.digest.version > known.version):
            self._digests[position] = entry.digest

    def choose(self, count: int, purpose: Purpose, now_us: int, item: int) -> None:
        """Move `count` random entries to the front: the first steps of a Fisher-Yates shuffle."""
        size = len(self.nodes)
        for step in range(count):
            bits = draw(self._seed, self._node, purpose, stepped(now_us, step), item)
            self._swap(step, step + below(bits, size - step))

    def leave_out(self, node: NodeId, count: int) -> int:
        """Move `node` out of the first `count` entries; returns how many of the first entries do not contain it."""
        if node not in self.nodes[:count]:
            return count
        # The next entry takes its place; without a next entry, there is one fewer.
        has_more = count < len(self.nodes)
        self._swap(self.nodes.index(node), count if has_more else count - 1)
        return count if has_more else count - 1

    def _swap(self, one: int, other: int) -> None:
        columns: tuple[list[Any], ...] = (self.nodes, self._ages, self._addresses, self._digests)
        for column in columns:
            column[one], column[other] = column[other], column[one]

    def first(self, count: int) -> tuple[ViewEntry, ...]:
        """The first `count` entries."""
        columns = self.nodes[:count], self._ages[:count], self._addresses[:count], self._digests[:count]
        return tuple(ViewEntry(*row) for row in zip(*columns, strict=True))

    def append(self, entry: ViewEntry) -> None:
        """Add an entry at the end."""
        self.nodes.append(entry.node)
        self._ages.append(_age(entry.age))
        self._addresses.append(entry.address)
        self._digests.append(entry.digest)

    def replace(self, position: int, entry: ViewEntry) -> ViewEntry:
        """Put an entry in the place of another, which is returned."""
        gone = ViewEntry(self.nodes[position], self._ages[position], self._addresses[position], self._digests[position])
        self.nodes[position] = entry.node
        self._ages[position] = _age(entry.age)
        self._addresses[position] = entry.address
        self._digests[position] = entry.digest
        return gone

    def remove(self, position: int) -> ViewEntry:
        """Take an entry out; the last entry moves into its place."""
        last = ViewEntry(self.nodes.pop(), self._ages.pop(), self._addresses.pop(), self._digests.pop())
        return self.replace(position, last) if position < len(self.nodes) else last


def _age(age: int) -> int:
    """Clamp an age that a peer sent."""
    return min(max(age, 0), OLDEST_AGE)
