"""Watchers that write the record for replay and collect the rows of the result tables."""

from collections import Counter
from collections.abc import Sequence
from math import ceil
from typing import Any, BinaryIO

from gossamer.model.spool.files import SpoolWriter
from gossamer.protocols.contract.actions import (
    Action,
    Deliver,
    Observe,
    Send,
)
from gossamer.protocols.contract.compact import FRAME_HEAD_BYTES, Writer
from gossamer.protocols.contract.events import (
    Event,
    MessageReceived,
    Publish,
    PublishBurst,
    Started,
    Stopping,
)
from gossamer.protocols.contract.facts import BufferFull, Lost
from gossamer.protocols.contract.messages import Burst, Data
from gossamer.protocols.contract.record import Answer, Header, encode_header, encode_step
from gossamer.protocols.telemetry import AnyRecord, NodeLeft, StepTelemetry

# Chosen: records are written in batches of this size.
BATCH_RECORDS = 1_000


class Recorder:
    """Writes every event and every action in the format that `gossamer replay` reads.

    Recording views append their answers to `answers`; the answers in it belong to the event that was just handled.
    """

    def __init__(self, out: BinaryIO, header: Header, answers: list[Answer] | None = None) -> None:
        self._out = out
        self._answers = answers if answers is not None else []
        out.write(encode_header(header))

    def handled(self, at_us: int, node: int, event: Event, actions: Sequence[Action]) -> None:
        """See `engine.Watcher`."""
        self._out.write(encode_step(at_us, node, event, actions, self._answers))
        self._answers.clear()

    def gone(self, at_us: int, node: int) -> None:
        """See `engine.Watcher`. The record needs no entry: the next `Started` of the node implies it."""


class TelemetrySpool:
    """Writes the telemetry records of all nodes as files in a spool folder, as live nodes do."""

    def __init__(self, writer: SpoolWriter) -> None:
        self._writer = writer
        self._nodes: dict[int, StepTelemetry] = {}
        # Nodes whose departure has a record already.
        self._leaving: set[int] = set()
        self._batch: list[AnyRecord] = []

    def handled(self, at_us: int, node: int, event: Event, actions: Sequence[Action]) -> None:
        """See `engine.Watcher`."""
        telemetry = self._nodes.get(node) or self._nodes.setdefault(node, StepTelemetry(node))
        self._add(telemetry.records(at_us, event, actions))
        if type(event) is Stopping:
            self._leaving.add(node)

    def gone(self, at_us: int, node: int) -> None:
        """See `engine.Watcher`."""
        del self._nodes[node]
        if node not in self._leaving:
            self._add([NodeLeft(at_us, node)])
        self._leaving.discard(node)

    def close(self) -> None:
        """Write what is left, and complete the last file."""
        self._writer.write(self._batch)
        self._writer.roll()
        if self._writer.error is not None:
            raise self._writer.error

    def _add(self, records: Sequence[AnyRecord]) -> None:
        self._batch += records
        if len(self._batch) >= BATCH_RECORDS:
            self._writer.write(self._batch)
            self._batch.clear()


class ControlCounter:
    """Counts control messages, their frames and their bytes by time window, node and kind.

    Published messages are not counted. All that a node sends to another node when it handles one event travels in one
    frame. A control message counts as a frame if no published message and no earlier control message shares its frame.
    Bytes are those of live nodes on links that have carried all definitions (`protocols/contract/compact.py`). Ids that
    have no short number, and addresses, are as long as in the simulation: shorter than those of live nodes.
    """

    def __init__(self, window_us: int) -> None:
        self._window_us = window_us
        # Messages, frames and bytes.
        self._rows: dict[tuple[int, int, str], list[int]] = {}
        self._writers: dict[int, Writer] = {}

    def handled(self, at_us: int, node: int, event: Event, actions: Sequence[Action]) -> None:
        """See `engine.Watcher`."""
        control = [each for each in actions if type(each) is Send and not isinstance(each.message, Data | Burst)]
        if not control:
            return
        # Nodes that already get a frame.
        served = {
            to for each in actions if type(each) is Send and isinstance(each.message, Data | Burst) for to in each.to
        }
        writer = self._writers.get(node) or self._writers.setdefault(node, Writer())
        for action in control:
            key = (at_us - at_us % self._window_us, node, type(action.message).__name__)
            row = self._rows.setdefault(key, [0, 0, 0])
            frames = -len(served)
            served.update(action.to)
            frames += len(served)
            [body], _ = writer.encode((action.message,))
            row[0] += len(action.to)
            row[1] += frames
            row[2] += len(action.to) * len(body) + frames * FRAME_HEAD_BYTES

    def gone(self, at_us: int, node: int) -> None:
        """See `engine.Watcher`."""
        self._writers.pop(node, None)

    def columns(self) -> dict[str, list[Any]]:
        """The columns of the `control` table."""
        keys = sorted(self._rows)
        return {
            "at_us": [key[0] for key in keys],
            "node": [key[1] for key in keys],
            "kind": [key[2] for key in keys],
            "messages": [self._rows[key][0] for key in keys],
            "frames": [self._rows[key][1] for key in keys],
            "bytes": [self._rows[key][2] for key in keys],
        }

    def totals(self) -> dict[str, int]:
        """Messages of each kind, over all nodes and windows."""
        totals: Counter[str] = Counter()
        for (_, _, kind), (messages, *_) in sorted(self._rows.items()):
            totals[kind] += messages
        return dict(totals)


class DeliveryLog:
    """Collects every delivery, and counts the further copies of the message that the node received.

    A delivery is *due* if its node was present when the message was published. A node that joins later may still get the
    message from a neighbour; this must not hide that another node missed it.
    """

    def __init__(self) -> None:
        self._names: dict[tuple[int, int], int] = {}
        # The last sequence number that each node gave to a message of its own (`events.Publish`).
        self._sequences: dict[int, int] = {}
        # When each node started, and when each message was published.
        self._started_us: dict[int, int] = {}
        self._published_us: dict[int, int] = {}
        # By message and node: topic, time, hops, and whether the delivery is due.
        self._rows: dict[tuple[int, int], tuple[int, int, int, bool]] = {}
        self._copies: dict[tuple[int, int], int] = {}
        self._latencies_us: list[int] = []
        self._data_messages = 0
        self._overflows = 0
        self._gaps = 0

    def handled(self, at_us: int, node: int, event: Event, actions: Sequence[Action]) -> None:
        """See `engine.Watcher`."""
        if type(event) is MessageReceived and isinstance(event.message, Data):
            self._count_copy(node, event.message)
        elif type(event) is MessageReceived and isinstance(event.message, Burst):
            for data in event.message.messages:
                self._count_copy(node, data)
        elif type(event) is Started:
            self._started_us[node] = at_us
        elif type(event) is Publish:
            # The message has its number now, even if it waits in a buffer or the node has no neighbour to send it to.
            self._sequences[node] = event.sequence or self._sequences.get(node, at_us) + 1
            self._published_us.setdefault(self._number(node, self._sequences[node]), at_us)
        elif type(event) is PublishBurst:
            first = event.sequence or self._sequences.get(node, at_us) + 1
            self._sequences[node] = first + len(event.items) - 1
            for sequence in range(first, first + len(event.items)):
                self._published_us.setdefault(self._number(node, sequence), at_us)
        for action in actions:
            if type(action) is Deliver:
                self._deliver(at_us, node, action)
            elif type(action) is Send and isinstance(action.message, Data):
                self._data_messages += len(action.to)
                self._number(action.message.publisher, action.message.sequence)
            elif type(action) is Send and isinstance(action.message, Burst):
                self._data_messages += len(action.to) * action.message.count
                for data in action.message.messages:
                    self._number(data.publisher, data.sequence)
            elif type(action) is Observe and type(action.fact) is BufferFull:
                self._overflows += 1
            elif type(action) is Observe and type(action.fact) is Lost:
                self._gaps += 1

    def gone(self, at_us: int, node: int) -> None:
        """See `engine.Watcher`."""
        self._sequences.pop(node, None)

    def columns(self) -> dict[str, list[int]]:
        """The columns of the `deliveries` table; `event` numbers messages in the order in which they were published."""
        keys = sorted(self._rows)
        return {
            "event": [key[0] for key in keys],
            "topic": [self._rows[key][0] for key in keys],
            "node": [key[1] for key in keys],
            "at_us": [self._rows[key][1] for key in keys],
            "hops": [self._rows[key][2] for key in keys],
            "duplicates": [max(self._copies.get(key, 0) - 1, 0) for key in keys],
            "due": [self._rows[key][3] for key in keys],
        }

    def facts(self, expected: int) -> dict[str, Any]:
        """The metrics of the deliveries that are due, of which there are `expected` if none is missing."""
        hops = [row[2] for row in self._rows.values() if row[3]]
        delivered = len(hops)
        return {
            "delivered": delivered,
            "delivered_to_newcomers": len(self._rows) - delivered,
            "delivery_ratio": delivered / expected if expected else 1.0,
            "data_messages": self._data_messages,
            "data_messages_per_delivery": self._data_messages / delivered if delivered else 0.0,
            "overflowed_messages": self._overflows,
            "gaps_given_up": self._gaps,
            "hops_mean": sum(hops) / delivered if delivered else 0.0,
            "hops_most": max(hops, default=0),
            "latency_us_mean": sum(self._latencies_us) / delivered if delivered else 0.0,
            **{f"latency_us_p{share}": _quantile(self._latencies_us, share / 100) for share in (50, 95, 99)},
            "latency_us_most": max(self._latencies_us, default=0),
        }

    def was_delivered(self, number: int, node: int) -> bool:
        """Whether a node delivered the message of this number."""
        return (number, node) in self._rows

    def _number(self, publisher: int, sequence: int) -> int:
        return self._names.setdefault((publisher, sequence), len(self._names))

    def _deliver(self, at_us: int, node: int, action: Deliver) -> None:
        number = self._number(action.publisher, action.sequence)
        if (number, node) in self._rows:
            # The node returned and got the message again; the first delivery counts.
            return
        due = self._started_us.get(node, 0) <= self._published_us.get(number, at_us)
        self._rows[number, node] = (action.topic, at_us, action.hops, due)
        if due:
            self._latencies_us.append(at_us - action.published_us)

    def _count_copy(self, node: int, data: Data) -> None:
        key = (self._number(data.publisher, data.sequence), node)
        self._copies[key] = self._copies.get(key, 0) + 1


def _quantile(values: Sequence[int], share: float) -> int:
    """The smallest value that is at least as large as this share of the values; 0 if there are none."""
    return sorted(values)[max(ceil(share * len(values)) - 1, 0)] if values else 0
