"""Control traffic of a simulated network that runs what `gossamer up` runs: frames and bytes per delivery, by kind.

A frame is counted with its length prefix when a machine sends it, once for each receiver. A frame with a message of the
application is a data frame, also if control messages share it; every other frame is control. Time is virtual, so the figures do not depend on the machine.

The size of ids decides how long a frame is, so the loaded network is simulated twice: with the 64-bit ids, the addresses
and the clock of live nodes, and with those of `gossamer simulate` (ids from 0, no addresses, a clock from 0).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from bench.report import show
from gossamer.live.api.stacks import find_stack
from gossamer.live.operations.settings import NodeSettings
from gossamer.model.arrays.interest import Interest
from gossamer.model.values.draw import Purpose, below, draw
from gossamer.model.values.ids import Role, identity
from gossamer.model.values.time import SECOND_US
from gossamer.protocols.contract.actions import Action, Deliver, Send
from gossamer.protocols.contract.compact import FRAME_HEAD_BYTES, Writer
from gossamer.protocols.contract.events import Event, Publish, Started, Subscribe
from gossamer.protocols.contract.messages import Burst, Data, Peer
from gossamer.simulator.checkers import all_checkers
from gossamer.simulator.engine import EventEngine, Watcher
from gossamer.simulator.links import LinkBook
from gossamer.simulator.network import Network, read_latency
from gossamer.simulator.recorder import ControlCounter
from gossamer.systems import machine_of
from gossamer.workloads.interests import make_interests

NODES, TOPICS, SUBSCRIPTIONS, POPULARITY = 50, 200, "40", "rss"
PAYLOAD = bytes(100)
SEED = 1
LATENCY = "uniform:1-5ms"
# As in `gossamer up`: the others join through the first three nodes.
FIRST_NODES = 3
# The clock of a live node counts from 1970, so its numbers take nine bytes in a frame; this time is in 2001.
LIVE_EPOCH_US = 1_000_000_000 * SECOND_US
# Traffic starts when the overlay is built and runs until the end; trees have formed when measuring starts.
TRAFFIC_SECONDS, MEASURE_SECONDS, END_SECONDS = 15, 45, 75
# After the last message, the time for outstanding deliveries.
DRAIN_SECONDS = 5
RATES = (100, 1_000)


@dataclass(frozen=True)
class Ids:
    """How large the ids, addresses and times of a simulated network are."""

    is_live: bool

    @property
    def epoch_us(self) -> int:
        """The time at which the nodes start."""
        return LIVE_EPOCH_US if self.is_live else 0

    def peer(self, index: int) -> Peer:
        """A node and its address."""
        if self.is_live:
            return Peer(identity(f"node/{index}".encode()), f"127.0.0.1:{40_000 + index}".encode())
        return Peer(index)

    def topic(self, index: int) -> int:
        """The id of a topic."""
        return identity(f"topic/{index}".encode()) if self.is_live else index


@dataclass
class DataCounter:
    """A watcher that counts messages of the application from a time on: their deliveries, frames, and bytes of frames."""

    from_us: int
    until_us: int
    delivered: int = 0
    frames: int = 0
    bytes: int = 0
    payload_bytes: int = 0
    _seen: set[tuple[int, int, int]] = field(default_factory=set)
    # All nodes of a simulation share one: the numbers of a message are as long as if each node had its own.
    _writer: Writer = field(default_factory=Writer)

    def handled(self, at_us: int, node: int, event: Event, actions: Sequence[Action]) -> None:
        """See `engine.Watcher`. A delivery counts by the time at which its message was published."""
        for action in actions:
            if type(action) is Deliver and self.from_us <= action.published_us < self.until_us:
                self._seen.add((node, action.publisher, action.sequence))
                self.delivered = len(self._seen)
            elif type(action) is Send and isinstance(action.message, Data | Burst):
                if self.from_us <= at_us < self.until_us:
                    self._count_frame(action)

    def gone(self, at_us: int, node: int) -> None:
        """See `engine.Watcher`."""

    def _count_frame(self, action: Send) -> None:
        copies, message = len(action.to), action.message
        assert isinstance(message, Data | Burst)
        items = message.messages if isinstance(message, Burst) else (message,)
        self.frames += copies
        [body], _ = self._writer.encode((message,))
        self.bytes += copies * (FRAME_HEAD_BYTES + len(body))
        self.payload_bytes += copies * sum(len(item.payload) for item in items)


@dataclass(frozen=True)
class Found:
    """The counts of one simulated network in the measured period."""

    seconds: float
    link_ends: int
    expected: int
    data: DataCounter
    # By kind of message.
    frames: dict[str, int]
    bytes: dict[str, int]


def run() -> None:
    """Measure the network with each rate of messages, and idle."""
    for rate in RATES:
        _show_loaded(rate, simulate(rate, Ids(is_live=True)), simulate(rate, Ids(is_live=False)))
    _show_idle("Idle network that never carried a message", simulate(0, Ids(is_live=True)))
    _show_idle(
        f"Idle network that carried {RATES[0]} messages/s before",
        simulate(RATES[0], Ids(is_live=True), quiet_second=MEASURE_SECONDS - 2 * DRAIN_SECONDS),
    )


def simulate(rate: int, ids: Ids, quiet_second: int = END_SECONDS) -> Found:
    """Simulate a network whose nodes start as those of `gossamer up`; messages stop at `quiet_second`."""
    from_us, until_us = ids.epoch_us + MEASURE_SECONDS * SECOND_US, ids.epoch_us + END_SECONDS * SECOND_US
    data, control, links = DataCounter(from_us, until_us), ControlCounter(SECOND_US), LinkBook()
    stack = find_stack(NodeSettings().system)
    header = stack.header(SEED)
    checkers = all_checkers(stack.dissemination, stack.system.discloses, stack.recovers)
    watchers: list[Watcher] = [data, control, links, *checkers]
    engine = EventEngine(lambda node: machine_of(header, node), Network(read_latency(LATENCY, SEED)), SEED, watchers)
    engine.run(ids.epoch_us)
    interest = make_interests(NODES, TOPICS, SUBSCRIPTIONS, POPULARITY, SEED)
    _start(engine, interest, ids)
    publications = _publications(interest, rate, quiet_second)
    for at_us, node, topic, _ in publications:
        call = partial(engine.give, ids.peer(node).node, Publish(ids.topic(topic), PAYLOAD))
        engine.call_at(ids.epoch_us + at_us, call)
    engine.run(until_us + DRAIN_SECONDS * SECOND_US)
    expected = sum(others for at_us, _, _, others in publications if from_us <= ids.epoch_us + at_us < until_us)
    link_ends = sum(map(len, links.neighbours.values()))
    return Found(END_SECONDS - MEASURE_SECONDS, link_ends, expected, data, *count_kinds(control, from_us, until_us))


def count_kinds(control: ControlCounter, from_us: int, until_us: int) -> tuple[dict[str, int], dict[str, int]]:
    """Control frames and their bytes on the wire, by kind, in a period of whole seconds."""
    frames: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    columns = control.columns()
    rows = zip(columns["at_us"], columns["kind"], columns["frames"], columns["bytes"], strict=True)
    for at_us, kind, count, size in rows:
        if from_us <= at_us < until_us:
            frames[kind] += count
            sizes[kind] += size
    return dict(frames), dict(sizes)


def _start(engine: EventEngine, interest: Interest, ids: Ids) -> None:
    peers = [ids.peer(index) for index in range(interest.node_count)]
    for index, peer in enumerate(peers):
        contacts = tuple(peers[: min(index, FIRST_NODES)])
        engine.start(peer.node, Started(contacts, bool(contacts), peer.address))
        for topic in interest.topics_of(index).tolist():
            engine.give(peer.node, Subscribe(ids.topic(topic), int(Role.BOTH)))


def _publications(interest: Interest, rate: int, quiet_second: int) -> list[tuple[int, int, int, int]]:
    """Time, node, topic and expected deliveries of each message.

    Messages are spread evenly over time. As in `gossamer up`, topics with several followers share the rate equally, and so
    do the followers of each topic.
    """
    followers: dict[int, list[int]] = {}
    for node in range(interest.node_count):
        for topic in interest.topics_of(node).tolist():
            followers.setdefault(topic, []).append(node)
    shared = sorted(topic for topic, found in followers.items() if len(found) > 1)
    publications = []
    for number in range(rate * (quiet_second - TRAFFIC_SECONDS)):
        at_us = TRAFFIC_SECONDS * SECOND_US + number * SECOND_US // rate
        topic = shared[below(draw(SEED, 0, Purpose.PUBLISH_TOPIC, number), len(shared))]
        found = followers[topic]
        node = found[below(draw(SEED, 0, Purpose.PUBLISH_NODE, number), len(found))]
        publications.append((at_us, node, topic, len(found) - 1))
    return publications


def _show_loaded(rate: int, live: Found, small: Found) -> None:
    kinds = sorted(live.frames.keys() | small.frames.keys(), key=lambda kind: (-live.bytes.get(kind, 0), kind))
    per = [max(found.data.delivered, 1) for found in (live, small)]

    def row(name: str, frames: int | None, *sizes: int) -> list[str]:
        each = [f"{size / delivered:.1f}" for size, delivered in zip(sizes, per, strict=True)]
        return [name, "" if frames is None else f"{frames / per[0]:.3f}", *each]

    overhead = [found.data.bytes - found.data.payload_bytes for found in (live, small)]
    rows = [row(kind, live.frames.get(kind, 0), live.bytes.get(kind, 0), small.bytes.get(kind, 0)) for kind in kinds]
    rows += [
        row("all control", sum(live.frames.values()), sum(live.bytes.values()), sum(small.bytes.values())),
        row("data", live.data.frames, live.data.bytes, small.data.bytes),
        row("data without payloads", None, *overhead),
    ]
    show(
        f"{NODES} simulated nodes, {SUBSCRIPTIONS} of {TOPICS} topics each, {rate:,} messages/s of {len(PAYLOAD)} bytes",
        ["kind", "frames/delivery", "bytes/delivery, live ids", "with small ids"],
        rows,
        f"{live.data.delivered:,} deliveries in {live.seconds:g} s, {live.expected - live.data.delivered:,} missing "
        f"({small.expected - small.data.delivered:,} with small ids); {live.link_ends / NODES:.1f} links a node.",
    )


def _show_idle(title: str, found: Found) -> None:
    ends = found.link_ends * found.seconds
    rows = [
        [kind, f"{found.frames[kind] / ends:.3f}", f"{found.bytes[kind] / ends:.1f}"]
        for kind in sorted(found.frames, key=lambda kind: -found.frames[kind])
    ]
    total = [f"{sum(found.frames.values()) / ends:.3f}", f"{sum(found.bytes.values()) / ends:.1f}"]
    show(
        f"{title}: what a node sends on each of its links",
        ["kind", "frames/s", "bytes/s"],
        [*rows, ["all control", *total]],
        f"{found.link_ends / NODES:.1f} links a node.",
    )
