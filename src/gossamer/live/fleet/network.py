"""A fleet as whoever started it sees it: start, ask, kill, stop; and whether every topic is connected."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Self, TypeVar

import msgspec
from msgspec import Struct

from gossamer.live.fleet.member import LINE_BYTES_MAX, Counts, Hello, Order, Task
from gossamer.model.values.errors import GossamerError, InputError

MEMBERS = "members.json"
ERRORS = "errors.log"
# Chosen: members that all others join through.
SEEDS = 3
# Chosen: how long members may take to leave before they are killed.
LEAVE_SECONDS = 10.0
# Chosen: how long a member may take to answer on a machine with far more processes than cores.
ANSWER_SECONDS = 30.0

Say = Callable[[str], None]
Answer = TypeVar("Answer")


class Entry(Struct, frozen=True):
    """One member, as `members.json` names it."""

    index: int
    pid: int
    node: str
    address: str
    metrics: str


class Process:
    """The near end of one member."""

    def __init__(self, task: Task, connection: socket.socket) -> None:
        self.task = task
        self.hello: Hello | None = None
        self.is_alive = True
        self._connection = connection
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def start(self, seeds: Sequence[str]) -> Hello | None:
        """Give it its task; answers once it listens."""
        self._reader, self._writer = await asyncio.open_connection(sock=self._connection, limit=LINE_BYTES_MAX)
        task = msgspec.structs.replace(self.task, seeds=tuple(seeds))
        self.hello = await self.ask(Order("start", task), Hello)
        return self.hello

    async def ask(self, order: Order, kind: type[Answer]) -> Answer | None:
        """Its answer; None where it is gone."""
        if self._writer is None or self._reader is None or not self.is_alive:
            return None
        try:
            self._writer.write(msgspec.json.encode(order) + b"\n")
            async with asyncio.timeout(ANSWER_SECONDS):
                line = await self._reader.readline()
        except TimeoutError:
            raise GossamerError(f"member {self.task.index} did not answer within {ANSWER_SECONDS:g} s") from None
        except OSError:
            line = b""
        if not line:
            self.is_alive = False
            return None
        return msgspec.json.decode(line, type=kind)

    def let_go(self) -> None:
        """End the conversation: the member leaves."""
        if self._writer is not None:
            self._writer.close()
        else:
            self._connection.close()


class Fleet:
    """Many members, from one process that loads the code and forks. Enter it to have them; leave it and none is left."""

    def __init__(self, folder: Path, tasks: Sequence[Task], say: Say) -> None:
        self.folder = folder
        self.members: list[Process] = []
        self.killed: dict[int, None] = {}
        self._tasks = tasks
        self._say = say
        self._nest: subprocess.Popen[bytes] | None = None

    async def __aenter__(self) -> Self:
        """Start the processes; they do nothing yet."""
        pairs = [socket.socketpair() for _ in self._tasks]
        numbers = [far.fileno() for _, far in pairs]
        command = [sys.executable, "-m", "gossamer.live.fleet.member", *map(str, numbers)]
        with (self.folder / ERRORS).open("wb") as errors:
            # A session of its own: Ctrl-C is for us, who then end it.
            self._nest = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stderr=errors, pass_fds=numbers, start_new_session=True
            )
        for task, (near, far) in zip(self._tasks, pairs, strict=True):
            far.close()
            near.setblocking(False)
            self.members.append(Process(task, near))
        return self

    async def __aexit__(self, *exception: object) -> None:
        """Stop them all; who does not leave is killed."""
        assert self._nest is not None
        for member in self.members:
            member.let_go()
        try:
            async with asyncio.timeout(LEAVE_SECONDS):
                while self._nest.poll() is None:
                    await asyncio.sleep(0.02)
        finally:
            if self._nest.poll() is None:
                os.killpg(self._nest.pid, signal.SIGKILL)
                self._nest.wait()

    @property
    def alive(self) -> list[Process]:
        """Those that answer."""
        return [member for member in self.members if member.is_alive]

    @property
    def died(self) -> list[int]:
        """Those that ended and that nobody killed."""
        return [m.task.index for m in self.members if not m.is_alive and m.task.index not in self.killed]

    async def start(self) -> None:
        """Let all join: the first few, and then the others through these."""
        first, others = self.members[:SEEDS], self.members[SEEDS:]
        seeds: list[str] = []
        for member in first:
            hello = await member.start(seeds)
            seeds += [] if hello is None else [hello.address]
        done = len(first)

        async def start(member: Process) -> None:
            nonlocal done
            await member.start(seeds)
            done += 1
            self._say(f"{done} of {len(self.members)} nodes are up")

        await asyncio.gather(*map(start, others))
        if self.died:
            raise GossamerError(f"{len(self.died)} of {len(self.members)} nodes ended at once: {self._last_error()}")
        entries = [Entry(m.task.index, **msgspec.structs.asdict(m.hello)) for m in self.members if m.hello is not None]
        (self.folder / MEMBERS).write_bytes(msgspec.json.encode(entries))

    async def tell(self, what: str) -> None:
        """Give everybody an order that has no answer."""
        await asyncio.gather(*(member.ask(Order(what), type(None)) for member in self.alive))

    async def counts(self) -> dict[int, Counts]:
        """How everybody is doing."""
        asked = self.alive
        answers = await asyncio.gather(*(member.ask(Order("counts"), Counts) for member in asked))
        return {m.task.index: answer for m, answer in zip(asked, answers, strict=True) if answer is not None}

    async def connected(self, seconds: float) -> bool:
        """Wait until every topic is connected among those alive; False if that takes too long."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while True:
            whole, topics = await self._connected_topics()
            self._say(f"{whole} of {topics} topics are connected")
            if whole == topics:
                return True
            if loop.time() >= deadline:
                return False
            await asyncio.sleep(0.25)

    def kill(self, indices: Iterable[int]) -> None:
        """End these without a word."""
        for index in indices:
            member = self.members[index]
            if member.is_alive and member.hello is not None:
                self.killed[index] = None
                member.is_alive = False
                os.kill(member.hello.pid, signal.SIGKILL)

    async def _connected_topics(self) -> tuple[int, int]:
        asked = self.alive
        answers = await asyncio.gather(*(member.ask(Order("peers"), list[list[str]]) for member in asked))
        holders: dict[int, dict[str, set[str]]] = {}
        for member, answer in zip(asked, answers, strict=True):
            if answer is None or member.hello is None:
                continue
            for topic, peers in zip(member.task.topics, answer, strict=True):
                holders.setdefault(topic, {})[member.hello.node] = set(peers)
        shared = [peers for peers in holders.values() if len(peers) > 1]
        return sum(map(is_connected, shared)), len(shared)

    def _last_error(self) -> str:
        lines = (self.folder / ERRORS).read_text(errors="replace").strip().splitlines()
        return lines[-1] if lines else "they said nothing"


def is_connected(peers: Mapping[str, set[str]]) -> bool:
    """Whether all who hold a topic are joined by links that both ends know to carry it."""
    first = next(iter(peers))
    found, left = {first}, [first]
    while left:
        one = left.pop()
        for other in peers[one]:
            if other not in found and one in peers.get(other, ()):
                found.add(other)
                left.append(other)
    return len(found) == len(peers)


def read_members(folder: Path) -> list[Entry]:
    """The members of a fleet that runs in this folder."""
    try:
        return msgspec.json.decode((folder / MEMBERS).read_bytes(), type=list[Entry])
    except FileNotFoundError:
        raise InputError(f"no network runs in {folder}: there is no {MEMBERS}") from None
    except ValueError as error:
        raise InputError(f"{folder / MEMBERS} is damaged: {error}") from None
