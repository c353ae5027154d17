"""A node's status over HTTP: `/metrics` for Prometheus, `/status` as JSON, `/watch` for the dashboard, `/healthz`."""

import asyncio
from http import HTTPStatus
from typing import TypeVar

import msgspec

from gossamer.live.api.node import Node
from gossamer.live.operations.http import HttpRequest, HttpResponse, HttpServer, refusal
from gossamer.live.operations.status import NodeStatus, prometheus
from gossamer.live.operations.trace import NodeWatch
from gossamer.live.transport.addresses import split_address, words_of
from gossamer.model.values.errors import NodeStateError, PeerError

# Chosen: larger than any real status; that of a node with 10,000 topics has a few megabytes.
ANSWER_BYTES_MAX = 64 * 1024 * 1024

_STATUS = msgspec.json.Decoder(NodeStatus)
_WATCH = msgspec.json.Decoder(NodeWatch)
_Answer = TypeVar("_Answer")


def _page(node: Node, request: HttpRequest) -> HttpResponse:
    if request.method != "GET":
        return refusal(HTTPStatus.METHOD_NOT_ALLOWED, Allow="GET")
    kind, body = "application/json", b""
    if request.path == "/metrics":
        kind, body = "text/plain; version=0.0.4; charset=utf-8", prometheus(node.status()).encode()
    elif request.path == "/status":
        body = msgspec.json.encode(node.status())
    elif request.path == "/watch":
        numbers = [request.query.get("after", "0"), request.query.get("every", "1")]
        if not all(text.isdecimal() and len(text) <= 18 for text in numbers):
            return refusal(HTTPStatus.BAD_REQUEST)
        body = msgspec.json.encode(node.watch(*map(int, numbers)))
    elif request.path == "/healthz":
        node.status()
        kind, body = "text/plain; charset=utf-8", b"ok\n"
    else:
        return refusal(HTTPStatus.NOT_FOUND)
    return HttpResponse(HTTPStatus.OK, kind, body)


async def serve_status(node: Node, address: str) -> HttpServer:
    """Serve the status of a started node on HOST:PORT.

    There is no access control: listen on loopback, or behind a proxy.
    """

    async def answer(request: HttpRequest) -> HttpResponse:
        try:
            return _page(node, request)
        except NodeStateError:
            return refusal(HTTPStatus.SERVICE_UNAVAILABLE)

    server = HttpServer(answer, "the status")
    await server.listen(address)
    return server


async def fetch_status(address: str, timeout: float = 5.0) -> NodeStatus:
    """Fetch the status that a node serves on HOST:PORT; a PeerError says why that failed."""
    return await _fetch(address, "/status", _STATUS, timeout)


async def fetch_watch(address: str, after: int, every: int, timeout: float = 5.0) -> NodeWatch:
    """Fetch the status and the telemetry records behind number `after`; a PeerError says why that failed."""
    return await _fetch(address, f"/watch?after={after}&every={every}", _WATCH, timeout)


async def _fetch(address: str, path: str, decoder: "msgspec.json.Decoder[_Answer]", timeout: float) -> _Answer:
    host, port = split_address(address)
    writer = None
    try:
        async with asyncio.timeout(timeout):
            reader, writer = await asyncio.open_connection(host, port)
            writer.write(f"GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n".encode())
            answer = await _read_all(reader)
    except TimeoutError:
        raise PeerError(f"{address} did not answer within {timeout:g} s") from None
    except OSError as error:
        raise PeerError(f"{address} cannot be reached: {words_of(error)}") from None
    finally:
        if writer is not None:
            writer.transport.abort()
    head, _, body = answer.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200"):
        raise PeerError(f"{address} serves no status; use the `metrics` address of the node")
    try:
        return decoder.decode(body)
    except ValueError:
        raise PeerError(f"the status of {address} cannot be read; the node may have another version") from None


async def _read_all(reader: asyncio.StreamReader) -> bytes:
    answer = bytearray()
    while len(answer) <= ANSWER_BYTES_MAX and (chunk := await reader.read(64 * 1024)):
        answer += chunk
    return bytes(answer)
