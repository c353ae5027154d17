"""Starts the members of a fleet, sends them commands, kills or stops them, and checks that every topic is connected."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self, TypeVar

import msgspec
from msgspec import Struct

from gossamer.live.fleet.member import LINE_BYTES_MAX, MemberCommand, MemberCounts, MemberHello, MemberSettings
from gossamer.model.values.errors import GossamerError, InputError

MEMBERS = "members.json"
ERRORS = "errors.log"
# Chosen: all other members join the network through the first three.
FIRST_MEMBERS = 3
# Chosen: members that start at the same time. A node that joins takes 0.1 s of CPU and more; if two hundred began at once,
# none of them would answer in time on a small machine.
STARTING_MAX = 16
# Chosen: the shortest time between two looks at whether all topics are connected.
LOOK_SECONDS = 0.25
# Chosen: members that take longer to leave are killed.
LEAVE_SECONDS = 10.0
# Chosen: long enough for an answer on a machine with far more processes than cores.
ANSWER_SECONDS = 30.0

Say = Callable[[str], None]
_Reply = TypeVar("_Reply")


class MemberEntry(Struct, frozen=True):
    """One member in `members.json`. A node of `gossamer deploy` has neither a process nor an id yet."""

    index: int
    pid: int
    node: str
    address: str
    metrics: str
    name: str = ""


class MemberProcess:
    """The controlling side of one member's socket."""

    def __init__(self, settings: MemberSettings, connection: socket.socket) -> None:
        self.settings = settings
        self.hello: MemberHello | None = None
        self.is_alive = True
        self._connection = connection
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        # Answers come in the order of the commands, one at a time.
        self._turn = asyncio.Lock()

    async def start(self, join: Sequence[str]) -> MemberHello | None:
        """Start the node, which joins the network through these addresses, and wait until it listens."""
        self._reader, self._writer = await asyncio.open_connection(sock=self._connection, limit=LINE_BYTES_MAX)
        settings = msgspec.structs.replace(self.settings, join=tuple(join))
        self.hello = await self.ask(MemberCommand("start", settings), MemberHello)
        return self.hello

    async def ask(self, command: MemberCommand, kind: type[_Reply]) -> _Reply | None:
        """Send a command and return the answer; None if the member has ended."""
        if self._writer is None or self._reader is None or not self.is_alive:
            return None
        try:
            async with self._turn, asyncio.timeout(ANSWER_SECONDS):
                self._writer.write(msgspec.json.encode(command) + b"\n")
                line = await self._reader.readline()
        except TimeoutError:
            raise GossamerError(f"member {self.settings.index} did not answer within {ANSWER_SECONDS:g} s") from None
        except OSError:
            line = b""
        if not line:
            self.is_alive = False
            return None
        return msgspec.json.decode(line, type=kind)

    def stop(self) -> None:
        """Close the socket, so that the member leaves the network and ends."""
        if self._writer is not None:
            self._writer.close()
        else:
            self._connection.close()


class Fleet:
    """Many members, forked by one process that loads the code. Entering the context starts them, leaving it ends all."""

    def __init__(self, folder: Path, settings: Sequence[MemberSettings], say: Say) -> None:
        self.folder = folder
        self.members: list[MemberProcess] = []
        # The members that were killed or stopped on request.
        self.killed: dict[int, None] = {}
        self._settings = settings
        self._say = say
        self._parents: list[subprocess.Popen[bytes]] = []
        # Addresses through which further members join.
        self._join: list[str] = []

    async def __aenter__(self) -> Self:
        """Start the processes; they wait for commands."""
        (self.folder / ERRORS).touch()
        self._launch(self._settings)
        return self

    def _launch(self, several: Sequence[MemberSettings]) -> None:
        """Start a process that loads the code and forks one member for each of these settings."""
        pairs = [socket.socketpair() for _ in several]
        numbers = [far.fileno() for _, far in pairs]
        command = [sys.executable, "-m", "gossamer.live.fleet.member", *map(str, numbers)]
        with (self.folder / ERRORS).open("ab") as errors:
            # In a session of its own, so that Ctrl-C reaches only this process, which then ends the members.
            self._parents.append(
                subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stderr=errors, pass_fds=numbers, start_new_session=True
                )
            )
        for settings, (near, far) in zip(several, pairs, strict=True):
            far.close()
            near.setblocking(False)
            self.members.append(MemberProcess(settings, near))

    async def __aexit__(self, *exception: object) -> None:
        """Stop all members, and kill those that do not end in time."""
        for member in self.members:
            member.stop()
        try:
            # A timeout must not replace an error of the body; the members that are left are killed below.
            with suppress(TimeoutError):
                async with asyncio.timeout(LEAVE_SECONDS):
                    while any(parent.poll() is None for parent in self._parents):
                        await asyncio.sleep(0.02)
        finally:
            for parent in self._parents:
                if parent.poll() is None:
                    os.killpg(parent.pid, signal.SIGKILL)
                    parent.wait()

    @property
    def alive(self) -> list[MemberProcess]:
        """The members that have not ended."""
        return [member for member in self.members if member.is_alive]

    @property
    def died(self) -> list[int]:
        """The indices of members that ended by themselves."""
        indices = [member.settings.index for member in self.members if not member.is_alive]
        return [index for index in indices if index not in self.killed]

    async def start(self) -> None:
        """Start all nodes: the first few one after another, then the others, some at a time, which join through these."""
        first, others = self.members[:FIRST_MEMBERS], self.members[FIRST_MEMBERS:]
        addresses = self._join
        for member in first:
            hello = await member.start(addresses)
            addresses += [] if hello is None else [hello.address]
        done = len(first)
        places = asyncio.Semaphore(STARTING_MAX)

        async def start(member: MemberProcess) -> None:
            nonlocal done
            async with places:
                await member.start(addresses)
            done += 1
            self._say(f"{done} of {len(self.members)} nodes are up")

        await asyncio.gather(*map(start, others))
        if self.died:
            raise GossamerError(f"{len(self.died)} of {len(self.members)} nodes ended at once: {self._last_error()}")
        self._write_members()

    async def add(self, settings: MemberSettings) -> MemberProcess:
        """Start one more member, which joins the network."""
        self._launch([settings])
        member = self.members[-1]
        living = [each.hello.address for each in self.alive if each.hello is not None]
        if await member.start(living[:FIRST_MEMBERS] or self._join) is None:
            raise GossamerError(f"the new node ended at once: {self._last_error()}")
        self._write_members()
        return member

    def stop(self, index: int) -> None:
        """Let a member leave the network in an orderly way."""
        member = self.members[index]
        self.killed[index] = None
        member.is_alive = False
        member.stop()

    def _write_members(self) -> None:
        entries = [
            MemberEntry(member.settings.index, **msgspec.structs.asdict(member.hello))
            for member in self.members
            if member.hello is not None
        ]
        write_members(self.folder, entries)

    async def tell(self, command: str) -> None:
        """Send all members a command that has no answer: "publish" or "quiet"."""
        await asyncio.gather(*(member.ask(MemberCommand(command), type(None)) for member in self.alive))

    async def counts(self) -> dict[int, MemberCounts]:
        """The counts of all members that are alive, by index."""
        asked = self.alive
        answers = await asyncio.gather(*(member.ask(MemberCommand("counts"), MemberCounts) for member in asked))
        return {
            member.settings.index: answer for member, answer in zip(asked, answers, strict=True) if answer is not None
        }

    async def connected(self, seconds: float) -> bool:
        """Wait until every topic is connected among the members alive; False if that takes longer than `seconds`."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while True:
            began = loop.time()
            connected, topics = await self._connected_topics()
            self._say(f"{connected} of {topics} topics are connected")
            if connected == topics:
                return True
            if loop.time() >= deadline:
                return False
            # A look costs the members CPU that they need for their links: it takes at most half of the time.
            await asyncio.sleep(max(LOOK_SECONDS, loop.time() - began))

    def kill(self, indices: Iterable[int]) -> None:
        """Kill these members with SIGKILL."""
        for index in indices:
            member = self.members[index]
            if member.is_alive and member.hello is not None:
                self.killed[index] = None
                member.is_alive = False
                os.kill(member.hello.pid, signal.SIGKILL)

    async def _connected_topics(self) -> tuple[int, int]:
        """How many topics with several followers are connected, and how many there are."""
        asked = self.alive
        answers = await asyncio.gather(*(member.ask(MemberCommand("peers"), list[list[str]]) for member in asked))
        holders: dict[int, dict[str, set[str]]] = {}
        for member, answer in zip(asked, answers, strict=True):
            if answer is None or member.hello is None:
                continue
            for topic, peers in zip(member.settings.topics, answer, strict=True):
                holders.setdefault(topic, {})[member.hello.node] = set(peers)
        shared = [peers for peers in holders.values() if len(peers) > 1]
        return sum(map(is_connected, shared)), len(shared)

    def _last_error(self) -> str:
        lines = (self.folder / ERRORS).read_text(errors="replace").strip().splitlines()
        return lines[-1] if lines else "there is no error message"


def is_connected(peers: Mapping[str, set[str]]) -> bool:
    """Whether links that both ends know connect all nodes of a topic. `peers` are the neighbours of each node on it."""
    first = next(iter(peers))
    found, left = {first}, [first]
    while left:
        node = left.pop()
        for other in peers[node]:
            if other not in found and node in peers.get(other, ()):
                found.add(other)
                left.append(other)
    return len(found) == len(peers)


def write_members(folder: Path, entries: Sequence[MemberEntry]) -> None:
    """Write members.json; it is renamed when complete, because `gossamer status --dir` may read it at any time."""
    making = folder / f".{MEMBERS}"
    making.write_bytes(msgspec.json.encode(entries))
    making.replace(folder / MEMBERS)


def read_members(folder: Path) -> list[MemberEntry]:
    """The members of the fleet whose folder this is."""
    try:
        return msgspec.json.decode((folder / MEMBERS).read_bytes(), type=list[MemberEntry])
    except FileNotFoundError:
        raise InputError(f"no network runs in {folder}: there is no {MEMBERS}") from None
    except ValueError as error:
        raise InputError(f"{folder / MEMBERS} is damaged: {error}") from None
