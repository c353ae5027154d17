"""Who follows which pattern: a table that nodes spread by gossip, so that publishers can name new topics to them.

The idea: topics are many and patterns are few, so patterns travel and names do not. Every node keeps a table of the nodes
that follow patterns. A node that begins to publish on a topic names it to exactly the nodes whose patterns match; those follow
the topic like any other. A name costs one short message for each such node, and nothing where no pattern matches.

An entry has its node's version: the newest wins, and an entry without patterns removes them. A new entry is pushed to a few
links. The rest is repaired in pairs: a node sends a digest of its table (a sum of hashes); a node with another digest answers
with the versions that it has; the first sends what is newer. Entries expire unless their nodes renew them.

The table knows neither links nor clocks: `live/api/patterns.py` drives it.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated

from msgspec import Meta

from gossamer.model.values.draw import ITEM_FACTOR, MASK, finish
from gossamer.model.values.errors import InputError
from gossamer.model.values.ids import NodeId
from gossamer.model.values.pattern import PATTERN_BYTES_MAX, Pattern
from gossamer.model.values.time import SECOND_US
from gossamer.protocols.contract.messages import NUMBER_MAX, Address, Number, Value, WireMessage

# Chosen: patterns of one node, and nodes with patterns that a table has room for (about 10 MB with all bounds reached).
NODE_PATTERNS_MAX = 32
NODES_MAX = 1_024
# Chosen: a node renews its entry every five minutes, and an entry lasts for three times that.
RENEW_US = 300 * SECOND_US
LASTS_US = 3 * RENEW_US
# Chosen: the number of links that a new entry is pushed to. With random links this reaches 98% of the nodes.
PUSHES = 4
# Chosen: entries and names in one message.
ENTRIES_MAX = 64
NAMES_MAX = 512

# An id of a node has 64 bits.
_Node = Annotated[int, Meta(ge=0)]
_Text = Annotated[str, Meta(max_length=PATTERN_BYTES_MAX)]


class PatternEntry(Value, frozen=True, array_like=True, gc=False):
    """The patterns that a node follows, at one version of its entry."""

    node: _Node
    address: Address
    version: Number
    patterns: Annotated[tuple[_Text, ...], Meta(max_length=NODE_PATTERNS_MAX)]


class PatternEntries(WireMessage, frozen=True, array_like=True, gc=False, tag="pattern_entries"):
    """Entries that the receiver may lack."""

    entries: Annotated[tuple[PatternEntry, ...], Meta(max_length=ENTRIES_MAX)]


class PatternDigest(WireMessage, frozen=True, array_like=True, gc=False, tag="pattern_digest"):
    """The digest of the sender's table."""

    digest: Annotated[bytes, Meta(max_length=8)]


class PatternVersions(WireMessage, frozen=True, array_like=True, gc=False, tag="pattern_versions"):
    """The nodes in the sender's table, with versions; if it `asks`, the receiver answers with its own."""

    versions: Annotated[tuple[tuple[_Node, Number], ...], Meta(max_length=NODES_MAX)]
    asks: bool


class TopicNames(WireMessage, frozen=True, array_like=True, gc=False, tag="topic_names"):
    """Topics on which the sender publishes, for a node whose patterns match them. `address` is the sender's."""

    names: Annotated[tuple[_Text, ...], Meta(max_length=NAMES_MAX)]
    address: Address
    # The number of this message at its sender.
    number: Number = 0


class NamesTaken(WireMessage, frozen=True, array_like=True, gc=False, tag="names_taken"):
    """The answer to `TopicNames`: names that are not answered are sent again, because a link may end with them."""

    number: Number


MESSAGES = (PatternEntries, PatternDigest, PatternVersions, TopicNames, NamesTaken)


class PatternTable:
    """The entries that a node knows, its own among them."""

    def __init__(self, node: NodeId) -> None:
        # Entries that were new since they were last taken, to be pushed to other nodes.
        self.fresh: dict[NodeId, PatternEntry] = {}
        self._node = node
        self._entries: dict[NodeId, PatternEntry] = {}
        self._patterns: dict[NodeId, list[Pattern]] = {}
        self._until_us: dict[NodeId, int] = {}
        self._digest = 0

    def __len__(self) -> int:
        return len(self._entries)

    def set_own(self, address: bytes, patterns: Sequence[str], now_us: int) -> None:
        """Tell other nodes the patterns that this node follows now; also called to renew them."""
        known = self._entries.get(self._node)
        if known is None and not patterns:
            return
        version = max(now_us, 0 if known is None else known.version + 1)
        self._put(PatternEntry(self._node, address, version, tuple(patterns)), now_us)

    def entry(self, node: NodeId) -> PatternEntry | None:
        """What is known of a node's patterns."""
        return self._entries.get(node)

    def takers(self, name: str) -> Iterator[PatternEntry]:
        """The other nodes that follow a pattern which matches a topic."""
        for node, patterns in self._patterns.items():
            if node != self._node and any(pattern.matches(name) for pattern in patterns):
                yield self._entries[node]

    def is_wanted(self, entry: PatternEntry, name: str) -> bool:
        """Whether one of these patterns matches a topic."""
        return any(pattern.matches(name) for pattern in self._patterns.get(entry.node, ()))

    def digest(self) -> PatternDigest:
        """The digest of this table."""
        return PatternDigest(self._digest.to_bytes(8, "big"))

    def take_fresh(self) -> list[PatternEntries]:
        """The new entries as messages to push."""
        fresh, self.fresh = tuple(self.fresh.values()), {}
        return _messages(fresh)

    def expire(self, now_us: int) -> None:
        """Forget the entries that were not renewed."""
        for node in [node for node, until_us in self._until_us.items() if until_us <= now_us and node != self._node]:
            self._remove(node)

    def take(self, message: WireMessage, now_us: int) -> tuple[list[WireMessage], list[PatternEntry]]:
        """Take a message of the table: the answers to its sender, and the entries of other nodes that have changed."""
        if isinstance(message, PatternEntries):
            return [], [entry for entry in message.entries if self._learn(entry, now_us)]
        if isinstance(message, PatternDigest):
            return ([] if message == self.digest() else [self._versions(asks=True)]), []
        assert isinstance(message, PatternVersions)
        theirs = dict(message.versions)
        newer = [entry for node, entry in self._entries.items() if entry.version > theirs.get(node, -1)]
        answers: list[WireMessage] = [*_messages(newer)]
        if message.asks and any(version > self._version(node) for node, version in theirs.items()):
            answers.append(self._versions(asks=False))
        return answers, []

    def _versions(self, asks: bool) -> PatternVersions:
        return PatternVersions(tuple((node, entry.version) for node, entry in self._entries.items()), asks)

    def _version(self, node: NodeId) -> int:
        known = self._entries.get(node)
        return -1 if known is None else known.version

    def _learn(self, entry: PatternEntry, now_us: int) -> bool:
        if not self._version(entry.node) < entry.version < NUMBER_MAX:
            return False
        if entry.node == self._node:
            # Somebody else claims to be this node, or it is an entry of an earlier run: this node's own is newer again.
            own = self._entries.get(self._node)
            patterns, address = ((), entry.address) if own is None else (own.patterns, own.address)
            self._put(PatternEntry(self._node, address, entry.version + 1, patterns), now_us)
            return False
        if entry.node not in self._entries and len(self._entries) >= NODES_MAX:
            return False
        return self._put(entry, now_us)

    def _put(self, entry: PatternEntry, now_us: int) -> bool:
        try:
            patterns = [Pattern(text) for text in entry.patterns]
        except InputError:
            return False
        self._remove(entry.node)
        self._entries[entry.node] = self.fresh[entry.node] = entry
        self._patterns[entry.node] = patterns
        self._until_us[entry.node] = now_us + LASTS_US
        self._digest = (self._digest + _hash(entry)) & MASK
        return True

    def _remove(self, node: NodeId) -> None:
        known = self._entries.pop(node, None)
        if known is not None:
            self._digest = (self._digest - _hash(known)) & MASK
            del self._patterns[node], self._until_us[node]


def _hash(entry: PatternEntry) -> int:
    return finish((entry.node * ITEM_FACTOR + entry.version) & MASK)


def _messages(entries: Iterable[PatternEntry]) -> list[PatternEntries]:
    every = tuple(entries)
    return [PatternEntries(every[start : start + ENTRIES_MAX]) for start in range(0, len(every), ENTRIES_MAX)]
