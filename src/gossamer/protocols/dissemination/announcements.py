"""Announcing messages over lazy links: names are gathered for a moment, so that few frames carry them."""

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.model.values.time import MILLISECOND_US
from gossamer.protocols.contract.actions import Action, Send, SetTimer
from gossamer.protocols.contract.messages import Burst, Data
from gossamer.protocols.dissemination.tree_messages import (
    NAMED_MAX,
    NAMES_MAX,
    SPAN_MAX,
    Announce,
    AnnounceDue,
    Named,
)

# Chosen: how long names of all topics are gathered before they are sent. A broken tree is noticed that much later.
ANNOUNCE_EVERY_US = 100 * MILLISECOND_US
# Chosen: names that may wait; when there are more, all are sent at once.
GATHERED_MAX = 4_096


class AnnouncedSpan:
    """Consecutive messages of one publisher on one topic that will be announced to the same neighbours."""

    __slots__ = ("count", "first", "publisher", "receivers", "topic")

    def __init__(
        self, topic: TopicId, publisher: NodeId, first: int, count: int, receivers: tuple[NodeId, ...]
    ) -> None:
        self.topic = topic
        self.publisher = publisher
        self.first = first
        self.count = count
        self.receivers = receivers


class Announcements:
    """The names that wait to be announced."""

    __slots__ = ("_last", "_spans")

    def __init__(self) -> None:
        self._spans: list[AnnouncedSpan] = []
        # The last span of each topic and publisher, which the publisher's next message extends. Messages of several
        # publishers arrive interleaved, so the last span of the list is not enough.
        self._last: dict[tuple[TopicId, NodeId], AnnouncedSpan] = {}

    def add(
        self, topic: TopicId, data: Data | Burst, receivers: tuple[NodeId, ...], now_us: int, out: list[Action]
    ) -> None:
        """Announce a message, or the messages of a burst, to these neighbours with the next frames."""
        if not self._spans:
            out.append(SetTimer(now_us + ANNOUNCE_EVERY_US, AnnounceDue()))
        span = self._last.get((topic, data.publisher))
        if (
            span is not None
            and span.first + span.count == data.sequence
            and span.receivers == receivers
            and span.count + data.count <= SPAN_MAX
        ):
            span.count += data.count
            return
        span = AnnouncedSpan(topic, data.publisher, data.sequence, data.count, receivers)
        self._last[topic, data.publisher] = span
        self._spans.append(span)
        if len(self._spans) >= GATHERED_MAX:
            self.send(out)

    def drop(self, topic: TopicId) -> None:
        """Drop the gathered names of a topic that the node has given up."""
        self._spans = [span for span in self._spans if span.topic != topic]
        self._last = {key: span for key, span in self._last.items() if span.topic != topic}

    def send(self, out: list[Action]) -> None:
        """Send every name to its receivers, in as few frames as their limits allow."""
        names: dict[NodeId, list[Named]] = {}
        for span in self._spans:
            name = Named(span.topic, span.publisher, span.first, span.count)
            for node in span.receivers:
                names.setdefault(node, []).append(name)
        self._spans, self._last = [], {}
        for node, wanted in names.items():
            first = count = 0
            for place, name in enumerate(wanted):
                if place - first == NAMES_MAX or count + name.count > NAMED_MAX:
                    out.append(Send((node,), Announce(tuple(wanted[first:place]))))
                    first, count = place, 0
                count += name.count
            out.append(Send((node,), Announce(tuple(wanted[first:]))))
