"""The libraries that the live benchmark compares, each as a publisher process and a subscriber process.

`bench/live.py` starts `python -m bench.contenders NAME publisher|subscriber SETTINGS`. It prints JSON lines. A
publisher prints its address, waits for the start signal, and then prints what it sent. A subscriber prints that it is
ready, and then what it received.
"""

import asyncio
import json
import struct
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

TOPIC = "bench/topic"
_NUMBER = struct.Struct(">QQ")
# After this time without a message, the messages still missing count as lost.
QUIET_SECONDS = 10.0


def say(**facts: Any) -> None:
    """Print one line for `bench/live.py`."""
    print(json.dumps(facts), flush=True)


def payload(number: int, size: int) -> bytes:
    """A payload of this size: the message's number, the time, and padding."""
    return _NUMBER.pack(number, time.time_ns()) + b"." * (size - _NUMBER.size)


class Reader:
    """Counts received, missing, duplicate and disordered messages, and measures latencies.

    If messages are lost, a thread notices that no more arrive and reports the counts.
    """

    def __init__(self, settings: dict[str, Any]) -> None:
        self.count = settings["count"]
        self.is_paced = settings["rate"] > 0
        self.has_come = bytearray(self.count)
        self.missing = self.count
        self.twice = 0
        self.disordered = 0
        self.latencies: list[int] = []
        self.began = self.cpu = 0.0
        self._next = 0
        self._is_reported = False
        threading.Thread(target=self._watch, daemon=True).start()

    def take(self, content: bytes) -> bool:
        """Count one message; return whether all messages have arrived."""
        number, sent = _NUMBER.unpack_from(content)
        if self.has_come[number]:
            self.twice += 1
            return False
        if self.missing == self.count:
            # Start at the time of sending, because time in buffers before the subscriber runs counts too.
            self.began, self.cpu = sent / 1e9, time.process_time()
        self.has_come[number] = 1
        self.missing -= 1
        # A message is out of order if a later message arrived before it. A missing message is not.
        if number < self._next:
            self.disordered += 1
        else:
            self._next = number + 1
        if self.is_paced:
            self.latencies.append(time.time_ns() - sent)
        return not self.missing

    def _watch(self) -> None:
        before = self.count
        while self.missing == self.count or self.missing != before:
            before = self.missing
            time.sleep(QUIET_SECONDS)
        self.report()

    def report(self, **more: Any) -> None:
        """Print the counts, once."""
        if self._is_reported:
            return
        self._is_reported = True
        seconds = time.time() - self.began
        ordered = sorted(self.latencies) or [0]
        say(
            missing=self.missing,
            twice=self.twice,
            disordered=self.disordered,
            seconds=seconds,
            cpu_seconds=time.process_time() - self.cpu,
            p50_ms=ordered[len(ordered) // 2] / 1e6,
            p99_ms=ordered[int(len(ordered) * 0.99)] / 1e6,
            rss_mb=_peak_mb(),
            **more,
        )


def _peak_mb() -> float:
    """The peak memory of this process. `ru_maxrss` is not used because it starts with the parent process's value."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


async def wait_for_go() -> None:
    """Wait for the start signal of `bench/live.py`."""
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)


async def pace(settings: dict[str, Any], number: int, began: float) -> None:
    """If the settings give a rate, wait until the message is due."""
    if settings["rate"]:
        await asyncio.sleep(max(0.0, began + number / settings["rate"] - time.perf_counter()))


def _security(settings: dict[str, Any], name: str) -> Any:
    """The security of a node (`bench/secured.py`); its keys are in a folder of its name."""
    from gossamer import Security

    found = dict(settings.get("security", {}))
    folder = found.pop("folder", None)
    return Security(keys=None if folder is None else f"{folder}/{name}", **found)


async def gossamer_publisher(settings: dict[str, Any]) -> None:
    """Gossamer: a node that publishes."""
    from gossamer import Node

    async with Node(security=_security(settings, "publisher")) as node, node.publisher(TOPIC):
        say(address=node.address)
        await wait_for_go()
        await node.ready(TOPIC)
        began, cpu = time.perf_counter(), time.process_time()
        for number in range(settings["count"]):
            await pace(settings, number, began)
            await node.publish(TOPIC, payload(number, settings["size"]))
        say(seconds=time.perf_counter() - began, cpu_seconds=time.process_time() - cpu)
        await wait_for_go()


async def gossamer_subscriber(settings: dict[str, Any]) -> None:
    """Gossamer: a node that follows."""
    from gossamer import Node

    reader, security = Reader(settings), _security(settings, f"subscriber-{settings['number']}")
    async with Node(join=[settings["address"]], security=security) as node, node.subscribe(TOPIC) as messages:
        await node.ready(TOPIC, timeout=30)
        say(ready=True)
        async for message in messages:
            if reader.take(message.payload):
                break
        links = node.status().links
        reader.report(
            hops=message.hops, bytes_in=sum(link.bytes_in for link in links), links=sum(link.kept for link in links)
        )
        await wait_for_go()


async def asyncio_publisher(settings: dict[str, Any]) -> None:
    """Plain asyncio: frames with a length over TCP, written in blocks of 64 KiB, without any protocol."""
    writers: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()[:2]
    say(address=f"{host}:{port}")
    await wait_for_go()
    began, cpu = time.perf_counter(), time.process_time()
    gathered: list[bytes] = []
    for number in range(settings["count"]):
        await pace(settings, number, began)
        content = payload(number, settings["size"])
        gathered.append(len(content).to_bytes(4, "big") + content)
        if settings["rate"] or len(gathered) * settings["size"] > 65_536 or number == settings["count"] - 1:
            joined = b"".join(gathered)
            gathered.clear()
            for writer in writers:
                writer.write(joined)
                await writer.drain()
    say(seconds=time.perf_counter() - began, cpu_seconds=time.process_time() - cpu)
    await wait_for_go()


async def asyncio_subscriber(settings: dict[str, Any]) -> None:
    """Plain asyncio: the receiving end."""
    result = Reader(settings)
    host, _, port = settings["address"].rpartition(":")
    done = asyncio.get_running_loop().create_future()

    class Frames(asyncio.Protocol):
        rest = b""

        def data_received(self, data: bytes) -> None:
            data = self.rest + data
            position = 0
            while len(data) - position >= 4:
                end = position + 4 + int.from_bytes(data[position : position + 4], "big")
                if end > len(data):
                    break
                if result.take(data[position + 4 : end]) and not done.done():
                    done.set_result(None)
                position = end
            self.rest = data[position:]

    await asyncio.get_running_loop().create_connection(Frames, host, int(port))
    say(ready=True)
    await done
    result.report()


async def zmq_publisher(settings: dict[str, Any]) -> None:
    """pyzmq: XPUB that waits instead of dropping."""
    import zmq

    socket = zmq.Context().socket(zmq.XPUB)
    socket.setsockopt(zmq.XPUB_NODROP, 1)
    # Report every subscription, not only the first of a topic, so that the publisher can wait for all subscribers.
    socket.setsockopt(zmq.XPUB_VERBOSE, 1)
    port = socket.bind_to_random_port("tcp://127.0.0.1")
    say(address=f"127.0.0.1:{port}")
    for _ in range(settings["subscribers"]):
        socket.recv()
    await wait_for_go()
    topic = TOPIC.encode() + b"\0"
    began, cpu = time.perf_counter(), time.process_time()
    for number in range(settings["count"]):
        await pace(settings, number, began)
        while True:
            try:
                socket.send(topic + payload(number, settings["size"]), zmq.NOBLOCK)
                break
            except zmq.Again:
                # With the no-drop option a full queue raises an error: try again later.
                time.sleep(0.0001)
    say(seconds=time.perf_counter() - began, cpu_seconds=time.process_time() - cpu)
    await wait_for_go()


async def zmq_subscriber(settings: dict[str, Any]) -> None:
    """pyzmq: SUB."""
    import zmq

    result = Reader(settings)
    socket = zmq.Context().socket(zmq.SUB)
    socket.connect(f"tcp://{settings['address']}")
    socket.setsockopt(zmq.SUBSCRIBE, TOPIC.encode())
    say(ready=True)
    skipped = len(TOPIC) + 1
    while not result.take(socket.recv()[skipped:]):
        pass
    result.report()


async def zenoh_publisher(settings: dict[str, Any]) -> None:
    """eclipse-zenoh: a peer that blocks while a queue is full."""
    import socket as sockets

    import zenoh

    with sockets.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    config = zenoh.Config()
    config.insert_json5("mode", '"peer"')
    config.insert_json5("listen/endpoints", f'["tcp/127.0.0.1:{port}"]')
    config.insert_json5("scouting/multicast/enabled", "false")
    session = zenoh.open(config)
    publisher = session.declare_publisher(
        TOPIC, congestion_control=zenoh.CongestionControl.BLOCK, express=bool(settings["rate"])
    )
    say(address=f"127.0.0.1:{port}")
    await wait_for_go()
    began, cpu = time.perf_counter(), time.process_time()
    for number in range(settings["count"]):
        await pace(settings, number, began)
        publisher.put(payload(number, settings["size"]))
    say(seconds=time.perf_counter() - began, cpu_seconds=time.process_time() - cpu)
    await wait_for_go()
    session.close()


async def zenoh_subscriber(settings: dict[str, Any]) -> None:
    """eclipse-zenoh: a peer with a callback."""
    import zenoh

    result = Reader(settings)
    done = threading.Event()
    config = zenoh.Config()
    config.insert_json5("mode", '"peer"')
    config.insert_json5("connect/endpoints", f'["tcp/{settings["address"]}"]')
    config.insert_json5("listen/endpoints", "[]")
    config.insert_json5("scouting/multicast/enabled", "false")
    session = zenoh.open(config)

    def take(sample: Any) -> None:
        if result.take(sample.payload.to_bytes()):
            done.set()

    session.declare_subscriber(TOPIC, take)
    await asyncio.sleep(1.0)
    say(ready=True)
    await asyncio.get_running_loop().run_in_executor(None, done.wait)
    result.report()
    session.close()


CONTENDERS: dict[str, dict[str, Callable[[dict[str, Any]], Any]]] = {
    "gossamer": {"publisher": gossamer_publisher, "subscriber": gossamer_subscriber},
    "asyncio": {"publisher": asyncio_publisher, "subscriber": asyncio_subscriber},
    "pyzmq": {"publisher": zmq_publisher, "subscriber": zmq_subscriber},
    "zenoh": {"publisher": zenoh_publisher, "subscriber": zenoh_subscriber},
}


if __name__ == "__main__":
    name, role, given = sys.argv[1:]
    if name == "libp2p":
        from bench.contender_libp2p import run_libp2p

        run_libp2p(role, json.loads(given))
    else:
        asyncio.run(CONTENDERS[name][role](json.loads(given)))
