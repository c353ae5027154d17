"""The libraries of the fleet benchmark: how a process joins, follows its topics and publishes with each of them."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Callable
from contextlib import AsyncExitStack
from importlib import import_module
from typing import Any

from bench.fleet_member import Driver, Traffic
from gossamer.live.fleet.member import topic_name

MODULES = {"gossamer": "gossamer", "zenoh": "zenoh", "pyzmq": "zmq", "libp2p": "libp2p"}


def load(name: str) -> Callable[[Traffic], None]:
    """Import a library and return the function that runs a process with it."""
    import_module(MODULES[name])
    if name == "libp2p":
        from bench.fleet_libp2p import run_libp2p

        return run_libp2p
    if name == "gossamer":
        import_module("gossamer.live.api.node")
    run = {"gossamer": _gossamer, "zenoh": _zenoh, "pyzmq": _pyzmq}[name]
    return lambda traffic: asyncio.run(run(traffic))


async def _gossamer(traffic: Traffic) -> None:
    """Gossamer: a node that joins through the first members, as in `gossamer up`."""
    from gossamer import Node

    async def read(topic: int, subscription: Any) -> None:
        async for message in subscription:
            traffic.deliver(topic, message.payload)

    names = {topic: topic_name(topic) for topic in traffic.topics}
    async with AsyncExitStack() as open_things:
        node = await open_things.enter_async_context(Node(join=traffic.join))
        for topic, name in names.items():
            subscription = await open_things.enter_async_context(node.subscribe(name))
            open_things.callback(asyncio.ensure_future(read(topic, subscription)).cancel)

        async def publish(topic: int, payload: bytes) -> None:
            await node.publish(names[topic], payload)

        await traffic.serve(Driver(node.address, publish, asyncio.sleep, asyncio.to_thread))


async def _zenoh(traffic: Traffic) -> None:
    """eclipse-zenoh: a peer that joins through the first members and finds the others by zenoh's gossip."""
    import zenoh

    port = _free_port()
    config = zenoh.Config()
    config.insert_json5("mode", '"peer"')
    config.insert_json5("listen/endpoints", f'["tcp/127.0.0.1:{port}"]')
    endpoints = ", ".join(f'"tcp/{address}"' for address in traffic.join)
    config.insert_json5("connect/endpoints", f"[{endpoints}]")
    config.insert_json5("scouting/multicast/enabled", "false")
    session = zenoh.open(config)
    publishers = {}
    for topic in traffic.topics:

        def take(sample: Any, topic: int = topic) -> None:
            traffic.deliver(topic, sample.payload.to_bytes())

        session.declare_subscriber(topic_name(topic), take)
        publishers[topic] = session.declare_publisher(
            topic_name(topic),
            congestion_control=zenoh.CongestionControl.BLOCK,
            express=True,
            allowed_destination=zenoh.Locality.REMOTE,
        )

    async def publish(topic: int, payload: bytes) -> None:
        publishers[topic].put(payload)

    await traffic.serve(Driver(f"127.0.0.1:{port}", publish, asyncio.sleep, asyncio.to_thread))


async def _pyzmq(traffic: Traffic) -> None:
    """pyzmq: a PUB socket, and a SUB socket that is connected to every other member; queues are unbounded."""
    import zmq

    context = zmq.Context()
    sending, receiving = context.socket(zmq.PUB), context.socket(zmq.SUB)
    sending.setsockopt(zmq.SNDHWM, 0)
    receiving.setsockopt(zmq.RCVHWM, 0)
    port = sending.bind_to_random_port("tcp://127.0.0.1")
    prefixes = {topic: topic_name(topic).encode() + b"\0" for topic in traffic.topics}
    topics = {prefix: topic for topic, prefix in prefixes.items()}
    for prefix in topics:
        receiving.setsockopt(zmq.SUBSCRIBE, prefix)

    def read() -> None:
        # The socket belongs to this thread from here on.
        with contextlib.suppress(zmq.ContextTerminated):
            while True:
                content = receiving.recv()
                end = content.index(b"\0") + 1
                traffic.deliver(topics[content[:end]], content[end:])

    async def connect(addresses: list[str]) -> None:
        for address in addresses:
            receiving.connect(f"tcp://{address}")
        threading.Thread(target=read, daemon=True).start()

    async def publish(topic: int, payload: bytes) -> None:
        sending.send(prefixes[topic] + payload)

    await traffic.serve(Driver(f"127.0.0.1:{port}", publish, asyncio.sleep, asyncio.to_thread, connect))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
