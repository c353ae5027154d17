"""py-libp2p's gossipsub in the fleet benchmark, on trio, with the degrees of the gossipsub specification.

As in `bench/contender_libp2p.py` it runs without signatures, encryption and spam protection. Every process connects to
every other one, because the library has no discovery of peers by topic; gossipsub chooses its mesh among them.
"""

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

from bench.fleet_member import Driver, Traffic
from gossamer.live.fleet.member import topic_name


def run_libp2p(traffic: Traffic) -> None:
    """One process."""
    trio.run(_run, traffic)


async def _run(traffic: Traffic) -> None:
    keys = create_new_key_pair()
    host = new_host(key_pair=keys, sec_opt={PLAINTEXT_PROTOCOL_ID: InsecureTransport(keys)}, muxer_preference="MPLEX")
    router = GossipSub(
        [PROTOCOL_ID],
        degree=6,
        degree_low=4,
        degree_high=12,
        heartbeat_interval=1,
        adaptive_gossip_enabled=False,
        spam_protection_enabled=False,
        eclipse_protection_enabled=False,
    )
    pubsub = Pubsub(host, router, strict_signing=False)
    listen = multiaddr.Multiaddr("/ip4/127.0.0.1/tcp/0")

    async def read(topic: int, subscription: Any) -> None:
        while True:
            traffic.deliver(topic, (await subscription.get()).data)

    async def connect(addresses: list[str]) -> None:
        for address in addresses:
            await host.connect(info_from_p2p_addr(multiaddr.Multiaddr(address)))

    async def publish(topic: int, payload: bytes) -> None:
        # A full queue drops messages.
        while any(len(queue) >= OutBoundQueueSize - 1 for queue in pubsub.peer_queues.values()):
            await trio.sleep(0.001)
        await pubsub.publish(topic_name(topic), payload)

    async with (
        host.run(listen_addrs=[listen]),
        background_trio_service(pubsub),
        background_trio_service(router),
        trio.open_nursery() as readers,
    ):
        await pubsub.wait_until_ready()
        for topic in traffic.topics:
            readers.start_soon(read, topic, await pubsub.subscribe(topic_name(topic)))
        address = str(host.get_addrs()[0])
        await traffic.serve(Driver(address, publish, trio.sleep, trio.to_thread.run_sync, connect))
        readers.cancel_scope.cancel()
