"""py-libp2p's gossipsub as a contender, on trio: tuned for speed as far as its API goes.

It runs without signatures, encryption and spam protection (which allows 10 messages a second), with a mesh that
includes all subscribers, each connected only to the publisher, and with mplex, which is cheaper than yamux here. A full
queue drops messages, so the publisher checks the queue before it publishes.
"""

import sys
import time
from typing import Any

import multiaddr
import trio
from libp2p import new_host
from libp2p.crypto.ed25519 import create_new_key_pair
from libp2p.peer.peerinfo import info_from_p2p_addr
from libp2p.pubsub.gossipsub import PROTOCOL_ID, GossipSub
from libp2p.pubsub.pubsub import Pubsub
from libp2p.pubsub.rpc_queue import OutBoundQueueSize
from libp2p.security.insecure.transport import PLAINTEXT_PROTOCOL_ID, InsecureTransport
from libp2p.tools.anyio_service import background_trio_service

from bench.contenders import TOPIC, Reader, payload, say


def run_libp2p(role: str, settings: dict[str, Any]) -> None:
    """One publisher or one subscriber."""
    trio.run(_run, role, settings)


async def _run(role: str, settings: dict[str, Any]) -> None:
    keys = create_new_key_pair()
    host = new_host(key_pair=keys, sec_opt={PLAINTEXT_PROTOCOL_ID: InsecureTransport(keys)}, muxer_preference="MPLEX")
    degree = settings["subscribers"]
    router = GossipSub(
        [PROTOCOL_ID],
        degree=degree,
        degree_low=degree,
        degree_high=degree + 1,
        heartbeat_interval=1,
        adaptive_gossip_enabled=False,
        spam_protection_enabled=False,
        eclipse_protection_enabled=False,
    )
    pubsub = Pubsub(host, router, strict_signing=False)
    listen = multiaddr.Multiaddr("/ip4/127.0.0.1/tcp/0")
    async with host.run(listen_addrs=[listen]), background_trio_service(pubsub), background_trio_service(router):
        await pubsub.wait_until_ready()
        if role == "publisher":
            await _publish(host, pubsub, settings)
        else:
            await _subscribe(host, pubsub, settings)
        await trio.to_thread.run_sync(sys.stdin.readline)


async def _publish(host: Any, pubsub: Any, settings: dict[str, Any]) -> None:
    say(address=str(host.get_addrs()[0]))
    await trio.to_thread.run_sync(sys.stdin.readline)
    while len(pubsub.peer_topics.get(TOPIC, ())) < settings["subscribers"]:
        await trio.sleep(0.1)
    began, cpu = time.perf_counter(), time.process_time()
    for number in range(settings["count"]):
        if settings["rate"]:
            await trio.sleep(max(0.0, began + number / settings["rate"] - time.perf_counter()))
        while any(len(queue) >= OutBoundQueueSize - 1 for queue in pubsub.peer_queues.values()):
            await trio.sleep(0.001)
        await pubsub.publish(TOPIC, payload(number, settings["size"]))
    say(seconds=time.perf_counter() - began, cpu_seconds=time.process_time() - cpu)


async def _subscribe(host: Any, pubsub: Any, settings: dict[str, Any]) -> None:
    reader = Reader(settings)
    await host.connect(info_from_p2p_addr(multiaddr.Multiaddr(settings["address"])))
    subscription = await pubsub.subscribe(TOPIC)
    say(ready=True)
    while not reader.take((await subscription.get()).data):
        pass
    reader.report()
