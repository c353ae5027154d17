"""Runs a scenario and says what went wrong in it."""

import traceback
from collections import Counter
from typing import NamedTuple

from gossamer.model.values.errors import CheckFailed
from gossamer.simulator.engine import Watcher
from gossamer.simulator.torture.ledger import MissingDelivery
from gossamer.simulator.torture.scenario import Scenario
from gossamer.simulator.torture.scenario_run import DUE_US, PROBE_US, ScenarioRun

UNSAFE, SILENT, LATE, BROKEN = "unsafe", "missing in silence", "not connected in time", "an exception"


class Problem(NamedTuple):
    """One promise that was broken. Problems of one kind count as the same when a scenario is made smaller."""

    kind: str
    sentence: str


class ScenarioOutcome(NamedTuple):
    """The result of one scenario."""

    problems: tuple[Problem, ...]
    deliveries: int
    reported: int
    messages: int
    handled: int
    virtual_us: int
    # How often each kind of fault took effect.
    hits: Counter[str]


def judge(scenario: Scenario, watchers: tuple[Watcher, ...] = ()) -> ScenarioOutcome:
    """Carry out a scenario, and judge it."""
    world = ScenarioRun(scenario, watchers)
    try:
        world.carry_out()
        problems = [*_problems(SILENT, world.silent_losses()), *_problems(LATE, world.late_probes())]
    except CheckFailed as error:
        problems = [Problem(UNSAFE, str(error))]
    except Exception:  # whatever a machine raises is a finding
        problems = [Problem(BROKEN, traceback.format_exc(limit=-3))]
    ledger = world.ledger
    hits: Counter[str] = Counter()
    for fault, count in world.hits.items():
        hits[fault.kind] += count
    return ScenarioOutcome(
        tuple(problems),
        ledger.delivered_count,
        ledger.reported_count,
        len(ledger.messages),
        world.engine.handled_count,
        world.engine.now_us,
        hits,
    )


def _problems(kind: str, missing: list[MissingDelivery]) -> list[Problem]:
    """One problem for all messages that are missing, with the first as its example."""
    if not missing:
        return []
    node, message, holders = missing[0]
    due = f" within {(DUE_US + PROBE_US) // 1_000_000} s of the last fault" if kind == LATE else ""
    return [
        Problem(
            kind,
            f"{len(missing)} deliveries; node {node} lacks message {message.sequence} of node {message.publisher} on topic "
            f"{message.topic}, published at {message.at_us} us{due}, without a report; {len(holders)} nodes have it "
            f"({', '.join(map(str, holders[:5]))})",
        )
    ]
