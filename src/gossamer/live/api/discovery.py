"""Where a node finds the network: addresses, names with many addresses, and a file that is watched.

A name, such as that of a headless Kubernetes service, stands for all its addresses. It is resolved again while the node runs,
often while the node has no link; the file is read again when it changes.
"""

import asyncio
import ipaddress
import logging
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from gossamer.live.transport.addresses import split_address, words_of
from gossamer.live.transport.environment import Environment
from gossamer.model.values.errors import InputError

log = logging.getLogger("gossamer.live")

# Chosen: how often the node looks, without a link and with one.
ALONE_SECONDS = 1.0
SETTLED_SECONDS = 10.0
# Chosen: how long the start of a node waits for a name.
RESOLVE_SECONDS = 5.0
# Chosen: contacts that a node keeps, and the size of a file of them.
CONTACTS_MAX = 256
FILE_BYTES_MAX = 1_000_000


class Discovery:
    """The addresses through which a node joins, as they are now."""

    def __init__(self, join: Sequence[str], file: Path | None, environment: Environment) -> None:
        for address in join:
            split_address(address, "`join`")
        self._join = tuple(join)
        self._file = file
        self._environment = environment
        # The lines of the file, when it was last changed, and the last problem that was logged.
        self._lines: tuple[str, ...] = ()
        self._changed_ns = -1
        self._problem = ""
        # The addresses that were found last.
        self.contacts: tuple[str, ...] = ()
        if file is not None:
            self._lines = _read(file)
        self._needs_watch = file is not None or any(not _is_literal(split_address(each)[0]) for each in join)

    async def find(self) -> tuple[str, ...]:
        """Resolve all names again; a name that cannot be resolved stays, so that dialling it tells why."""
        given = tuple(dict.fromkeys((*self._join, *self._lines)))
        found = await asyncio.gather(*map(self._resolve, given))
        every = list(dict.fromkeys(address for addresses in found for address in addresses))
        if set(every) != set(self.contacts):
            self.contacts = tuple(self._shuffled(every)[:CONTACTS_MAX])
        return self.contacts

    async def watch(self, is_alone: Callable[[], bool], give: Callable[[tuple[str, ...]], None]) -> None:
        """Look for changes until cancelled, and give the addresses after each change."""
        while self._needs_watch:
            await asyncio.sleep(ALONE_SECONDS if is_alone() else SETTLED_SECONDS)
            self._read_again()
            before = self.contacts
            if await self.find() != before:
                log.info("joins through %s now", ", ".join(self.contacts) or "nobody")
                give(self.contacts)

    async def _resolve(self, address: str) -> list[str]:
        host, port = split_address(address)
        if _is_literal(host):
            return [address]
        try:
            return await _in_time(self._environment.resolve(host, port)) or [address]
        except (OSError, TimeoutError, UnicodeError):
            return [address]

    def _read_again(self) -> None:
        """Read the file if it has changed. A file that is gone or wrong changes nothing."""
        if self._file is None:
            return
        try:
            changed_ns = self._file.stat().st_mtime_ns
            if changed_ns != self._changed_ns:
                self._lines = _read(self._file)
                self._changed_ns, self._problem = changed_ns, ""
        except (InputError, OSError) as error:
            problem = words_of(error) if isinstance(error, OSError) else str(error)
            if problem != self._problem:
                self._problem = problem
                log.warning("the addresses to join stay as they are: %s: %s", self._file, problem)

    def _shuffled(self, addresses: list[str]) -> list[str]:
        """In random order, so that not all nodes join through the first address."""
        return sorted(addresses, key=lambda _: self._environment.random_bytes(8))


def _read(file: Path) -> tuple[str, ...]:
    try:
        with file.open("rb") as opened:
            content = opened.read(FILE_BYTES_MAX + 1)
        if len(content) > FILE_BYTES_MAX:
            raise InputError(f"{file} has more than {FILE_BYTES_MAX:,} bytes; it should be a list of addresses")
        lines = content.decode().splitlines()
    except OSError as error:
        raise InputError(f"cannot read the addresses to join from {file}: {words_of(error)}") from None
    except UnicodeDecodeError:
        raise InputError(f"{file} is not text; it should have one HOST:PORT in each line") from None
    found = [line.partition("#")[0].strip() for line in lines]
    for number, address in enumerate(found, 1):
        if address:
            split_address(address, f"line {number} of {file}")
    return tuple(address for address in found if address)


def _is_literal(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


async def _in_time(work: Awaitable[list[str]]) -> list[str]:
    async with asyncio.timeout(RESOLVE_SECONDS):
        return await work
