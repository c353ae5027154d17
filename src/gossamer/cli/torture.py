"""`gossamer torture`: drawn networks with drawn faults in virtual time; every message is accounted for."""

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gossamer.cli.console import print_facts, print_json, progress_bar
from gossamer.cli.options import Json
from gossamer.model.values.errors import InputError
from gossamer.model.values.time import SECOND_US

if TYPE_CHECKING:
    from gossamer.simulator.torture.judge import ScenarioOutcome
    from gossamer.simulator.torture.scenario import Scenario
    from gossamer.simulator.torture.swarm import Swarm


def torture(
    seeds: Annotated[int, typer.Option(min=1, metavar="N", help="Judge this many seeds.")] = 100,
    minutes: Annotated[float, typer.Option(metavar="M", help="Start no further seed after this time.")] = 60.0,
    first: Annotated[int, typer.Option(min=0, metavar="SEED", help="The first seed.")] = 1,
    seed: Annotated[int | None, typer.Option(min=0, help="Judge this seed alone.")] = None,
    repeat: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Judge a scenario that was written before.")
    ] = None,
    system: Annotated[
        str | None, typer.Option(metavar="NAME", help="Run this live system instead of drawn ones.")
    ] = None,
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Where the scenarios of failing seeds are written.")
    ] = Path("out/torture"),
    shrink: Annotated[
        bool, typer.Option(help="Look for a smaller scenario that fails in the same way (minutes for each seed).")
    ] = True,
    jobs: Annotated[int | None, typer.Option(min=1, help="Parallel processes; by default one per core.")] = None,
    json: Json = False,
) -> None:
    """Judge drawn networks with drawn faults, in virtual time.

    A seed decides the system, the network and its faults: crashes, returns, pauses, partitions, loss, clocks that differ, and
    more. Every message must be delivered once and in order to every subscriber, or be reported as lost; when all faults
    are over, every topic must soon be connected again. docs/reliability.md says what is promised. A seed that fails is
    written to FOLDER as a scenario, made as small as possible, with the command that repeats it. Exit code 1 if any fails.

    Example: gossamer torture --seeds 300
    """
    if not minutes > 0:
        raise InputError(f"--minutes must be above 0, got {minutes:g}")
    if seed is not None and repeat is not None:
        raise InputError("give --seed or --repeat, not both")
    from gossamer.simulator.torture.scenario import draw_scenario, read_scenario
    from gossamer.simulator.torture.swarm import run_swarm

    if repeat is not None:
        _judge_one(read_scenario(repeat), f"--repeat {repeat}", None, json)
    elif seed is not None:
        again = f"--seed {seed}" + (f" --system {system}" if system else "")
        _judge_one(draw_scenario(seed, system), again, out if shrink else None, json)
    else:
        # A wrong name is refused before processes start.
        draw_scenario(first, system)
        started = time.monotonic()
        with progress_bar() as progress:
            swarm = run_swarm(
                range(first, first + seeds),
                jobs or os.cpu_count() or 1,
                system,
                lambda: time.monotonic() > started + 60 * minutes,
                progress,
            )
        _show(swarm, time.monotonic() - started, json)
        for result in swarm.failed[:3] if shrink else ():
            _write(draw_scenario(result.seed, system), out)
        if swarm.failed:
            raise typer.Exit(1)


def _judge_one(scenario: "Scenario", again: str, out: Path | None, json: bool) -> None:
    from gossamer.simulator.torture.judge import judge

    outcome = judge(scenario)
    facts = {"system": f"{scenario.live} with {scenario.dissemination}", **_facts(outcome)}
    if json:
        print_json({**facts, "problems": [problem._asdict() for problem in outcome.problems]})
    else:
        print_facts(f"gossamer torture {again}", facts)
        for problem in outcome.problems:
            typer.echo(f"{problem.kind}: {problem.sentence}")
    if outcome.problems:
        if out is not None:
            _write(scenario, out)
        raise typer.Exit(1)


def _facts(outcome: "ScenarioOutcome") -> dict[str, Any]:
    return {
        "messages": outcome.messages,
        "deliveries": outcome.deliveries,
        "reported as lost": outcome.reported,
        "virtual seconds": outcome.virtual_us / SECOND_US,
        "problems": len(outcome.problems),
    }


def _show(swarm: "Swarm", seconds: float, json: bool) -> None:
    facts: dict[str, Any] = {
        "seeds": swarm.seeds,
        "failed": len(swarm.failed),
        "deliveries": swarm.deliveries,
        "reported as lost": swarm.reported,
        "virtual hours": swarm.virtual_us / SECOND_US / 3_600,
        "seeds a second": swarm.seeds / seconds,
    }
    failed = {result.seed: [problem._asdict() for problem in result.outcome.problems] for result in swarm.failed}
    if json:
        reached = {"faults": swarm.hits, "handled": swarm.handlers, "stacks": _stacks(swarm)}
        never = {"faults": swarm.idle_faults, "handled": swarm.idle_handlers}
        print_json({**facts, "failures": failed, "reached": reached, "never reached": never})
        return
    print_facts(f"{swarm.seeds} seeds", facts)
    print_facts("How often each fault took effect", dict(swarm.hits))
    print_facts("Seeds by system and dissemination", _stacks(swarm))
    if swarm.idle_faults or swarm.idle_handlers:
        typer.echo(f"Never reached: {', '.join([*swarm.idle_faults, *swarm.idle_handlers])}")
    for seed, problems in failed.items():
        for problem in problems:
            typer.echo(f"seed {seed}, {problem['kind']}: {problem['sentence']}")
        typer.echo(f"  repeat it with: gossamer torture --seed {seed}")


def _stacks(swarm: "Swarm") -> dict[str, int]:
    return {f"{live} with {dissemination}": count for (live, dissemination), count in sorted(swarm.stacks.items())}


def _write(scenario: "Scenario", out: Path) -> None:
    """Write a failing scenario, as small as it could be made, and say how to repeat it."""
    from gossamer.simulator.torture.scenario import write_scenario
    from gossamer.simulator.torture.shrink import Shrinker

    out.mkdir(parents=True, exist_ok=True)
    path = out / f"seed-{scenario.seed}.json"
    typer.echo(f"Making the scenario of seed {scenario.seed} smaller ...", err=True)
    shrinker = Shrinker(scenario)
    write_scenario(path, shrinker.shrink())
    smallest = shrinker.best
    nodes = sum(1 for topics in smallest.topics if topics)
    typer.echo(
        f"{path}: {nodes} nodes, {len(smallest.faults)} faults, {len(smallest.messages)} messages; "
        f"repeat it with: gossamer torture --repeat {path}"
    )
