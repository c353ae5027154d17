"""Access rules, and the guard that applies them to a node's links."""

import msgspec
import pytest

from gossamer.live.security.access import AccessRules, Guard
from gossamer.model.values.errors import InputError
from gossamer.model.values.pattern import matches
from gossamer.protocols.contract.messages import Data

RULES = """
[[allow]]
names = ["feed-*", "desk"]
publish = ["prices/*"]

[[allow]]
names = ["desk", "screen-*"]
subscribe = ["prices/*", "news"]
"""
TOPICS = {1: "prices/eur", 2: "news", 3: "secret"}
FEED, DESK, SCREEN = 11, 12, 13


@pytest.fixture
def rules(tmp_path):
    (tmp_path / "rules.toml").write_text(RULES)
    return AccessRules.load(tmp_path / "rules.toml")


@pytest.fixture
def guard(rules):
    return Guard(rules, TOPICS.get)


def data(topic, publisher, hops=0, also=()):
    return Data(topic, publisher, 5, hops, 0, b"x", also=tuple((other, 0) for other in also))


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("prices/eur", "prices/eur", True),
        ("prices/eur", "prices/eur2", False),
        ("prices/*", "prices/eur", True),
        ("prices/*", "prices/eur/spot", True),
        ("prices/*", "prices/", True),
        ("prices/*", "prices", False),
        ("*", "", True),
        ("*", "anything/at all", True),
        ("", "", True),
        ("", "x", False),
        ("*/eur", "prices/eur", True),
        ("a*a", "a", False),
        ("a*a", "aa", True),
        ("a*b*c", "a-b-c", True),
        ("a*b*c", "a-c-b", False),
        ("a*b*b", "ab", False),
        ("a**b", "ab", True),
        ("?", "x", False),
        ("[ab]", "a", False),
        ("[ab]", "[ab]", True),
        ("A*", "a", False),
        ("*b*", "a\nb\nc", True),
    ],
)
def test_a_star_matches_anything_and_other_characters_match_themselves(pattern, text, expected):
    assert matches(pattern, text) is expected


@pytest.mark.parametrize(
    ("name", "topic", "publishes", "subscribes"),
    [
        ("feed-1", "prices/eur", True, False),
        ("feed-1", "news", False, False),
        ("desk", "prices/eur", True, True),
        ("desk", "news", False, True),
        ("screen-1", "prices/eur", False, True),
        ("screen-1", "secret", False, False),
        ("guest", "prices/eur", False, False),
    ],
)
def test_anything_that_no_rule_allows_is_refused(rules, name, topic, publishes, subscribes):
    for _ in range(2):  # the second answer comes from the cache
        assert rules.may_publish(name, topic) is publishes
        assert rules.may_subscribe(name, topic) is subscribes


def test_an_empty_file_allows_nothing(tmp_path):
    (tmp_path / "rules.toml").write_text("")
    rules = AccessRules.load(tmp_path / "rules.toml")
    assert not rules.may_publish("a", "b")
    assert not rules.may_subscribe("a", "b")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[[allow]]\nnames = 'a'\npublish = ['x']", "Expected `array`, got `str` - at `\\$.allow"),
        ("[[allow]]\npublish = ['x']", "missing required field `names`"),
        ("[[allow]]\nnames = ['a']\npublishes = ['x']", "unknown field `publishes`"),
        ("[[deny]]\nnames = ['a']", "unknown field `deny`"),
        ("[[allow]\n", "is not a file of access rules"),
        ("[[allow]]\nnames = ['a']", "rule 1 of .* allows nothing"),
        ("[[allow]]\nnames = []\npublish = ['x']", "rule 1 of .* allows nothing"),
    ],
)
def test_a_wrong_file_is_refused_in_one_sentence(tmp_path, text, sentence):
    (tmp_path / "rules.toml").write_text(text)
    with pytest.raises(InputError, match=sentence):
        AccessRules.load(tmp_path / "rules.toml")


def test_an_unreadable_file_is_refused_in_one_sentence(tmp_path):
    with pytest.raises(InputError, match="there is no file of access rules"):
        AccessRules.load(tmp_path / "nowhere.toml")
    with pytest.raises(InputError, match="Is a directory"):
        AccessRules.load(tmp_path)
    (tmp_path / "rules.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="is not a file of access rules"):
        AccessRules.load(tmp_path / "rules.toml")


@pytest.mark.parametrize(
    ("link", "sender", "message", "certified", "reason"),
    [
        ("feed-1", FEED, data(1, FEED), None, None),
        ("feed-1", FEED, data(2, FEED), None, "feed-1 may not publish on news"),
        ("screen-1", SCREEN, data(1, SCREEN), None, "screen-1 may not publish on prices/eur"),
        # A publisher that claims more hops is still the publisher.
        ("screen-1", SCREEN, data(1, SCREEN, hops=3), None, "screen-1 may not publish on prices/eur"),
        # A relay must be allowed to receive the message, and must count its hop.
        ("screen-1", SCREEN, data(1, FEED, hops=1), None, None),
        ("screen-1", SCREEN, data(1, FEED), None, "screen-1 relays a message as if it were its publisher"),
        ("feed-1", FEED, data(1, DESK, hops=1), None, "feed-1 may not subscribe to prices/eur and so may not relay it"),
        # Every hop checks the name in a certificate.
        ("screen-1", SCREEN, data(1, FEED, hops=4), "feed-1", None),
        ("screen-1", SCREEN, data(1, FEED, hops=4), "guest", "guest may not publish on prices/eur"),
        ("screen-1", SCREEN, data(2, FEED, hops=4), "feed-1", "feed-1 may not publish on news"),
        (
            "guest",
            SCREEN,
            data(1, FEED, hops=4),
            "feed-1",
            "guest may not subscribe to prices/eur and so may not relay it",
        ),
        # A topic that this node does not know.
        ("feed-1", FEED, data(9, FEED), None, "this node does not know the topic"),
        ("screen-1", SCREEN, data(9, FEED, hops=1), "feed-1", "this node does not know the topic"),
        # Several topics: all must be allowed. Of an unsigned message the first hop must know all topics.
        ("feed-1", FEED, data(1, FEED, also=[2]), None, "feed-1 may not publish on news"),
        (
            "feed-1",
            FEED,
            data(1, FEED, also=[9]),
            None,
            "this node does not know all its topics, and the message carries no certificate for others to check",
        ),
        ("feed-1", FEED, data(1, FEED, also=[9]), "feed-1", None),
        ("screen-1", SCREEN, data(9, FEED, hops=1, also=[2]), "feed-1", "feed-1 may not publish on news"),
    ],
)
def test_the_guard_refuses_messages_that_the_rules_do_not_allow(guard, link, sender, message, certified, reason):
    assert guard.incoming(link, sender, message, certified) == reason


@pytest.mark.parametrize(
    ("link", "message", "allowed"),
    [
        ("screen-1", data(1, FEED), True),
        ("desk", data(2, FEED), True),
        ("screen-1", data(3, FEED), False),
        ("feed-1", data(1, FEED), False),
        ("guest", data(1, FEED), False),
        ("screen-1", data(9, FEED), False),
        ("screen-1", data(3, FEED, also=[1]), True),
        ("screen-1", data(3, FEED, also=[9]), False),
    ],
)
def test_data_is_never_sent_to_a_name_that_may_not_subscribe(guard, link, message, allowed):
    assert guard.outgoing(link, message) is allowed


def test_a_guard_checks_decoded_messages(guard):
    decoded = msgspec.msgpack.decode(msgspec.msgpack.encode(data(1, FEED)), type=Data)
    assert guard.incoming("feed-1", FEED, decoded, None) is None


def test_the_cache_of_answers_is_bounded(rules):
    for number in range(70_000):
        rules.may_publish("feed-1", f"prices/{number}")
    assert rules.may_publish.cache_info().currsize == 65_536
