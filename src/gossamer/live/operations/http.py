"""A small HTTP server: one response for each connection, with bounds on the memory and time that a client can use."""

import asyncio
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from urllib.parse import parse_qsl, unquote

from msgspec import Struct

from gossamer.live.transport.addresses import join_address, split_address, words_of
from gossamer.model.values.errors import InputError

# Chosen: far more than clients need; a longer or slower request is refused.
REQUEST_BYTES_MAX = 8 * 1024
BODY_BYTES_MAX = 64 * 1024
REQUEST_SECONDS = 5.0
# Chosen: clients connect a few at a time; further ones are disconnected.
CLIENTS_MAX = 32


class HttpRequest(Struct, frozen=True):
    """One request; the names of headers are in lower case."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes = b""


class HttpResponse(Struct, frozen=True):
    """One response."""

    status: HTTPStatus
    kind: str
    body: bytes
    headers: dict[str, str] = {}


class HttpServer:
    """Answers requests with a function, until it is closed; `address` is where it listens."""

    def __init__(self, answer: Callable[[HttpRequest], Awaitable[HttpResponse]], what: str) -> None:
        self.address = ""
        self._respond = answer
        self._what = what
        self._server: asyncio.Server | None = None
        self._clients: set[asyncio.Task[None]] = set()

    async def listen(self, address: str) -> None:
        """Listen on HOST:PORT."""
        host, port = split_address(address)
        try:
            self._server = await asyncio.start_server(self._accept, host, port, limit=REQUEST_BYTES_MAX)
        except OSError as error:
            raise InputError(f"cannot serve {self._what} on {address}: {words_of(error)}") from None
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
        task = asyncio.ensure_future(self._serve(reader, writer))
        self._clients.add(task)
        task.add_done_callback(self._clients.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                request = await _read(reader)
            response = request if isinstance(request, HttpResponse) else await self._respond(request)
            async with asyncio.timeout(REQUEST_SECONDS):
                writer.write(_head(response) + response.body)
                await writer.drain()
                writer.close()
                await writer.wait_closed()
        except (OSError, asyncio.IncompleteReadError, TimeoutError):
            # The client disconnected or was too slow.
            pass
        finally:
            writer.transport.abort()


def refusal(status: HTTPStatus, **headers: str) -> HttpResponse:
    """A response that says only its status."""
    return HttpResponse(status, "text/plain; charset=utf-8", f"{status.phrase}\n".encode(), headers)


async def _read(reader: asyncio.StreamReader) -> HttpRequest | HttpResponse:
    """The request, or the refusal of one that cannot be read."""
    try:
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    except asyncio.LimitOverrunError:
        return refusal(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
    words = first.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        return refusal(HTTPStatus.BAD_REQUEST)
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    length = headers.get("content-length", "0")
    if not length.isdecimal() or "transfer-encoding" in headers:
        return refusal(HTTPStatus.BAD_REQUEST)
    if len(length) > 9 or int(length) > BODY_BYTES_MAX:
        return refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
    body = await reader.readexactly(int(length))
    path, _, query = words[1].partition("?")
    return HttpRequest(words[0], unquote(path), dict(parse_qsl(query)), headers, body)


def _head(response: HttpResponse) -> bytes:
    lines = [
        f"HTTP/1.1 {response.status.value} {response.status.phrase}",
        f"Content-Type: {response.kind}",
        f"Content-Length: {len(response.body)}",
        "Connection: close",
        *(f"{name}: {value}" for name, value in response.headers.items()),
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()
