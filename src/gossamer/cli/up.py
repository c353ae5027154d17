"""`gossamer up`: run a network of nodes on this machine and count its messages."""

import asyncio
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gossamer.cli.console import PLAIN_SECONDS, print_facts, print_json
from gossamer.cli.live_options import DisseminationName, LiveSettings, SystemName, Trace, live_parameters
from gossamer.cli.options import SEED_MAX, Json
from gossamer.model.values.draw import Purpose, draw
from gossamer.model.values.errors import InputError
from gossamer.systems import DEFAULT_PLANNED

if TYPE_CHECKING:
    from gossamer.live.fleet.count import MessageCount
    from gossamer.live.fleet.member import MemberCounts, MemberSettings
    from gossamer.live.fleet.network import Fleet

# Chosen: more processes than one machine is likely to run well.
NODES_MAX = 1_000
# Chosen: after the last publication, wait this long for outstanding deliveries, or until none arrives for this long.
DRAIN_SECONDS = 30.0
IDLE_SECONDS = 5.0
CONNECT_SECONDS = 60.0


class Say:
    """Progress on standard error, at most one line every two seconds."""

    def __init__(self) -> None:
        self._at = time.monotonic()

    def __call__(self, text: str) -> None:
        """Print a line, unless there was one just now."""
        now = time.monotonic()
        if now - self._at >= PLAIN_SECONDS:
            self._at = now
            typer.echo(text, err=True)


def up(
    context: typer.Context,
    plan: Annotated[
        Path | None,
        typer.Option(
            metavar="PLAN",
            help="Run the nodes of a plan, by name: the folder of `gossamer plan`, or its peers.json. Then --nodes, "
            "--topics, --subscriptions and --popularity have no meaning.",
        ),
    ] = None,
    nodes: Annotated[int, typer.Option(min=2, max=NODES_MAX, help="Node processes.")] = 20,
    topics: Annotated[int, typer.Option(min=1, help="Topics in total.")] = 50,
    subscriptions: Annotated[
        str, typer.Option(metavar="S|a:b", help="Topics that each node follows: S, or a:b (uniform).")
    ] = "10",
    popularity: Annotated[
        str, typer.Option(metavar="LAW", help="How popular topics are: rss, zipf:A, nyse, uniform, expo or expo:RATE.")
    ] = "rss",
    rate: Annotated[float, typer.Option(min=0, max=1_000_000, help="Messages per second over all topics.")] = 100.0,
    payload: Annotated[int, typer.Option(min=8, max=1_000_000, metavar="BYTES", help="The size of a message.")] = 100,
    seconds: Annotated[float, typer.Option(min=0, help="How long to publish.")] = 30.0,
    seed: Annotated[
        int,
        typer.Option(metavar="N", min=0, max=SEED_MAX, help="Seed of interests, publications and the nodes to kill."),
    ] = 1,
    kill: Annotated[
        float, typer.Option(min=0, max=0.9, metavar="SHARE", help="Kill this share of the nodes half-way (SIGKILL).")
    ] = 0.0,
    settle: Annotated[
        float,
        typer.Option(min=0, metavar="SECONDS", help="With --kill: the time for repair, counted as a phase of its own."),
    ] = 10.0,
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="The folder for logs and records; it must not exist.")
    ] = None,
    record: Annotated[
        bool, typer.Option("--record", help="Record every node for `gossamer replay`; needs --out.")
    ] = False,
    telemetry: Annotated[
        bool, typer.Option("--telemetry", help="Write telemetry records to OUT/telemetry; needs --out.")
    ] = False,
    trace: Trace = None,
    dashboard: Annotated[
        bool, typer.Option("--dashboard", help="Print the address of a dashboard that shows and controls the network.")
    ] = False,
    system: SystemName = None,
    settings: LiveSettings = None,
    dissemination: DisseminationName = None,
    json: Json = False,
) -> None:
    """Run a network of node processes and count every delivery.

    Each node follows topics and publishes on them; a topic that only one node follows gets no messages. Deliveries are
    counted by message id at every subscriber, except messages from and to nodes that --kill ends. Exit code 1 if a topic
    stayed disconnected, a node died by itself, or a message was missing, duplicated or out of order. After orders from the
    dashboard missing messages are counted and not judged. Without --out the logs are deleted at the end.

    With --plan the nodes are those of the plan: they keep its links, follow its topics, and have its names in every
    output. If some nodes of a topic only publish on it, they alone publish.

    Example: gossamer up --nodes 20 --topics 50 --subscriptions 10 --rate 100 --seconds 30 --seed 1

    Example: gossamer up --plan out/plan --seconds 10
    """
    if record and out is None:
        raise InputError("--record needs --out, the folder for the records")
    if telemetry and out is None:
        raise InputError("--telemetry needs --out, the folder for the records")
    if kill and seconds / 2 <= settle:
        raise InputError(f"--kill happens half-way; give --seconds above {2 * settle:g}, or a shorter --settle")
    if out is not None and out.exists():
        raise InputError(f"{out} exists; give another folder")
    from gossamer.live.api.options import Telemetry
    from gossamer.live.api.stacks import find_stack
    from gossamer.live.operations.settings import NodeSettings

    system = system or (NodeSettings().system if plan is None else DEFAULT_PLANNED)
    system_settings, dissemination_settings = live_parameters(settings, system, dissemination)
    if find_stack(system, system_settings, dissemination, dissemination_settings).takes_plan != (plan is not None):
        raise InputError(f"--system {system} and --plan do not go together; --plan needs planned or omen-planned")
    if plan is not None:
        _check_without_law(context)
    with ExitStack() as open_things:
        if out is None:
            out = Path(open_things.enter_context(tempfile.TemporaryDirectory(prefix="gossamer-up-")))
        same = {
            "payload_bytes": payload,
            "system": system,
            "settings": system_settings,
            "dissemination": dissemination,
            "dissemination_settings": dissemination_settings,
            "record": record,
            "trace": Telemetry(out, trace or Telemetry.trace).trace if telemetry else 0,
        }
        if plan is None:
            interests = fleet_interests(nodes, topics, subscriptions, popularity, seed)
            tasks = fleet_settings(out, interests, rate, seed, **same)
        else:
            from gossamer.live.fleet.planned import planned_members

            tasks = planned_members(plan, out, rate, seed, NODES_MAX, **same)
            nodes, topics = len(tasks), len({topic for task in tasks for topic in task.topics})
        out.mkdir(parents=True, exist_ok=True)
        found = asyncio.run(_run(out, tasks, seconds, kill, settle, seed, dashboard))
    if json:
        print_json(found)
    else:
        phases, reasons = found.pop("phases"), found.pop("reasons")
        print_facts(f"{nodes} nodes, {topics} topics, {found['messages_published']:,} messages", found)
        for phase in phases if kill else ():
            print_facts(f"published {phase.pop('name')}", phase)
        if reasons:
            print_facts("Drops, refusals and errors", reasons)
    bad = ("twice", "out_of_order", "died") + (() if found.get("orders") else ("topics_parted", "missing"))
    if any(found[name] for name in bad):
        raise typer.Exit(1)


def _check_without_law(context: typer.Context) -> None:
    """Refuse flags that describe a generated network."""
    for name in ("nodes", "topics", "subscriptions", "popularity"):
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise InputError(f"--{name} generates a network, and --plan names its nodes and topics; leave out --{name}")


def fleet_interests(nodes: int, topics: int, subscriptions: str, popularity: str, seed: int) -> list[list[int]]:
    """The topics of each node."""
    from gossamer.workloads.interests import make_interests

    made = make_interests(nodes, topics, subscriptions, popularity, seed)
    return [made.topics_of(node).tolist() for node in range(nodes)]


def fleet_settings(
    folder: Path, interests: Sequence[Sequence[int]], rate: float, seed: int, **same: Any
) -> "list[MemberSettings]":
    """The settings of each node. Topics share the rate equally, and so do the followers of each topic."""
    from gossamer.live.fleet.member import MemberSettings

    followers: dict[int, int] = {}
    for held in interests:
        for topic in held:
            followers[topic] = followers.get(topic, 0) + 1
    # A topic with a single follower gets no messages, because no other node would receive them.
    shared = {topic: count for topic, count in followers.items() if count > 1}
    if not shared:
        raise InputError("no topic is followed by two nodes; ask for fewer topics or more subscriptions")
    return [
        MemberSettings(
            index=index,
            topics=tuple(held),
            rates=tuple(rate / len(shared) / shared[topic] if topic in shared else 0.0 for topic in held),
            join=(),
            folder=str(folder),
            seed=seed,
            **same,
        )
        for index, held in enumerate(interests)
    ]


async def _run(
    folder: Path,
    tasks: "Sequence[MemberSettings]",
    seconds: float,
    kill: float,
    settle: float,
    seed: int,
    dashboard: bool,
) -> dict[str, Any]:
    from gossamer.live.fleet.count import count_messages
    from gossamer.live.fleet.network import Fleet
    from gossamer.web.showing import show_fleet

    say = Say()
    began = time.monotonic()
    reconnected: float | None = None
    phases = [("before", 0)]
    orders: dict[str, int] = {}
    async with AsyncExitStack() as open_things:
        fleet = await open_things.enter_async_context(Fleet(folder, tasks, say))
        await fleet.start()
        if dashboard:
            url, controls = await open_things.enter_async_context(show_fleet(fleet, "127.0.0.1:0"))
            typer.echo(f"dashboard: {url}", err=True)
            open_things.callback(lambda: orders.update(orders=controls.done))
        started = time.monotonic()
        whole = await fleet.connected(CONNECT_SECONDS)
        connected = time.monotonic()
        typer.echo(
            f"{len(tasks)} nodes up after {started - began:.1f} s; "
            + (f"all topics connected {connected - started:.1f} s later" if whole else "some topics are disconnected"),
            err=True,
        )
        await fleet.tell("publish")
        await _watch(fleet, say, seconds / 2 if kill else seconds)
        if kill:
            killed_at = time.monotonic()
            phases += [("meanwhile", time.monotonic_ns()), ("after", time.monotonic_ns() + int(settle * 1e9))]
            fleet.kill(_victims(len(tasks), kill, seed))
            typer.echo(f"killed {len(fleet.killed)} of {len(tasks)} nodes", err=True)
            whole = await fleet.connected(CONNECT_SECONDS) and whole
            reconnected = time.monotonic() - killed_at
            await _watch(fleet, say, killed_at + seconds / 2 - time.monotonic())
        await fleet.tell("quiet")
        counts = await _drain(fleet, say)
        nodes = {
            member.settings.index: int(member.hello.node, 16) for member in fleet.members if member.hello is not None
        }
    typer.echo("counting", err=True)
    gone = {*fleet.killed, *fleet.died}
    members = [member.settings for member in fleet.members]
    followed = [[topic for topic in member.topics if topic not in member.publishes] for member in members]
    names = {nodes[member.index]: member.name for member in members if member.name and member.index in nodes}
    named = dict(pair for member in members for pair in zip(member.topics, member.topic_names, strict=False))
    count = count_messages(folder, followed, nodes, gone, phases, names, named)
    return orders | _summary(count, counts, started - began, connected - started, whole, reconnected, fleet)


async def _watch(fleet: "Fleet", say: Say, seconds: float) -> None:
    """Wait, and report progress meanwhile."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        await asyncio.sleep(min(left, PLAIN_SECONDS))
        counts = await fleet.counts()
        published = sum(sum(count.published) for count in counts.values())
        delivered = sum(sum(count.delivered.values()) for count in counts.values())
        say(f"{published:,} published, {delivered:,} delivered, {max(left, 0):.0f} s left")


async def _drain(fleet: "Fleet", say: Say) -> "dict[int, MemberCounts]":
    """Wait until every message was delivered, no delivery arrives for a while, or the time is up."""
    until = time.monotonic() + DRAIN_SECONDS
    latest, changed_at = -1, time.monotonic()
    while True:
        counts = await fleet.counts()
        alive = {member.hello.node for member in fleet.alive if member.hello is not None}
        delivered = sum(
            number for count in counts.values() for node, number in count.delivered.items() if node in alive
        )
        now = time.monotonic()
        if delivered != latest:
            latest, changed_at = delivered, now
        if delivered >= _expected(fleet, counts) or now - changed_at > IDLE_SECONDS or now > until:
            return counts
        say(f"{delivered:,} delivered; waiting for the last messages")
        await asyncio.sleep(0.1)


def _expected(fleet: "Fleet", counts: "dict[int, MemberCounts]") -> int:
    """The deliveries at living nodes of all messages that living nodes published."""
    followers: dict[int, int] = {}
    for member in fleet.alive:
        for topic in member.settings.topics:
            followers[topic] = followers.get(topic, 0) + (topic not in member.settings.publishes)
    expected = 0
    for index, count in counts.items():
        settings = fleet.members[index].settings
        for topic, published in zip(settings.topics, count.published, strict=True):
            expected += published * max(followers.get(topic, 0) - (topic not in settings.publishes), 0)
    return expected


def _victims(nodes: int, share: float, seed: int) -> list[int]:
    """The nodes to kill, drawn with the seed."""
    order = sorted(range(nodes), key=lambda node: draw(seed, 0, Purpose.FAILED, 0, item=node))
    return sorted(order[: max(1, round(nodes * share))])


def _summary(
    count: "MessageCount",
    counts: "dict[int, MemberCounts]",
    seconds_to_start: float,
    seconds_to_connect: float,
    whole: bool,
    reconnected: float | None,
    fleet: "Fleet",
) -> dict[str, Any]:
    links = [each.links for each in counts.values()] or [0]
    frames, sent_bytes = sum(each.frames for each in counts.values()), sum(each.bytes for each in counts.values())
    reasons = sum((Counter(each.reasons) for each in counts.values()), Counter())
    names = {member.settings.index: member.settings.name for member in fleet.members if member.settings.name}
    largest = max(counts, key=lambda index: counts[index].links, default=None)
    rss = [each.rss_bytes / 1e6 for each in counts.values()] or [0.0]
    return {
        "seconds_to_start": round(seconds_to_start, 2),
        "seconds_to_connect": round(seconds_to_connect, 2),
        "topics_parted": not whole,
        **({} if reconnected is None else {"seconds_to_connect_again": round(reconnected, 2)}),
        "links_average": round(sum(links) / len(links), 2),
        "links_most": max(links),
        **({"node_with_most_links": names[largest]} if largest in names else {}),
        "messages_published": count.published,
        "delivered": count.delivered,
        "refused": sum(each.refused for each in counts.values()),
        "missing": count.missing,
        "twice": count.twice,
        "out_of_order": count.out_of_order,
        "of_unwritten_messages": count.unknown,
        "latency_ms_p50": round(count.latency_ms_p50, 3),
        "latency_ms_p99": round(count.latency_ms_p99, 3),
        "latency_ms_max": round(count.latency_ms_max, 3),
        "frames_per_delivery": round(frames / max(count.delivered, 1), 2),
        "bytes_per_delivery": round(sent_bytes / max(count.delivered, 1), 1),
        "cpu_seconds": round(sum(each.cpu_seconds for each in counts.values()), 1),
        "rss_mb_average": round(sum(rss) / len(rss), 1),
        "rss_mb_most": round(max(rss), 1),
        "killed": len(fleet.killed),
        "died": len(fleet.died),
        **({"killed_nodes": [names[index] for index in fleet.killed]} if names and fleet.killed else {}),
        "missing_examples": count.examples,
        "reasons": dict(sorted(reasons.items())),
        "phases": [
            {"name": phase.name, "published": phase.published, "expected": phase.expected, "missing": phase.missing}
            for phase in count.phases
        ],
    }
