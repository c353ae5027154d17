"""A scenario: a network, its traffic and its faults. It is drawn from a seed, or read from a file.

Everything random is drawn here, so a scenario can be made smaller by leaving out parts of it.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from gossamer.model.values.draw import below, draw, third_party_purpose, unit
from gossamer.model.values.errors import InputError
from gossamer.model.values.time import MILLISECOND_US, SECOND_US
from gossamer.systems import all_disseminations, find_live, find_system, live_names

# A file of another version may mean something else.
VERSION = 1

# Chosen: faults begin when the network has formed, and all have ended by `HEAL_US`. `DUE_US` later every topic must be
# connected; the probes that show it have `PROBE_US` to arrive.
CALM_US = 12 * SECOND_US
HEAL_US = 40 * SECOND_US

# Chosen: 20 to 60 nodes, as large as a seed a second allows.
NODES_MIN, NODES_MAX = 20, 60
MESSAGES_PER_SECOND = 6

Kind = Literal[
    "crash",  # the nodes crash, and return with their files
    "crash_without_files",  # the nodes crash, and return with their identity alone
    "stop",  # the nodes leave in good order, and return with their files
    "die",  # the nodes crash for good
    "crowd",  # the nodes are absent at first and join at the same moment
    "pause",  # the processes stand still
    "slow",  # the processes take `amount` microseconds for each event
    "close",  # the nodes close all topics, and open them again
    "swap",  # the nodes give one topic up and take another
    "cut",  # no message passes between the nodes and all others
    "cut_some",  # between the nodes and all others, the share `amount` of the pairs is cut
    "cut_one_way",  # messages of the nodes do not reach the others
    "clog",  # messages between the nodes take `amount` microseconds longer
    "lose",  # the share `amount` of all messages is lost
    "repeat",  # the share `amount` of all messages arrives twice
    "clock",  # the clocks of the nodes are `amount` microseconds ahead; those of nodes that return go back by as much
    "drift",  # the clocks of the nodes run faster by the share `amount`
]
KINDS: tuple[Kind, ...] = Kind.__args__  # type: ignore[attr-defined]

Item = TypeVar("Item")


class Fault(msgspec.Struct, frozen=True):
    """One fault: from `at_us` until `until_us` it affects these nodes."""

    kind: Kind
    at_us: int
    until_us: int
    nodes: tuple[int, ...] = ()
    amount: float = 0.0


class Scenario(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A network and everything that happens to it.

    `topics` are those that each node follows, by node; a node without topics never starts.
    """

    seed: int
    live: str
    dissemination: str
    topics: tuple[tuple[int, ...], ...]
    latency_us: tuple[int, int]
    faults: tuple[Fault, ...]
    # (time, node, topic) of each message. Messages of a node that is absent or stands still are left out.
    messages: tuple[tuple[int, int, int], ...]
    heal_us: int = HEAL_US
    version: int = VERSION

    @property
    def node_count(self) -> int:
        """The number of nodes, present or not."""
        return len(self.topics)

    @property
    def topic_count(self) -> int:
        """The number of topics that anybody follows at first."""
        return max((max(each, default=-1) for each in self.topics), default=-1) + 1


class Draws:
    """Random numbers for one purpose of a seed, one after another."""

    def __init__(self, seed: int, purpose: str) -> None:
        self._seed, self._purpose = seed, third_party_purpose(f"torture/{purpose}")
        self._count = 0

    def bits(self) -> int:
        """64 random bits."""
        self._count += 1
        return draw(self._seed, 0, self._purpose, self._count)

    def between(self, low: int, high: int) -> int:
        """A whole number from `low` to `high`, both included."""
        return low + below(self.bits(), high - low + 1)

    def share(self, low: float, high: float) -> float:
        """A number between `low` and `high`."""
        return low + (high - low) * unit(self.bits())

    def one_of(self, items: Sequence[Item]) -> Item:
        """One of the items."""
        return items[below(self.bits(), len(items))]

    def some_of(self, items: Sequence[Item], count: int) -> list[Item]:
        """So many of the items, in their order."""
        keys = sorted((self.bits(), place) for place in range(len(items)))
        return [items[place] for place in sorted(place for _, place in keys[:count])]


def stacks() -> list[tuple[str, str]]:
    """The live systems whose stack has recovery, each with every dissemination that its overlay carries."""
    found = []
    for name in live_names():
        start = find_live(name)
        system = find_system(start.system)
        if system.recovers and not start.takes_plan:
            found += [(name, each.name) for each in all_disseminations().values() if system.carries(each)]
    return sorted(found)


def draw_scenario(seed: int, live: str | None = None) -> Scenario:
    """The scenario of a seed; `live` chooses the system instead of the seed."""
    known = stacks()
    if live is not None and live not in {name for name, _ in known}:
        raise InputError(f"torture runs live systems with recovery: {', '.join(sorted(dict(known)))}; got {live!r}")
    draws = Draws(seed, "network")
    names = sorted({name for name, _ in known})
    chosen = draws.one_of(names)
    chosen = live or chosen
    # Half of the seeds run the dissemination that live nodes use.
    others = [dissemination for name, dissemination in known if name == chosen]
    dissemination = find_live(chosen).dissemination if draws.between(0, 1) else draws.one_of(others)
    node_count = draws.between(NODES_MIN, NODES_MAX)
    topic_count = draws.between(4, 16)
    least, most = draws.one_of([(1, 3), (2, 6), (4, 4)])
    topics = tuple(
        tuple(sorted(draws.some_of(range(topic_count), draws.between(least, min(most, topic_count)))))
        for _ in range(node_count)
    )
    low_us = draws.between(1, 30) * MILLISECOND_US
    return Scenario(
        seed=seed,
        live=chosen,
        dissemination=dissemination,
        topics=topics,
        latency_us=(low_us, low_us + draws.one_of([0, 10, 60]) * MILLISECOND_US),
        faults=_draw_faults(Draws(seed, "faults"), node_count),
        messages=_draw_messages(Draws(seed, "messages"), topics),
    )


def _draw_faults(draws: Draws, node_count: int) -> tuple[Fault, ...]:
    """Each kind of fault is part of a scenario with an even chance, so that kinds meet in all combinations."""
    found: list[Fault] = []
    # A node has one fault of its process at a time.
    free = draws.some_of(range(node_count), node_count)
    for kind in KINDS:
        if draws.between(0, 1):
            continue
        for _ in range(draws.between(1, 2)):
            at_us = draws.between(CALM_US, HEAL_US - 4 * SECOND_US)
            until_us = draws.between(at_us + SECOND_US, HEAL_US)
            count = draws.between(1, max(1, node_count // 6))
            if kind in ("cut", "cut_some", "cut_one_way"):
                nodes = draws.some_of(range(node_count), draws.between(1, node_count // 2))
            elif kind in ("lose", "repeat"):
                nodes = []
            elif kind in ("clog", "clock", "drift"):
                nodes = draws.some_of(range(node_count), max(count, 2))
            else:
                nodes = draws.some_of(free, min(count, len(free) - 2)) if len(free) > 2 else []
                free = [node for node in free if node not in nodes]
                if not nodes:
                    continue
            found.append(Fault(kind, at_us, until_us, tuple(nodes), _amount(kind, draws)))
    return tuple(sorted(found, key=lambda fault: fault.at_us))


def _amount(kind: Kind, draws: Draws) -> float:
    match kind:
        case "slow":
            return draws.share(1_000, 30_000)
        case "cut_some":
            return draws.share(0.2, 0.8)
        case "clog":
            return draws.share(0.2, 5.0) * SECOND_US
        case "lose":
            return draws.share(0.01, 0.2)
        case "repeat":
            return draws.share(0.05, 0.5)
        case "clock":
            return draws.one_of([1, 60, 3_600, 86_400]) * SECOND_US
        case "drift":
            return draws.share(-0.02, 0.02)
        case _:
            return 0.0


def _draw_messages(draws: Draws, topics: Sequence[Sequence[int]]) -> tuple[tuple[int, int, int], ...]:
    """Messages at random times, by few publishers on each topic, so that each publishes several."""
    publishers: dict[int, list[int]] = {}
    for node, followed in enumerate(topics):
        for topic in followed:
            publishers.setdefault(topic, []).append(node)
    chosen = {topic: draws.some_of(nodes, min(len(nodes), 4)) for topic, nodes in sorted(publishers.items())}
    found = []
    for _ in range(MESSAGES_PER_SECOND * (HEAL_US // SECOND_US)):
        topic = draws.one_of(sorted(chosen))
        found.append((draws.between(4 * SECOND_US, HEAL_US + 2 * SECOND_US), draws.one_of(chosen[topic]), topic))
    return tuple(sorted(found))


def write_scenario(path: Path, scenario: Scenario) -> None:
    """Write a scenario as a file that `read_scenario` reads."""
    making = path.with_name(f".{path.name}.making")
    making.write_bytes(msgspec.json.format(msgspec.json.encode(scenario), indent=1))
    making.replace(path)


def read_scenario(path: Path) -> Scenario:
    """Read a scenario that a failing run wrote."""
    try:
        scenario = msgspec.json.decode(path.read_bytes(), type=Scenario)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    except msgspec.ValidationError as error:
        raise InputError(f"{path} is not a scenario of this version: {error}") from None
    except msgspec.DecodeError:
        raise InputError(f"{path} is not JSON") from None
    if scenario.version != VERSION:
        raise InputError(f"{path} has version {scenario.version}, and this Gossamer reads version {VERSION}")
    _check(scenario, path)
    return scenario


def _check(scenario: Scenario, path: Path) -> None:
    nodes = range(scenario.node_count)
    if (scenario.live, scenario.dissemination) not in stacks():
        raise InputError(f"{path} asks for {scenario.live} with {scenario.dissemination}, which torture does not run")
    for fault in scenario.faults:
        if any(node not in nodes for node in fault.nodes) or not 0 <= fault.at_us <= fault.until_us:
            raise InputError(f"{path} has a fault {fault.kind} with nodes or times that the network does not have")
    if any(node not in nodes or at_us < 0 for at_us, node, _ in scenario.messages):
        raise InputError(f"{path} has a message of a node that the network does not have")
