"""A run that is over: its telemetry records in order of time, and the scene at any moment of it.

The records come from a record of every event (`simulate --record`, `up --record`), with the way of each message. The tables
of a simulation without a record have no way: they say when a message arrived, and not over which link.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter
from pathlib import Path
from typing import Any

import msgspec

from gossamer.model.spool.files import ENDING, SpoolFindings, read_spool
from gossamer.model.values.errors import InputError
from gossamer.model.values.ids import NodeId, Role, TopicId
from gossamer.protocols.contract.record import WholeSteps, read_record
from gossamer.protocols.telemetry import (
    AnyRecord,
    ControlSent,
    InterestChanged,
    LinkChanged,
    MessageDelivered,
    MessagePublished,
    NodeLeft,
    NodeStarted,
    StepTelemetry,
    TopicNamed,
)
from gossamer.systems import decoder_of
from gossamer.web.frames import SPEED_US, FrameMaker
from gossamer.web.scene import Scene

# Chosen: a live node whose record ends this long before the last one was killed; the others stopped together.
KILLED_US = 2_000_000

Progress = Callable[[str, int, int], None]


class RecordedRun:
    """A run to play. The scene moves forward with the records; to go back, it starts anew."""

    def __init__(self, title: str, records: Iterable[AnyRecord], is_live: bool) -> None:
        self.title = title
        self._records = sorted(records, key=attrgetter("at_us"))
        self._topics = {each.topic: each.name for each in self._records if isinstance(each, TopicNamed)}
        if not self._records:
            raise InputError(f"{title} has nothing to show")
        self.from_us, self.until_us = self._records[0].at_us, self._records[-1].at_us
        self._is_live = is_live
        # How many records the scene has seen.
        self._place = 0
        self._restart()

    def frame(self, at_us: int, **wanted: Any) -> dict[str, Any]:
        """The scene at a time, as the page draws it."""
        at_us = min(max(at_us, self.from_us), self.until_us)
        if at_us < self._scene.now_us:
            self._restart()
        # In two steps, so that speeds are those of the last seconds also after a leap.
        for until_us in (at_us - SPEED_US, at_us):
            if until_us >= self._scene.now_us:
                self._advance(until_us)
                self._frames.note_totals()
        return self._frames.frame(**wanted)

    def _advance(self, until_us: int) -> None:
        end = bisect_right(self._records, until_us, key=attrgetter("at_us"))
        scene = self._scene
        for record in self._records[self._place : end]:
            scene.apply(record, record.at_us)
            scene.published += type(record) is MessagePublished
            scene.delivered += type(record) is MessageDelivered
        self._place = end
        scene.now_us = until_us

    def _restart(self) -> None:
        # The ids of simulated nodes and topics are small numbers, those of live ones are hashes.
        hexadecimal: Callable[[int], str] = "{:016x}".format
        if self._is_live:
            self._scene = Scene(hexadecimal, lambda topic: self._topics.get(topic) or hexadecimal(topic))
        else:
            self._scene = Scene(str, "topic {}".format)
        self._frames = FrameMaker(self._scene)
        self._place = 0


def read_run(folder: Path, progress: Progress) -> RecordedRun:
    """The run in a folder of `simulate`, `build` or `up --record`."""
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder; give the output of simulate, build or up --record")
    spool = folder / "telemetry" if (folder / "telemetry").is_dir() else folder
    if next(spool.glob(f"*{ENDING}"), None) is not None:
        return _spooled(spool)
    live = sorted(folder.glob("*.record"))
    if live:
        return RecordedRun(str(folder), _live_records(live, progress), is_live=True)
    manifest = _manifest(folder)
    title = f"{folder} ({manifest['run']['system']})"
    if (folder / "record.bin").exists():
        records = [*_records_of(folder / "record.bin", progress), *_crashes(manifest["run"])]
    else:
        records = list(_table_records(folder, manifest["run"]))
    return RecordedRun(title, records, is_live=False)


def _manifest(folder: Path) -> dict[str, Any]:
    try:
        manifest: dict[str, Any] = msgspec.json.decode((folder / "manifest.json").read_bytes())
        manifest["run"]["system"]
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(f"{folder} holds no run; give the output of simulate, build or up --record") from None
    return manifest


def _spooled(spool: Path) -> RecordedRun:
    """The run in a spool folder. What cannot be read is said in the title."""
    findings = SpoolFindings()
    records = list(read_spool(spool, AnyRecord, findings))
    unread = {
        "of another format": findings.other_files,
        "cut off": findings.cut_files,
        "deleted before they were read": findings.deleted_files,
    }
    notes = "".join(f"; {count} files {what}" for what, count in unread.items() if count)
    is_live = not findings.simulated
    return RecordedRun(f"{spool}{notes}", records + _killed(records) if is_live else records, is_live)


def _live_records(paths: list[Path], progress: Progress) -> list[AnyRecord]:
    records: list[AnyRecord] = []
    for done, path in enumerate(paths):
        progress("records", done, len(paths))
        records += _records_of(path, progress)
    return records + _killed(records)


def _killed(records: Iterable[AnyRecord]) -> list[AnyRecord]:
    """A live node that was killed has no record of it: its records end before those of others."""
    last = {record.node: record for record in records}
    end = max((record.at_us for record in last.values()), default=0)
    found = [record for record in last.values() if not isinstance(record, NodeLeft)]
    return [NodeLeft(record.at_us, record.node) for record in found if record.at_us < end - KILLED_US]


def _records_of(path: Path, progress: Progress) -> Iterator[AnyRecord]:
    """The telemetry of every node in a record."""
    nodes: dict[NodeId, StepTelemetry] = {}
    with path.open("rb") as source:
        size = path.stat().st_size
        header, steps = read_record(source)
        decoder = decoder_of(header)
        for count, step in enumerate(WholeSteps(steps)):
            if count % 1_000 == 0:
                progress(f"megabytes of {path.name}", source.tell() >> 20, size >> 20)
            try:
                event, actions = decoder.event(bytes(step.event)), decoder.actions(step.actions)
            except ValueError as error:
                raise InputError(f"{path} holds a step that cannot be read: {error}") from None
            node = nodes.get(step.node) or nodes.setdefault(step.node, StepTelemetry(step.node))
            yield from node.records(step.at_us, event, actions)


def _crashes(run: dict[str, Any]) -> Iterator[NodeLeft]:
    """A record does not say when a node crashed; the churn of the run does."""
    if run.get("churn") is None:
        return
    from gossamer.model.arrays.churn import CRASH
    from gossamer.model.tables.workload import read_churn

    churn = read_churn(Path(run["churn"]), _workload(run).node_ids)
    for at_us, node, event in zip(churn.at_us.tolist(), churn.nodes.tolist(), churn.events.tolist(), strict=True):
        if event == CRASH:
            yield NodeLeft(at_us, node)


def _table_records(folder: Path, run: dict[str, Any]) -> Iterator[AnyRecord]:
    """The same from the tables of a run."""
    from gossamer.model.arrays.churn import ABSENT, JOIN
    from gossamer.model.tables.workload import read_churn

    workload = _workload(run)
    interest, ids = workload.interest, workload.node_ids.tolist()
    topics = {ids[node]: interest.topics_of(node).tolist() for node in range(len(ids))}
    changes: list[tuple[int, NodeId, int]] = []
    if run.get("churn") is not None:
        churn = read_churn(Path(run["churn"]), workload.node_ids)
        rows = zip(churn.at_us.tolist(), churn.nodes.tolist(), churn.events.tolist(), strict=True)
        changes = [(at_us, ids[node], event) for at_us, node, event in rows]
    first = {node: event for _, node, event in reversed(changes)}
    for node in ids:
        if first.get(node) not in (JOIN, ABSENT):
            yield from _arrive(0, node, topics[node])
    for at_us, node, event in changes:
        if event != ABSENT:
            yield from _arrive(at_us, node, topics[node]) if event == JOIN else [NodeLeft(at_us, node)]
    for row in _rows(folder, "links") or _rows(folder, "overlay"):
        yield LinkChanged(row.get("at_us", 0), row["u"], row["v"], row.get("up", True))
    published = {}
    for row in _rows(folder, "publications"):
        published[row["event"]] = row
        yield MessagePublished(row["at_us"], row["node"], row["topic"], row["event"])
    for row in _rows(folder, "deliveries"):
        message = published[row["event"]]
        yield MessageDelivered(
            row["at_us"], row["node"], row["topic"], message["node"], row["event"], row["hops"], message["at_us"]
        )
    for row in _rows(folder, "control"):
        yield ControlSent(row["at_us"], row["node"], row["kind"], row["messages"])


def _arrive(at_us: int, node: NodeId, topics: list[TopicId]) -> Iterator[AnyRecord]:
    yield NodeStarted(at_us, node)
    for topic in topics:
        yield InterestChanged(at_us, node, topic, int(Role.BOTH))


def _rows(folder: Path, name: str) -> list[dict[str, Any]]:
    from gossamer.model.tables.schemas import read_table

    path = folder / f"{name}.parquet"
    return read_table(name, path).to_pylist() if path.exists() else []


def _workload(run: dict[str, Any]) -> Any:
    from gossamer.model.tables.workload import read_workload

    if not isinstance(run["workload"], str) or not Path(run["workload"]).is_dir():
        raise InputError(
            f"the run's workload {run['workload']} is not here; start the dashboard where the run was made"
        )
    return read_workload(Path(run["workload"]))
