"""Messages, timers and facts of Cyclon."""

from gossamer.protocols.contract.facts import Fact
from gossamer.protocols.contract.messages import Peer, Timer, WireMessage
from gossamer.protocols.membership.cyclon_view import ViewEntry


class ShuffleRequest(WireMessage, frozen=True, array_like=True, gc=False, tag="cyclon_request"):
    """Entries for the oldest peer; the first one is the sender itself, with age 0."""

    entries: tuple[ViewEntry, ...]


class ShuffleReply(WireMessage, frozen=True, array_like=True, gc=False, tag="cyclon_reply"):
    """Entries in return for those of a request."""

    entries: tuple[ViewEntry, ...]


class Join(WireMessage, frozen=True, array_like=True, gc=False, tag="cyclon_join"):
    """A newcomer asks a contact to introduce it."""

    newcomer: Peer


class JoinWalk(WireMessage, frozen=True, array_like=True, gc=False, tag="cyclon_walk"):
    """A random walk; the node where it ends puts the newcomer into its view."""

    newcomer: Peer
    walk: int
    hops_left: int


class Introduction(WireMessage, frozen=True, array_like=True, gc=False, tag="cyclon_introduction"):
    """An entry for the newcomer's view."""

    entry: ViewEntry


class ShuffleDue(Timer, frozen=True, array_like=True, gc=False, tag="cyclon_shuffle"):
    """The next shuffle is due, once a period."""


class ShuffleSent(Fact, frozen=True, array_like=True, gc=False, tag="cyclon_shuffle_sent"):
    """This node sends a shuffle to a peer. A part above may send a message of its own with it."""

    peer: Peer
