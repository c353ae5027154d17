"""A node's status over HTTP: `/metrics` for Prometheus, `/status` as JSON, `/healthz`.

It implements only what scrapers need of HTTP/1.1: GET, and one response for each connection. The memory and time that a
client can use are bounded.
"""

import asyncio
from collections.abc import Callable
from http import HTTPStatus

import msgspec

from gossamer.live.api.node import Node
from gossamer.live.operations.status import NodeStatus, prometheus
from gossamer.live.transport.addresses import join_address, split_address, words_of
from gossamer.model.values.errors import InputError, NodeStateError, PeerError

# Chosen: far more than scrapers need; a longer or slower request is refused.
REQUEST_BYTES_MAX = 8 * 1024
REQUEST_SECONDS = 5.0
# Chosen: scrapers connect one at a time; further clients are disconnected.
CLIENTS_MAX = 32
# Chosen: larger than any real status; that of a node with 10,000 topics has a few megabytes.
ANSWER_BYTES_MAX = 64 * 1024 * 1024

_STATUS = msgspec.json.Decoder(NodeStatus)


def _metrics(node: Node) -> tuple[str, bytes]:
    return "text/plain; version=0.0.4; charset=utf-8", prometheus(node.status()).encode()


def _status(node: Node) -> tuple[str, bytes]:
    return "application/json", msgspec.json.encode(node.status())


def _health(node: Node) -> tuple[str, bytes]:
    node.status()
    return "text/plain; charset=utf-8", b"ok\n"


_PAGES: dict[str, Callable[[Node], tuple[str, bytes]]] = {
    "/metrics": _metrics,
    "/status": _status,
    "/healthz": _health,
}


class StatusServer:
    """Serves the status of one node; `address` is where it listens. `serve_status` makes it."""

    def __init__(self, node: Node) -> None:
        self.address = ""
        self._node = node
        self._server: asyncio.Server | None = None
        self._clients: set[asyncio.Task[None]] = set()

    async def listen(self, address: str) -> None:
        """Listen on HOST:PORT."""
        host, port = split_address(address)
        try:
            self._server = await asyncio.start_server(self._accept, host, port, limit=REQUEST_BYTES_MAX)
        except OSError as error:
            raise InputError(f"cannot serve the status on {address}: {words_of(error)}") from None
        self.address = join_address(host, self._server.sockets[0].getsockname()[1])

    async def close(self) -> None:
        """Stop listening and disconnect all clients."""
        if self._server is not None:
            self._server.close()
        for task in list(self._clients):
            task.cancel()
        await asyncio.gather(*self._clients, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._clients) >= CLIENTS_MAX:
            writer.transport.abort()
            return
        task = asyncio.ensure_future(self._answer(reader, writer))
        self._clients.add(task)
        task.add_done_callback(self._clients.discard)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                try:
                    head = await reader.readuntil(b"\r\n\r\n")
                    status, kind, body = self._page(head)
                except asyncio.LimitOverrunError:
                    status, kind, body = _refusal(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
                writer.write(_head(status, kind, len(body)) + body)
                await writer.drain()
                writer.close()
                await writer.wait_closed()
        except (OSError, asyncio.IncompleteReadError, TimeoutError):
            # The client disconnected or was too slow.
            pass
        finally:
            writer.transport.abort()

    def _page(self, head: bytes) -> tuple[HTTPStatus, str, bytes]:
        words = head.partition(b"\r\n")[0].decode("latin-1").split(" ")
        if len(words) != 3 or not words[2].startswith("HTTP/1."):
            return _refusal(HTTPStatus.BAD_REQUEST)
        if words[0] != "GET":
            return _refusal(HTTPStatus.METHOD_NOT_ALLOWED)
        page = _PAGES.get(words[1].partition("?")[0])
        if page is None:
            return _refusal(HTTPStatus.NOT_FOUND)
        try:
            return HTTPStatus.OK, *page(self._node)
        except NodeStateError:
            return _refusal(HTTPStatus.SERVICE_UNAVAILABLE)


async def serve_status(node: Node, address: str) -> StatusServer:
    """Serve the status of a started node on HOST:PORT.

    There is no access control: listen on loopback, or behind a proxy.
    """
    server = StatusServer(node)
    await server.listen(address)
    return server


async def fetch_status(address: str, timeout: float = 5.0) -> NodeStatus:
    """Fetch the status that a node serves on HOST:PORT; a PeerError says why that failed."""
    host, port = split_address(address)
    writer = None
    try:
        async with asyncio.timeout(timeout):
            reader, writer = await asyncio.open_connection(host, port)
            writer.write(f"GET /status HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n".encode())
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
        return _STATUS.decode(body)
    except ValueError:
        raise PeerError(f"the status of {address} cannot be read; the node may have another version") from None


async def _read_all(reader: asyncio.StreamReader) -> bytes:
    answer = bytearray()
    while len(answer) <= ANSWER_BYTES_MAX and (chunk := await reader.read(64 * 1024)):
        answer += chunk
    return bytes(answer)


def _refusal(status: HTTPStatus) -> tuple[HTTPStatus, str, bytes]:
    return status, "text/plain; charset=utf-8", f"{status.phrase}\n".encode()


def _head(status: HTTPStatus, kind: str, size: int) -> bytes:
    lines = [
        f"HTTP/1.1 {status.value} {status.phrase}",
        f"Content-Type: {kind}",
        f"Content-Length: {size}",
        "Connection: close",
        *(["Allow: GET"] if status is HTTPStatus.METHOD_NOT_ALLOWED else []),
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()
