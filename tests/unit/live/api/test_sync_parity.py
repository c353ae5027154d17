"""`SyncNode` and its helpers have everything that `Node` and its helpers have."""

import inspect

import pytest

from gossamer.live.api import node, publisher, requests, subscription, sync


def public(kind):
    """The public names of a class, and the attributes that its constructor sets."""
    names = {name for name in dir(kind) if not name.startswith("_")}
    source = inspect.getsource(kind.__init__)
    return names | {line.split("self.")[1].split()[0].rstrip(":") for line in source.splitlines() if _sets(line)}


def _sets(line):
    line = line.strip()
    return line.startswith("self.") and not line.startswith("self._") and "=" in line


# What one half needs of the other, and is no business of applications.
INSIDE = {
    subscription.Subscription: {"keep_position", "name_of", "put", "require_entered", "take_note", "wake", "wanted"},
    requests.Replies: {"publisher", "subscription", "request_of"},
}


@pytest.mark.parametrize(
    ("kind", "twin"),
    [
        (node.Node, sync.SyncNode),
        (subscription.Subscription, sync.SyncSubscription),
        (publisher.Publisher, sync.SyncPublisher),
        (requests.Replies, sync.SyncReplies),
        (requests.Request, sync.SyncRequest),
    ],
    ids=lambda kind: kind.__name__,
)
def test_the_twin_without_asyncio_has_every_public_name(kind, twin):
    assert public(kind) - INSIDE.get(kind, set()) <= public(twin)
