"""The status of a node: a value for programs, and text for Prometheus."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from gossamer.protocols.contract.actions import Deliver

if TYPE_CHECKING:
    from gossamer.live.api.topics import LiveTopic
    from gossamer.live.transport.links import Link

# Chosen: powers of two of a microsecond, up to 17 s. They are fast to count and fine enough for network latencies.
BUCKETS = tuple((1 << bits) / 1e6 for bits in range(25))
_LAST = len(BUCKETS)


class Histogram(Struct):
    """Latencies of messages. Bucket i counts those whose microseconds have i bits; the last bucket counts all longer ones."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS) + 1))
    total_us: int = 0

    def add(self, actions: Iterable[Deliver], now_us: int) -> None:
        """Count delivered messages. A latency may be negative, because the clocks of two machines differ: it counts as 0."""
        counts, total_us = self.counts, self.total_us
        # Comparisons, not `min` and `max`: two calls would cost four times as much as all the rest of this loop.
        for action in actions:
            latency_us = now_us - action.published_us
            if latency_us > 0:
                place = latency_us.bit_length()
                counts[place if place < _LAST else _LAST] += 1
                total_us += latency_us
            else:
                counts[0] += 1
        self.total_us = total_us


class LinkStatus(Struct, frozen=True):
    """One link; `kept`: the overlay keeps it; `slow`: its queue is long."""

    node: str
    name: str
    address: str
    kept: bool
    queued_bytes: int
    slow: bool
    frames_in: int
    frames_out: int
    bytes_in: int
    bytes_out: int


class TopicStatus(Struct, frozen=True):
    """One topic; `peers` is the number of neighbours that hold it, `waiting` and `dropped` are messages of its readers."""

    topic: str
    follows: bool
    publishes: bool
    peers: int
    waiting: int
    dropped: int
    latencies: Histogram | None


class PatternStatus(Struct, frozen=True):
    """One pattern that the node follows, and the names of the topics that it matches."""

    pattern: str
    topics: list[str]


class NodeStatus(Struct, frozen=True):
    """The state of a node at one moment."""

    node: str
    address: str
    stack: list[str]
    links: list[LinkStatus]
    topics: list[TopicStatus]
    published: int
    delivered: int
    # How often something was dropped, refused or failed, by reason.
    counts: dict[str, int]
    # The node's name in its plan or in its certificate; empty if it has neither.
    name: str = ""
    # The addresses of `join` whose last dial failed, each with the reason.
    unanswered: dict[str, str] = field(default_factory=dict)
    patterns: list[PatternStatus] = field(default_factory=list)

    @property
    def covered(self) -> int:
        """The number of topics that at least one neighbour holds."""
        return sum(topic.peers > 0 for topic in self.topics)


def link_status(link: "Link", kept: bool, name: str) -> LinkStatus:
    """The status of a link to the peer of this name."""
    return LinkStatus(
        node=f"{link.node:016x}",
        name=name,
        address=link.address.decode(errors="replace"),
        kept=kept,
        queued_bytes=link.queued_bytes,
        slow=link.is_slow,
        frames_in=link.frames_in,
        frames_out=link.queue.frames_out,
        bytes_in=link.bytes_in,
        bytes_out=link.sent_bytes,
    )


def topic_status(topic: "LiveTopic", peers: int) -> TopicStatus:
    """The status of a topic that has this many neighbours."""
    return TopicStatus(
        topic=topic.name,
        follows=bool(topic.subscriptions),
        publishes=bool(topic.publishers),
        peers=peers,
        waiting=sum(subscription.waiting for subscription in topic.subscriptions),
        dropped=sum(subscription.dropped for subscription in topic.subscriptions),
        latencies=topic.latencies,
    )


def prometheus(status: NodeStatus) -> str:
    """The status in Prometheus' text format."""
    lines: list[str] = []
    kept = [link for link in status.links if link.kept]

    def metric(name: str, kind: str, meaning: str, *samples: tuple[dict[str, str], Any]) -> None:
        lines.append(f"# HELP gossamer_{name} {meaning}")
        lines.append(f"# TYPE gossamer_{name} {kind}")
        lines.extend(f"gossamer_{name}{_labels(labels)} {value}" for labels, value in samples)

    metric("published_total", "counter", "Messages that this node published.", ({}, status.published))
    metric("delivered_total", "counter", "Messages delivered to readers of this node.", ({}, status.delivered))
    metric("neighbours", "gauge", "Links that the overlay keeps.", ({}, len(kept)))
    metric("links", "gauge", "All open links, kept by the overlay or not.", ({}, len(status.links)))
    metric("topics", "gauge", "Topics followed or published on.", ({}, len(status.topics)))
    metric("topics_covered", "gauge", "Topics that at least one neighbour holds.", ({}, status.covered))
    metric(
        "queued_bytes", "gauge", "Bytes queued towards peers.", ({}, sum(link.queued_bytes for link in status.links))
    )
    metric("slow_links", "gauge", "Links whose queue is long.", ({}, sum(link.slow for link in status.links)))
    metric(
        "events_total",
        "counter",
        "What was dropped, refused or failed, by reason.",
        *(({"reason": reason}, count) for reason, count in status.counts.items()),
    )
    metric(
        "topic_peers",
        "gauge",
        "Neighbours that hold a topic.",
        *(({"topic": topic.topic}, topic.peers) for topic in status.topics),
    )
    metric(
        "reader_waiting",
        "gauge",
        "Messages of a topic that wait for its readers.",
        *(({"topic": topic.topic}, topic.waiting) for topic in status.topics),
    )
    _latencies(lines, status)
    return "\n".join(lines) + "\n"


def _latencies(lines: list[str], status: NodeStatus) -> None:
    name = "gossamer_latency_seconds"
    lines.append(f"# HELP {name} Time from publication to delivery, by the clocks of both nodes.")
    lines.append(f"# TYPE {name} histogram")
    for topic in status.topics:
        if topic.latencies is None or not sum(topic.latencies.counts):
            continue
        below = 0
        for bound, count in zip((*map(str, BUCKETS), "+Inf"), topic.latencies.counts, strict=True):
            below += count
            lines.append(f"{name}_bucket{_labels({'topic': topic.topic, 'le': bound})} {below}")
        lines.append(f"{name}_sum{_labels({'topic': topic.topic})} {topic.latencies.total_us / 1e6}")
        lines.append(f"{name}_count{_labels({'topic': topic.topic})} {below}")


def _labels(labels: dict[str, str]) -> str:
    if not labels:
        return ""
    escaped = {
        name: value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n") for name, value in labels.items()
    }
    return "{" + ",".join(f'{name}="{value}"' for name, value in escaped.items()) + "}"
