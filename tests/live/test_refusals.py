"""Refused links: the refusing node counts and logs them, and the refused node learns why."""

import asyncio
import ssl

import pytest

from gossamer import Limits, Node, Security
from gossamer.live.security.authority import issue, make_authority
from tests.live.conftest import QUICK, RawPeer
from tests.waiting import until


@pytest.fixture
def keys(tmp_path):
    """A function that makes a folder of keys for a name, by one authority unless another is named."""

    def make(name, authority="authority"):
        folder = tmp_path / authority
        if not folder.exists():
            make_authority(folder)
        out = tmp_path / f"{authority}-{name}"
        issue(folder, name, out)
        return out

    return make


def node(keys=None, join=(), **options):
    return Node(join=join, settings=QUICK, security=Security(keys=keys), **options)


def trusting(folder):
    """TLS that shows the certificate in a folder and accepts any certificate of the other end."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.load_cert_chain(folder / "node.crt", folder / "node.key")
    return context


def counted(node, kind):
    return node.status().counts.get(f"link refused: {kind}", 0)


def lines(caplog, word):
    return [record.getMessage() for record in caplog.records if word in record.getMessage()]


OTHER_AUTHORITY = "its certificate is of another authority"


def test_a_peer_with_a_certificate_of_another_authority_is_counted_and_logged(keys, caplog):
    async def scenario():
        async with node(keys("hub")) as hub:
            mallory = await RawPeer.dial(hub.address, ssl=trusting(keys("mallory", "other")))
            await until(lambda: counted(hub, OTHER_AUTHORITY) == 1)
            assert await mallory.goodbye() is None
            await mallory.close()

    asyncio.run(scenario())
    (line,) = lines(caplog, OTHER_AUTHORITY)
    assert line.startswith("link from 127.0.0.1:")


def test_a_node_that_refuses_the_certificate_of_the_node_it_joins_counts_and_states_it(keys):
    async def scenario():
        async with node(keys("hub")) as hub, node(keys("mallory", "other"), [hub.address]) as other:
            await until(lambda: counted(other, OTHER_AUTHORITY))
            await until(lambda: counted(hub, "it closed the connection"))
            return other.status().unanswered[hub.address]

    assert asyncio.run(scenario()).startswith(OTHER_AUTHORITY)


def test_a_node_without_tls_is_counted_and_logged_by_a_node_with_tls_and_learns_why(keys, caplog):
    async def scenario():
        async with node(keys("hub")) as hub, node(None, [hub.address]) as other:
            await until(lambda: counted(hub, "it does not use TLS"))
            await until(lambda: other.status().unanswered)
            return other.status().unanswered[hub.address]

    assert asyncio.run(scenario()) == (
        "it closed the connection before its greeting; if it uses TLS, this node needs `keys`"
    )
    (line,) = lines(caplog, "it does not use TLS")
    assert line.startswith("link from 127.0.0.1:")


def test_a_node_with_tls_is_counted_by_a_node_without_tls_and_learns_why(keys):
    async def scenario():
        async with node() as hub, node(keys("one"), [hub.address]) as other:
            await until(lambda: counted(hub, "uses TLS"))
            await until(lambda: other.status().unanswered)
            return other.status().unanswered[hub.address]

    assert asyncio.run(scenario()) == "it does not use TLS; is TLS off there?"


def test_a_node_with_another_system_learns_why_it_was_refused():
    async def scenario():
        async with node() as hub, Node(join=[hub.address], system="stan") as other:
            await until(lambda: other.status().unanswered)
            return other.status().unanswered[hub.address]

    assert asyncio.run(scenario()).startswith("runs other protocols: spidercast / tree")


def test_an_address_that_answers_after_all_is_no_longer_listed_as_unanswered():
    async def scenario():
        async with Node() as scout:
            address = scout.address
        async with node(join=[address]) as one, one.subscribe("t"):
            await until(lambda: one.status().unanswered)
            assert one.status().unanswered == {address: "connection refused"}
            async with Node(address, settings=QUICK) as other, other.subscribe("t"):
                await one.ready("t")
                return one.status().unanswered

    assert asyncio.run(scenario()) == {}


def test_a_peer_cannot_fill_the_log_or_the_counts_with_refused_greetings(network, caplog):
    async def scenario():
        async with network(1) as (hub,):
            for number in range(40):
                peer = await RawPeer.greet(hub, stack=(f"system-{number}",))
                await peer.goodbye()
                await peer.close()
            await until(lambda: counted(hub, "runs other protocols") == 40)
            hub._running.sockets.log._kinds = {
                kind: (at - 60, *rest) for kind, (at, *rest) in hub._running.sockets.log._kinds.items()
            }
            await until(lambda: len(lines(caplog, "refused")) == 2)
            return hub.status().counts

    counts = asyncio.run(scenario())
    assert [reason for reason in counts if "refused" in reason] == ["link refused: runs other protocols"]
    first, last = lines(caplog, "refused")
    assert "system-0; this node runs spidercast / tree" in first
    assert last == "link refused: runs other protocols: 39 more were not logged"


def test_unfinished_tls_handshakes_are_bounded_in_number_and_honest_nodes_still_join(keys):
    async def scenario():
        limits = Limits(strangers=16, handshake_seconds=30)
        async with node(keys("hub"), limits=limits) as hub:
            handshakes = hub._running.sockets._handshakes
            most, peers = 0, []
            for _ in range(40):
                peers.append(await RawPeer.dial(hub.address))
                await asyncio.sleep(0)
                most = max(most, handshakes.count)
            await until(lambda: hub.status().counts.get("links closed: too many handshakes", 0) >= 32)
            async with node(keys("one"), [hub.address]) as one, one.subscribe("t"), hub.subscribe("t"):
                await one.ready("t")
            for peer in peers:
                await peer.close()
            return max(most, handshakes.count)

    assert asyncio.run(scenario()) <= 8


def test_a_tls_handshake_that_is_not_finished_in_time_is_counted(keys):
    async def scenario():
        async with node(keys("hub"), limits=Limits(handshake_seconds=0.1)) as hub:
            peer = await RawPeer.dial(hub.address)
            await until(lambda: counted(hub, "its TLS handshake took too long") == 1)
            assert await peer.goodbye() is None
            await peer.close()

    asyncio.run(scenario())


def test_a_node_that_stops_ends_the_handshakes_that_are_under_way(keys):
    async def scenario():
        async with node(keys("hub")) as hub:
            peer = await RawPeer.dial(hub.address)
            await until(lambda: hub._running.sockets._handshakes.count == 1)
        assert await peer.goodbye() is None
        await peer.close()

    asyncio.run(scenario())
