"""One process of the fleet benchmark: it follows its topics, publishes on command, and logs every message by its id.

`python -m bench.fleet_member NAME FD...` imports the library NAME once and forks a process for each socket, so that a
hundred processes start in the time of a few. Each process takes commands over its socket and answers them, one line of JSON
each. All libraries run this same code; `bench/fleet_contenders.py` connects it to each of them.
"""

import fcntl
import gc
import json
import os
import socket
import struct
import sys
import time
from bisect import bisect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from gossamer.live.fleet.member import DELIVERED, ENTRY, PUBLISHED, log_path
from gossamer.model.values.draw import Purpose, draw, unit

# In front of each payload: the publisher's index, the number of the message, and its round (0: no probe).
HEAD = struct.Struct(">IQI")
# Linux: read and set the flags of an interface.
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 1


@dataclass
class Driver:
    """What the traffic needs of a library and of its event loop."""

    address: str
    publish: Callable[[int, bytes], Awaitable[None]]
    sleep: Callable[[float], Awaitable[None]]
    in_thread: Callable[[Callable[[], Any]], Awaitable[Any]]
    # Connect to these other members, for libraries whose nodes do not find each other.
    connect: Callable[[list[str]], Awaitable[None]] | None = None


class Traffic:
    """The messages that one process publishes and receives."""

    def __init__(self, settings: dict[str, Any], lines: Any) -> None:
        self.index: int = settings["index"]
        self.topics: list[int] = settings["topics"]
        self.join: list[str] = settings["join"]
        self._settings = settings
        self._lines = lines
        self._entries = bytearray()
        self._published = 0
        self._received = 0
        # The messages of each round of probes that arrived.
        self._probes: dict[int, set[tuple[int, int]]] = {}

    def deliver(self, topic: int, payload: bytes) -> None:
        """Log a message that arrived. A library may call this from its own threads."""
        publisher, number, probe = HEAD.unpack_from(payload)
        if publisher == self.index:
            return
        self._entries.extend(ENTRY.pack(DELIVERED, topic, publisher, number, time.monotonic_ns()))
        if probe:
            self._probes.setdefault(probe, set()).add((publisher, number))

    async def serve(self, driver: Driver) -> None:
        """Answer commands until the last one."""
        self._answer({"pid": os.getpid(), "address": driver.address})
        while line := await driver.in_thread(self._lines.readline):
            command = json.loads(line)
            answer: dict[str, Any] = {}
            if command["do"] == "connect" and driver.connect is not None:
                await driver.connect(command["addresses"])
            elif command["do"] == "probe":
                for topic in command["topics"]:
                    await self._publish(driver, topic, command["round"])
            elif command["do"] == "counts":
                probes = {str(probe): len(found) for probe, found in self._probes.items()}
                answer = {"delivered": len(self._entries) // ENTRY.size - self._published, "probes": probes}
            elif command["do"] == "publish":
                await self._publish_paced(driver, command["seconds"])
                answer = {"published": self._published}
            elif command["do"] == "end":
                log_path(Path(self._settings["folder"]), self.index).write_bytes(self._entries)
            self._answer(answer)

    def _answer(self, answer: dict[str, Any]) -> None:
        self._lines.write(json.dumps(answer).encode() + b"\n")
        self._lines.flush()

    async def _publish_paced(self, driver: Driver, seconds: float) -> None:
        """Publish at the member's rate. A member that falls behind catches up."""
        settings = self._settings
        rates = list(accumulate(settings["rates"]))
        rate = rates[-1]
        # Members start at different moments, so that their messages do not coincide.
        phase = unit(draw(settings["seed"], self.index, Purpose.PUBLISH_TIME, 0))
        began = time.monotonic()
        for place in range(int(rate * seconds - phase) + 1 if rate else 0):
            await driver.sleep(max(0.0, began + (place + phase) / rate - time.monotonic()))
            share = unit(draw(settings["seed"], self.index, Purpose.PUBLISH_TOPIC, place)) * rate
            await self._publish(driver, self.topics[min(bisect(rates, share), len(rates) - 1)], 0)
        await driver.sleep(max(0.0, began + seconds - time.monotonic()))

    async def _publish(self, driver: Driver, topic: int, probe: int) -> None:
        self._published += 1
        head = HEAD.pack(self.index, self._published, probe)
        payload = head + bytes(self._settings["payload_bytes"] - len(head))
        self._entries.extend(ENTRY.pack(PUBLISHED, topic, self.index, self._published, time.monotonic_ns()))
        await driver.publish(topic, payload)


def main(name: str, sockets: list[int]) -> None:
    """Import the library, fork a process for each socket, and wait for all of them."""
    from bench.fleet_contenders import load

    run = load(name)
    _bring_loopback_up()
    gc.freeze()
    for mine in sockets:
        if os.fork() == 0:
            for other in sockets:
                if other != mine:
                    os.close(other)
            lines = socket.socket(fileno=mine).makefile("rwb")
            if line := lines.readline():
                run(Traffic(json.loads(line), lines))
            os._exit(0)
    for each in sockets:
        os.close(each)
    for _ in sockets:
        os.wait()


def _bring_loopback_up() -> None:
    """Bring loopback up: in a new network namespace it is down."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.Struct("16sh14x")
        name, flags = request.unpack(fcntl.ioctl(any_socket, _GET_FLAGS, request.pack(b"lo", 0)))
        if not flags & _UP:
            fcntl.ioctl(any_socket, _SET_FLAGS, request.pack(name, flags | _UP))


if __name__ == "__main__":
    main(sys.argv[1], [int(text) for text in sys.argv[2:]])
