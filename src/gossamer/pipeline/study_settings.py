"""The settings of a study: the fields of STUDY.toml, checked before any work is done (docs/study.md)."""

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from gossamer.model.values.errors import InputError
from gossamer.model.values.run import CYCLE_LIMIT
from gossamer.pipeline.study_grid import grid_points, varied
from gossamer.pipeline.sweep import LIMIT_SECONDS
from gossamer.systems import (
    StudyEntry,
    System,
    all_disseminations,
    all_systems,
    check_dissemination,
    find_system,
    hint,
    read_parameters,
)

Count = Annotated[int, Meta(ge=1)]
Seed = Annotated[int, Meta(ge=0, le=2**63 - 1)]
# The kinds of input. A study with both edges and memberships samples users along the edges; their groups are the topics.
EDGES, MEMBERSHIPS, BOTH, WORKLOAD = "edges", "memberships", "edges and memberships", "workload"
# Chosen: small enough that a simulation of every message takes seconds.
SMALL_NODES = 150


class Candidate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A system with its parameters, and its label in the report.

    A parameter may have several values (`study_grid.py`); `label` may then contain `{name}` for a value.
    """

    system: str
    parameters: dict[str, Any] = {}
    label: str = ""
    # Under churn: the disseminations to run instead of the study's own, and their parameters.
    disseminations: tuple[str, ...] = ()
    dissemination_parameters: dict[str, Any] = {}
    # The cycles after which a build ends even if its links still change.
    cycle_limit: Count = CYCLE_LIMIT

    def name(self) -> str:
        """The label in the report."""
        return self.label or self.system

    def points(self) -> list["Candidate"]:
        """One candidate for each combination of parameters."""
        points = grid_points(self.system, self.parameters, find_system(self.system).parameters)
        names = varied(self.parameters, points)
        return [msgspec.structs.replace(self, parameters=each, label=self._label(each, names)) for each in points]

    def _label(self, point: Mapping[str, Any], names: list[str]) -> str:
        if "{" in self.label:
            try:
                return self.label.format_map(point)
            except (KeyError, ValueError, IndexError, AttributeError, TypeError) as error:
                raise InputError(
                    f"the label {self.label!r} cannot be filled in ({error}); braces name a parameter of this entry: "
                    f"{', '.join(point) or 'it has none'}"
                ) from None
        values = [f"{name.replace('_', ' ')} {point[name]}" for name in names]
        return ", ".join([self.name(), *values]) if values else self.label


def _candidates(entries: Callable[[System], tuple[StudyEntry, ...]]) -> tuple[Candidate, ...]:
    """The study entries of all systems.

    Central systems come last; systems that know their neighbours' topics come first.
    """
    systems = sorted(all_systems().values(), key=lambda system: (system.is_central, -system.knows))
    return tuple(_candidate(system, entry) for system in systems for entry in entries(system))


def _candidate(system: System, entry: StudyEntry) -> Candidate:
    return Candidate(
        system.name,
        dict(entry.parameters),
        entry.label,
        entry.disseminations,
        dict(entry.dissemination_parameters),
        entry.cycle_limit,
    )


def _study_disseminations() -> tuple[str, ...]:
    return tuple(name for name, dissemination in all_disseminations().items() if dissemination.in_study)


class Study(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of a study. Every field can be set in a TOML file."""

    seed: Seed = 1
    # The input: a file, a folder or a glob of edges, of memberships, or of both; or the folder of a workload. Without
    # any, friendships are generated, including bad lines.
    edges: str | None = None
    memberships: str | None = None
    workload: str | None = None
    # Of edges: the source follows the target, instead of both being friends.
    directed: bool = False
    # How the lines of edges or memberships are read; found if not given (`gossamer ingest --help`).
    delimiter: str | None = None
    header: bool | None = None
    columns: tuple[str, ...] | None = None
    # The generated friendships.
    users: Count = 200_000
    mean_degree: Annotated[float, Meta(gt=0)] = 20.0
    # A file of machine events; without one, a trace is generated.
    events: str | None = None
    machines: Count = 12_500
    max_bad: Annotated[float, Meta(ge=0, le=1)] = 0.25
    # The sample on which the systems run has this many nodes; a smaller input is used whole.
    nodes: Count = 2_000
    sample_seeds: Count = 3
    # How many samples are drawn. Every system runs on each of them, with every seed.
    samples: Annotated[int, Meta(ge=1, le=100)] = 1
    seeds: tuple[Seed, ...] = (1, 2, 3)
    # The report recommends no system that gives a node more links than this, in any run.
    max_links: Count | None = None
    systems: tuple[Candidate, ...] = msgspec.field(default_factory=lambda: _candidates(lambda system: system.study))
    # Simulations under churn with published messages use a smaller network: by default at most 150 nodes.
    churn_nodes: Count | None = None
    churn_minutes: Annotated[float, Meta(gt=0, le=1440)] = 4.0
    churn_events: Count = 50
    churn_systems: tuple[Candidate, ...] = msgspec.field(
        default_factory=lambda: _candidates(lambda system: system.churn_study)
    )
    # Builds in the smaller network by nodes that know others only from messages, as live nodes do. By default, the live
    # study entries of the systems above.
    live_systems: tuple[Candidate, ...] | None = None
    disseminations: tuple[str, ...] = msgspec.field(default_factory=_study_disseminations)
    # This share of the nodes fails at once: in every built overlay, without repair, and in simulations, which repair
    # it.
    failed_share: Annotated[float, Meta(gt=0, lt=1)] = 0.2
    # A run that takes longer is stopped and listed among the failures.
    run_seconds: Annotated[float, Meta(gt=0, le=LIMIT_SECONDS)] = LIMIT_SECONDS

    @property
    def kind(self) -> str:
        """The kind of the input."""
        if self.workload is not None:
            return WORKLOAD
        if self.memberships is None:
            return EDGES
        return MEMBERSHIPS if self.edges is None else BOTH

    @property
    def small_nodes(self) -> int:
        """The number of nodes of the smaller network."""
        return min(SMALL_NODES, self.nodes) if self.churn_nodes is None else self.churn_nodes

    def expanded(self) -> "Study":
        """The same study with one candidate for each combination of parameters, and with its live systems."""
        live = self.live_systems
        if live is None:
            names = dict.fromkeys(candidate.system for candidate in self.systems)
            found = [find_system(name) for name in names]
            live = tuple(_candidate(system, entry) for system in found for entry in system.live_study)
        groups = {"systems": self.systems, "churn_systems": self.churn_systems, "live_systems": live}
        return msgspec.structs.replace(
            self, **{name: tuple(point for each in group for point in each.points()) for name, group in groups.items()}
        )

    def check(self) -> None:
        """Check every system and parameter before any work is done."""
        self._check_input()
        if not self.seeds:
            raise InputError("a study needs at least one seed")
        if len(set(self.seeds)) < len(self.seeds):
            raise InputError("`seeds` has a seed twice; give each seed once")
        study = self.expanded()
        assert study.live_systems is not None
        for group in (study.systems, study.churn_systems, study.live_systems):
            for candidate in group:
                read_parameters(find_system(candidate.system), candidate.parameters)
            label, count = max(
                Counter(each.name() for each in group).items(), key=lambda each: each[1], default=("", 1)
            )
            if count > 1:
                raise InputError(f"{count} systems have the label {label!r}; give each a `label` of its own")
        for candidate in study.churn_systems:
            for dissemination in candidate.disseminations or study.disseminations:
                check_dissemination(find_system(candidate.system), dissemination, candidate.dissemination_parameters)

    def _check_input(self) -> None:
        if self.workload is not None and (self.edges is not None or self.memberships is not None):
            raise InputError("`workload` excludes `edges` and `memberships`: a workload is complete")
        if self.directed and self.kind != EDGES:
            raise InputError(f"`directed` is for `edges` alone; this study has {self.kind}")
        is_told = (self.delimiter, self.header, self.columns) != (None, None, None)
        if is_told and (self.kind in (BOTH, WORKLOAD) or (self.edges, self.memberships) == (None, None)):
            raise InputError(
                "`delimiter`, `header` and `columns` describe one input: `edges` or `memberships`. For several inputs, "
                "run `gossamer ingest` first and give its tables"
            )
        is_generated = (self.edges, self.memberships, self.workload) == (None, None, None)
        if self.small_nodes > self.nodes or (is_generated and self.nodes > self.users):
            raise InputError(
                "`churn_nodes` must be at most `nodes`, and `nodes` at most `users`: each is a sample of the next"
            )


def read_study(path: Path | None) -> Study:
    """Read a study from a TOML file, or take the default study."""
    if path is None:
        return Study()
    try:
        written = msgspec.toml.decode(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not TOML: {error}") from None
    _check_keys(path, "a study", written, Study)
    for group in ("systems", "churn_systems", "live_systems"):
        entries = written.get(group, [])
        for entry in entries if isinstance(entries, list) else []:
            _check_keys(path, f"an entry of [[{group}]]", entry, Candidate)
    try:
        study = msgspec.convert(written, Study, strict=False)
        study.check()
    except msgspec.ValidationError as error:
        raise InputError(f"{path}: {error}") from None
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    return study


def _check_keys(path: Path, what: str, entry: Any, kind: type[msgspec.Struct]) -> None:
    known = dict.fromkeys(kind.__struct_fields__)
    for key in entry if isinstance(entry, dict) else ():
        if key not in known:
            raise InputError(f"{path}: {what} has no setting {key!r}; it has: {', '.join(known)}{hint(key, known)}")
