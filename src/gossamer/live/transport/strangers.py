"""Bounds on links to peers that are no neighbours: their number, and the bytes of their unfinished frames.

A link counts as a neighbour's only if it is the link that the machine asked for. Another link whose peer claims the same
id counts as a stranger's.
"""

import logging
from collections import Counter
from collections.abc import Callable, Collection, Mapping

from gossamer.live.api.limits import Limits
from gossamer.live.transport.links import Link
from gossamer.model.values.errors import PeerError
from gossamer.model.values.ids import NodeId

log = logging.getLogger("gossamer.live")

# Chosen: even if strangers have all their links, a sixteenth of that number may shake hands; each new link closes an idle one.
HANDSHAKES_LEAST = 16


class Strangers:
    """Closes links beyond the bounds. `links` is the transport's own table of all its links."""

    def __init__(
        self, links: Mapping[Link, None], is_kept: Callable[[Link], bool], limits: Limits, counts: Counter[str]
    ) -> None:
        self._links = links
        self._is_kept = is_kept
        self._limits = limits
        self._counts = counts
        self.links_max = affordable_links(limits.strangers)
        # Nodes that this node was told to cut off.
        self._refused: frozenset[NodeId] = frozenset()

    def check_identity(self, link: Link, node: NodeId) -> None:
        """Allow one link from each id; a PeerError refuses a second one, and nodes that are cut off.

        Without TLS an id is only a claim, so a new link never replaces one that is in use. If the older link was silent
        for long enough that its peer may be gone, it closes and the new link is accepted.
        """
        if node in self._refused:
            raise PeerError("is cut off")
        if link.dialled:
            return
        for other in self._links:
            if other.is_up and other.node == node and not other.dialled and not other.is_ending:
                if other.is_paused or link.read_at - other.read_at < self._limits.handshake_seconds:
                    raise PeerError("has a link already")
                self._counts["links closed: replaced by a newer one"] += 1
                other.close("replaced by a newer link")
                return

    def refuse(self, nodes: Collection[NodeId]) -> None:
        """Close the links to these nodes at once, and refuse new ones, until the next call."""
        self._refused = frozenset(nodes)
        for link in list(self._links):
            if link.is_up and link.node in self._refused:
                link.abort()

    def bound_links(self, dialled: bool) -> None:
        """If one side has opened too many short-lived links, close the one that has been quiet for longest."""
        most = self._limits.pool if dialled else self.links_max
        short = [link for link in self._strangers() if link.dialled == dialled]
        if len(short) > most:
            self._counts["links closed: too many"] += 1
            min(short, key=_last_use).close("too many links")

    def handshakes_max(self) -> int:
        """How many TLS handshakes may be under way: half of the links that strangers may still open, and a few always."""
        free = self.links_max - sum(not link.dialled for link in self._strangers())
        return max(free // 2, self.links_max // HANDSHAKES_LEAST, 1)

    def bound_unfinished(self) -> None:
        """If unfinished frames take too many bytes, close the link whose frame began first: its end is least likely."""
        unfinished = [link for link in self._strangers() if link.unfinished_bytes]
        total = sum(link.unfinished_bytes for link in unfinished)
        for link in sorted(unfinished, key=_beginning):
            if total <= self._limits.unfinished_bytes:
                return
            total -= link.unfinished_bytes
            link.close("too many unfinished frames", offence=True)

    def _strangers(self) -> list[Link]:
        return [link for link in self._links if not link.is_ending and not self._is_kept(link)]


def affordable_links(wanted: int) -> int:
    """The number of links that strangers may open: at most half of the file descriptors of this process."""
    try:
        import resource
    except ImportError:  # Windows has no such limit.
        return wanted
    descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if descriptors == resource.RLIM_INFINITY or descriptors // 2 >= wanted:
        return wanted
    log.info("%d descriptors allow %d links of strangers, not %d", descriptors, descriptors // 2, wanted)
    return max(descriptors // 2, 1)


def _last_use(link: Link) -> float:
    return link.used_at


def _beginning(link: Link) -> float:
    return link.unfinished_since
