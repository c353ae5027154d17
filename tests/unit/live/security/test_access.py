"""Access rules, and the guard that applies them to a node's links."""

import msgspec
import pytest

from gossamer.live.security.access import Guard, Rules, matches
from gossamer.model.values.errors import InputError
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
    return Rules.load(tmp_path / "rules.toml")


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
def test_a_star_stands_for_anything_and_all_else_for_itself(pattern, text, expected):
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
def test_what_no_rule_allows_is_refused(rules, name, topic, publishes, subscribes):
    for _ in range(2):  # the second answer is the remembered one
        assert rules.may_publish(name, topic) is publishes
        assert rules.may_subscribe(name, topic) is subscribes


def test_an_empty_file_allows_nothing(tmp_path):
    (tmp_path / "rules.toml").write_text("")
    rules = Rules.load(tmp_path / "rules.toml")
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
def test_a_file_that_is_wrong_is_said_to_be(tmp_path, text, sentence):
    (tmp_path / "rules.toml").write_text(text)
    with pytest.raises(InputError, match=sentence):
        Rules.load(tmp_path / "rules.toml")


def test_a_file_that_cannot_be_read_is_said_to_be(tmp_path):
    with pytest.raises(InputError, match="there is no file of access rules"):
        Rules.load(tmp_path / "nowhere.toml")
    with pytest.raises(InputError, match="Is a directory"):
        Rules.load(tmp_path)
    (tmp_path / "rules.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="is not a file of access rules"):
        Rules.load(tmp_path / "rules.toml")


@pytest.mark.parametrize(
    ("link", "sender", "message", "certified", "reason"),
    [
        ("feed-1", FEED, data(1, FEED), None, None),
        ("feed-1", FEED, data(2, FEED), None, "feed-1 may not publish on news"),
        ("screen-1", SCREEN, data(1, SCREEN), None, "screen-1 may not publish on prices/eur"),
        # A publisher that says the message has travelled already is still its publisher.
        ("screen-1", SCREEN, data(1, SCREEN, hops=3), None, "screen-1 may not publish on prices/eur"),
        # Who passes a message on must have been allowed to get it, and says that it has travelled.
        ("screen-1", SCREEN, data(1, FEED, hops=1), None, None),
        ("screen-1", SCREEN, data(1, FEED), None, "screen-1 passes a message on as if it were its publisher"),
        ("feed-1", FEED, data(1, DESK, hops=1), None, "feed-1 may not hold prices/eur, so it cannot relay it"),
        # The name in a certificate is checked wherever the message comes by.
        ("screen-1", SCREEN, data(1, FEED, hops=4), "feed-1", None),
        ("screen-1", SCREEN, data(1, FEED, hops=4), "guest", "guest may not publish on prices/eur"),
        ("screen-1", SCREEN, data(2, FEED, hops=4), "feed-1", "feed-1 may not publish on news"),
        ("guest", SCREEN, data(1, FEED, hops=4), "feed-1", "guest may not hold prices/eur, so it cannot relay it"),
        # A topic that this node does not know.
        ("feed-1", FEED, data(9, FEED), None, "the topic is not known here"),
        ("screen-1", SCREEN, data(9, FEED, hops=1), "feed-1", "the topic is not known here"),
        # Several topics: all must be allowed, and an unsigned message must not carry one past the only check there is.
        ("feed-1", FEED, data(1, FEED, also=[2]), None, "feed-1 may not publish on news"),
        (
            "feed-1",
            FEED,
            data(1, FEED, also=[9]),
            None,
            "not all of its topics are known here, and it carries no certificate for others to check",
        ),
        ("feed-1", FEED, data(1, FEED, also=[9]), "feed-1", None),
        ("screen-1", SCREEN, data(9, FEED, hops=1, also=[2]), "feed-1", "feed-1 may not publish on news"),
    ],
)
def test_the_guard_refuses_what_the_rules_do_not_allow(guard, link, sender, message, certified, reason):
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
def test_data_never_goes_to_a_name_that_may_not_follow_it(guard, link, message, allowed):
    assert guard.outgoing(link, message) is allowed


def test_a_guard_reads_messages_as_they_come_off_the_wire(guard):
    decoded = msgspec.msgpack.decode(msgspec.msgpack.encode(data(1, FEED)), type=Data)
    assert guard.incoming("feed-1", FEED, decoded, None) is None


def test_the_answers_that_peers_make_us_remember_are_bounded(rules, monkeypatch):
    for number in range(70_000):
        rules.may_publish("feed-1", f"prices/{number}")
    assert rules.may_publish.cache_info().currsize == 65_536
