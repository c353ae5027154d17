"""TLS for links: the contexts, and the identity of the other end."""

import asyncio
import ssl
from collections.abc import Callable
from dataclasses import dataclass

from gossamer.live.transport import wire
from gossamer.model.values.errors import PeerError
from gossamer.model.values.ids import NodeId


@dataclass(frozen=True)
class Tls:
    """The contexts of both ends, how to read a peer's certificate, and how to explain a failed handshake."""

    server: ssl.SSLContext
    client: ssl.SSLContext
    # From a certificate (DER) to the id and the name in it.
    peer_of: Callable[[bytes], tuple[NodeId, str]]
    why_refused: Callable[[Exception], str]


def identify_peer(tls: Tls | None, transport: asyncio.Transport, greeting: wire.Hello) -> tuple[NodeId, str]:
    """The id and the name of the other end: from its certificate, or without TLS the id that it claims and no name."""
    if tls is None:
        return greeting.node, ""
    connection = transport.get_extra_info("ssl_object")
    certificate = connection.getpeercert(binary_form=True) if connection is not None else None
    if not certificate:
        raise PeerError("showed no certificate")
    node, name = tls.peer_of(certificate)
    if node != greeting.node:
        raise PeerError("claims an identity that is not its certificate's")
    return node, name
