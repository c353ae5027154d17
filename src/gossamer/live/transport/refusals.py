"""Refused links: each is counted by kind, and the log names peer and reason at a bounded rate."""

import asyncio
import re
from collections import Counter

from gossamer.live.transport.addresses import join_address
from gossamer.live.transport.limited_log import LimitedLog

# A reason begins with its kind. Details, which a peer may choose, follow behind a colon or semicolon.
_KIND = re.compile("[^:;]*")


class Refusals:
    """Counts and logs the links that this node refused, and those that were refused to it."""

    def __init__(self, counts: Counter[str], log: LimitedLog) -> None:
        self._counts = counts
        self._log = log

    def add(self, reason: str, peer: str, dialled: bool) -> None:
        """A link was refused. `peer` is the address of the other end; `dialled`: this node opened the link."""
        kind = kind_of(reason)
        self._counts[f"link refused: {kind}"] += 1
        direction = "to" if dialled else "from"
        facts = {"peer": peer, "reason": reason}
        self._log.add(f"link refused: {kind}", f"link {direction} {peer} refused: {reason}", facts)


def kind_of(reason: str) -> str:
    """The part of a reason that is the same for every peer."""
    return _KIND.match(reason)[0]  # type: ignore[index]  # It matches every string.


def peer_address(transport: asyncio.BaseTransport | None) -> str:
    """HOST:PORT of the other end of a socket; "?" if the socket is gone."""
    name = None if transport is None else transport.get_extra_info("peername")
    return "?" if not name else join_address(str(name[0]), int(name[1]))
