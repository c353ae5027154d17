"""The guard of a node: signatures and access rules, for single messages and for bursts."""

import pytest
from msgspec.structs import replace

from gossamer import Security
from gossamer.live.api.topics import LiveTopics
from gossamer.live.security.authority import issue, make_authority
from gossamer.live.security.node_security import NodeSecurity
from gossamer.protocols.dissemination.tree_messages import TreeBurst, TreeData

RULES = """
[[allow]]
names = ["feed"]
publish = ["prices"]
subscribe = ["prices", "news"]

[[allow]]
names = ["desk"]
subscribe = ["prices", "news"]
"""
ITEMS = ((5, b"a"), (6, b"b"), (7, b"c"))


@pytest.fixture(params=["off", "strict"])
def guards(request, tmp_path):
    """A function that gives the guard of a node of this name, and the ids of two topics."""
    make_authority(tmp_path / "authority")
    (tmp_path / "rules.toml").write_text(RULES)
    topics = LiveTopics(True, 1_000, {})
    ids = [topics.get_or_add(name).id for name in ("prices", "news")]

    def make(name):
        issue(tmp_path / "authority", name, tmp_path / name)
        options = Security(keys=tmp_path / name, signatures=request.param, rules=tmp_path / "rules.toml")
        return NodeSecurity(options, None, topics)

    return make, ids, tmp_path / "rules.toml"


def burst_of(publisher, topic, hops=0):
    return TreeBurst(topic, publisher.node, 100, hops, publisher.seal_burst(topic, 100, ITEMS))


def single_of(publisher, topic, hops=0):
    return TreeData(topic, publisher.node, 100, hops, 5, publisher.seal((topic,), 100, b"a", 5))


@pytest.mark.parametrize("make", [burst_of, single_of])
def test_rules_hold_for_single_messages_and_for_bursts(guards, make):
    guard, (prices, news), _ = guards
    feed, desk, me = guard("feed"), guard("desk"), guard("me")
    allowed = feed.pack(make(feed, prices))
    message, reason = me.admit("feed", feed.node, allowed)
    assert reason is None
    assert me.pack(message) == allowed
    for sender, topic, why in (
        (feed, news, "feed may not publish on news"),
        (desk, prices, "desk may not publish on prices"),
    ):
        refused = sender.pack(make(sender, topic))
        name = "feed" if sender is feed else "desk"
        assert me.admit(name, sender.node, refused) == (None, why)
    # Relayed: the link must be of a node that may subscribe.
    assert me.admit("desk", desk.node, replace(allowed, hops=1))[1] is None
    guest = (None, "guest may not subscribe to prices and so may not relay it")
    assert me.admit("guest", 3, replace(allowed, hops=1)) == guest


@pytest.mark.parametrize("make", [burst_of, single_of])
def test_a_certified_publisher_without_rights_is_refused_at_every_hop(guards, make):
    guard, (prices, _), _ = guards
    desk, feed, me = guard("desk"), guard("feed"), guard("me")
    relayed = desk.pack(make(desk, prices, hops=2))
    _, reason = me.admit("feed", feed.node, relayed)
    # Without signatures nothing in a relayed message proves who published it.
    assert reason == (None if me.signatures == "off" else "desk may not publish on prices")


@pytest.mark.parametrize("make", [burst_of, single_of])
def test_new_rules_hold_for_the_next_message(guards, make):
    guard, (prices, _), rules = guards
    feed, me = guard("feed"), guard("me")
    sent = feed.pack(make(feed, prices))
    assert me.admit("feed", feed.node, sent)[1] is None
    rules.write_text(RULES.replace('publish = ["prices"]', 'publish = ["news"]'))
    assert me.admit("feed", feed.node, sent)[1] is None
    me.reload_rules()
    assert me.admit("feed", feed.node, sent) == (None, "feed may not publish on prices")
