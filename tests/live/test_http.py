"""The status over HTTP: requests of scrapers, and bad requests."""

import asyncio
import re

import msgspec
import pytest

from gossamer import InputError, Node
from gossamer.live.operations import http, status_server
from gossamer.live.operations.status import NodeStatus
from gossamer.model.values.errors import PeerError
from tests.live.conftest import QUICK


async def ask(address, request):
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(request)
    async with asyncio.timeout(10):
        answer = await reader.read()
    writer.close()
    head, _, body = answer.partition(b"\r\n\r\n")
    return head.decode(), body


async def get(address, path):
    return await ask(address, f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())


def served(scenario):
    """Run a scenario with two nodes that follow the same topic; the status of one of them is served."""

    async def run():
        async with Node(settings=QUICK) as one, Node(join=[one.address], settings=QUICK) as other:
            async with one.subscribe('quotes "x"') as messages, other.subscribe('quotes "x"'):
                await other.ready('quotes "x"')
                await other.publish('quotes "x"', b"1")
                await anext(messages)
                server = await status_server.serve_status(one, "127.0.0.1:0")
                try:
                    return await scenario(one, server)
                finally:
                    await server.close()

    return asyncio.run(run())


def test_metrics_are_in_the_format_of_prometheus():
    async def scenario(node, server):
        return await get(server.address, "/metrics")

    head, body = served(scenario)
    assert head.startswith("HTTP/1.1 200 OK")
    assert f"Content-Length: {len(body)}" in head
    lines = body.decode().splitlines()
    assert "gossamer_delivered_total 1" in lines
    assert "gossamer_topics_covered 1" in lines
    assert 'gossamer_topic_peers{topic="quotes \\"x\\""} 1' in lines
    assert 'gossamer_latency_seconds_count{topic="quotes \\"x\\""} 1' in lines
    sample = re.compile(r'^[a-z_]+(\{([a-z]+="([^"\\]|\\.)*",?)+\})? [0-9.e+-]+$')
    assert all(line.startswith("# ") or sample.match(line) for line in lines)
    buckets = [int(line.rsplit(" ", 1)[1]) for line in lines if "_bucket{" in line]
    assert buckets == sorted(buckets)


def test_the_served_status_is_that_of_the_node():
    async def scenario(node, server):
        _, body = await get(server.address, "/status?x=1")
        return (
            msgspec.json.decode(body, type=NodeStatus),
            await status_server.fetch_status(server.address),
            node.status(),
        )

    first, fetched, own = served(scenario)
    assert first.node == fetched.node == own.node
    assert [topic.topic for topic in fetched.topics] == ['quotes "x"']
    assert fetched.covered == 1


@pytest.mark.parametrize(
    ("request_line", "status"),
    [
        (b"GET /healthz HTTP/1.1\r\n\r\n", "200"),
        (b"GET /nothing HTTP/1.1\r\n\r\n", "404"),
        (b"POST /status HTTP/1.1\r\n\r\n", "405"),
        (b"\x16\x03\x01 nonsense\r\n\r\n", "400"),
        (b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 4_000 + b"\r\n", "431"),
    ],
    ids=["health", "no such page", "not GET", "not HTTP", "too long"],
)
def test_every_request_gets_the_right_status_code(request_line, status):
    async def scenario(node, server):
        try:
            return (await ask(server.address, request_line))[0]
        except ConnectionError:
            # The server does not read beyond its bound, so the system may reset the connection.
            return "HTTP/1.1 431"

    assert served(scenario).split()[1] == status


def test_a_client_that_sends_no_whole_request_is_disconnected(monkeypatch):
    monkeypatch.setattr(http, "REQUEST_SECONDS", 0.05)

    async def scenario(node, server):
        return await ask(server.address, b"GET /status HT")

    assert served(scenario) == ("", b"")


def test_clients_beyond_the_bound_are_disconnected(monkeypatch):
    monkeypatch.setattr(http, "CLIENTS_MAX", 1)

    async def scenario(node, server):
        host, _, port = server.address.rpartition(":")
        _, waiting = await asyncio.open_connection(host, int(port))
        waiting.write(b"GET")
        with pytest.raises(PeerError):
            await status_server.fetch_status(server.address, 5)
        waiting.close()
        async with asyncio.timeout(10):
            while True:
                try:
                    return await status_server.fetch_status(server.address, 5)
                except PeerError:
                    await asyncio.sleep(0.01)

    assert served(scenario).delivered == 1


def test_errors_name_a_port_in_use_and_an_address_without_status():
    async def scenario(node, server):
        with pytest.raises(InputError, match=r"cannot serve the status on .*in use"):
            await status_server.serve_status(node, server.address)
        with pytest.raises(PeerError, match="serves no status; use the `metrics` address of the node"):
            await status_server.fetch_status(node.address, 5)
        with pytest.raises(PeerError, match="cannot be reached"):
            await status_server.fetch_status("127.0.0.1:1", 5)

    served(scenario)


def test_the_status_of_a_stopped_node_is_unavailable():
    async def scenario(node, server):
        await node.stop()
        return [
            (await get(server.address, page))[0].partition("\r\n")[0] for page in ("/healthz", "/status", "/metrics")
        ]

    assert served(scenario) == ["HTTP/1.1 503 Service Unavailable"] * 3
