"""The dashboard's HTTP server: the page and its files for everybody, everything else for those who know the token.

The page sends the token in a header, which a page of another origin cannot do without this server's permission; it gives none.
"""

import hmac
import secrets
from collections.abc import Sequence
from http import HTTPStatus
from importlib.resources import files
from pathlib import Path
from typing import Any, Protocol

import msgspec

from gossamer import __version__
from gossamer.live.operations.http import HttpRequest, HttpResponse, HttpServer, refusal
from gossamer.live.transport.addresses import is_loopback, split_address
from gossamer.model.values.errors import GossamerError, InputError
from gossamer.web.controls import FleetControls

KINDS = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
# Nothing from any other host, nothing inside another page; the report of a study has styles and pictures within it.
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; worker-src 'self'; connect-src 'self'; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data:; frame-src blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
# Chosen: numbers in requests are shorter.
DIGITS_MAX = 20


class ShownNetwork(Protocol):
    """A network that the page shows."""

    title: str

    def frame(self, at_us: int, **wanted: Any) -> dict[str, Any]:
        """What the page draws."""
        ...


class Dashboard:
    """One or two networks, controls if this process started the network, and the report of a study."""

    def __init__(
        self, shown: Sequence[ShownNetwork], controls: FleetControls | None = None, report: Path | None = None
    ) -> None:
        self.token = secrets.token_urlsafe(24)
        self._shown = shown
        self._controls = controls
        self._report = report
        self._files = {
            f"/{entry.name}": (KINDS[Path(entry.name).suffix], entry.read_bytes())
            for entry in files("gossamer.web").joinpath("static").iterdir()
            if Path(entry.name).suffix in KINDS
        }
        self._files["/"] = self._files.pop("/index.html")
        self._server = HttpServer(self._answer, "the dashboard")

    async def listen(self, address: str, insecure: bool = False) -> str:
        """Listen on HOST:PORT; answers the address of the page, with the token behind the number sign."""
        host, _ = split_address(address)
        if not is_loopback(host) and not insecure:
            raise InputError(
                f"{host} can be reached from other machines, and the token would cross the network in the clear: "
                "set `insecure` where the network is trusted"
            )
        await self._server.listen(address)
        return f"http://{self._server.address}/#{self.token}"

    async def close(self) -> None:
        """Stop listening."""
        await self._server.close()

    async def _answer(self, request: HttpRequest) -> HttpResponse:
        try:
            response = await self._route(request)
        except InputError as error:
            response = _json(HTTPStatus.BAD_REQUEST, {"error": str(error)})
        except GossamerError as error:
            response = _json(HTTPStatus.CONFLICT, {"error": str(error)})
        return msgspec.structs.replace(response, headers={**HEADERS, **response.headers})

    async def _route(self, request: HttpRequest) -> HttpResponse:
        if request.path in self._files and request.method == "GET":
            return HttpResponse(HTTPStatus.OK, *self._files[request.path])
        if not request.path.startswith("/api/"):
            return refusal(HTTPStatus.NOT_FOUND)
        host, origin = request.headers.get("host", ""), request.headers.get("origin")
        if origin is not None and origin != f"http://{host}":
            return _json(HTTPStatus.FORBIDDEN, {"error": "a page of another origin may not use the dashboard"})
        given = request.headers.get("authorization", "")
        if not hmac.compare_digest(given.encode(), f"Bearer {self.token}".encode()):
            sentence = "the token is wrong: use the address that gossamer dashboard printed"
            return _json(HTTPStatus.UNAUTHORIZED, {"error": sentence})
        if request.path == "/api/control":
            return await self._control(request)
        if request.method != "GET":
            return refusal(HTTPStatus.METHOD_NOT_ALLOWED, Allow="GET")
        if request.path == "/api/about":
            return _json(HTTPStatus.OK, self._about())
        if request.path == "/api/frame":
            return _json(HTTPStatus.OK, self._frame(request.query))
        if request.path == "/api/report" and self._report is not None:
            return HttpResponse(HTTPStatus.OK, KINDS[".html"], self._report.read_bytes())
        return refusal(HTTPStatus.NOT_FOUND)

    def _about(self) -> dict[str, Any]:
        runs = [
            {
                "title": each.title,
                "from_us": getattr(each, "from_us", None),
                "until_us": getattr(each, "until_us", None),
            }
            for each in self._shown
        ]
        has_report = self._report is not None
        return {"version": __version__, "runs": runs, "controls": self._controls is not None, "report": has_report}

    def _frame(self, query: dict[str, str]) -> dict[str, Any]:
        place = _number(query, "run", 0)
        if not 0 <= place < len(self._shown):
            raise InputError(f"there is no run {place}")
        frame = self._shown[place].frame(
            _number(query, "at_us", 0),
            topic=query.get("topic", ""),
            message=query.get("message", ""),
            version=_number(query, "version", -1),
            after_us=_number(query, "after_us", 0),
            after_happening=_number(query, "after_happening", 0),
        )
        if self._controls is not None:
            frame["is_cut"] = self._controls.is_cut
        return frame

    async def _control(self, request: HttpRequest) -> HttpResponse:
        if request.method != "POST":
            return refusal(HTTPStatus.METHOD_NOT_ALLOWED, Allow="POST")
        if self._controls is None:
            raise InputError("only a network that the dashboard started can be changed; this one can be watched")
        return _json(HTTPStatus.OK, {"done": await self._controls.perform(request.body)})


def _number(query: dict[str, str], name: str, otherwise: int) -> int:
    text = query.get(name, str(otherwise))
    if len(text) > DIGITS_MAX or not text.removeprefix("-").isdecimal():
        raise InputError(f"{name} must be a whole number, got {text[:DIGITS_MAX]!r}")
    return int(text)


def _json(status: HTTPStatus, content: Any) -> HttpResponse:
    return HttpResponse(status, "application/json", msgspec.json.encode(content))
