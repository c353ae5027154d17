"""Subscriptions to patterns: real nodes in virtual time, and on sockets with access rules."""

import asyncio

import pytest
from bench.patterns import Load, measure, measure_live

import gossamer.testing
from gossamer import InputError, Node, NotAllowed, Pattern, Security
from gossamer.live.api import patterns as live_patterns
from gossamer.live.security.authority import issue, make_authority
from gossamer.protocols.patterns import PatternDigest, TopicNames
from tests.live.conftest import QUICK, take


def run(count, scenario, **options):
    """Run a scenario with this many nodes in virtual time."""

    async def started(network):
        nodes = [network.node(**options)]
        await nodes[0].start()
        for _ in range(count - 1):
            nodes.append(network.node(join=nodes[0].address, **options))
            await nodes[-1].start()
        return await scenario(network, nodes)

    return gossamer.testing.run(started, seed=2)


def check(figures):
    """Every message arrived once, first messages within a second, and names are less than 5% of the traffic."""
    assert figures.expected > 0
    assert (figures.missing, figures.twice) == (0, 0)
    assert max(figures.first + figures.later) < 1
    assert figures.pattern_bytes < 0.05 * figures.sent_bytes


def test_new_topics_reach_all_patterns_that_match_once_and_within_a_second():
    # One new topic a second for each node, as in the large run.
    check(measure(Load(nodes=10, topics=30, patterns=8, topics_per_second=10)))


@pytest.mark.slow
def test_a_thousand_new_topics_reach_forty_patterns_of_fifty_nodes_once_and_within_a_second():
    check(measure(Load()))


@pytest.mark.slow
def test_patterns_work_on_sockets():
    figures = measure_live(Load(nodes=12, topics=60, patterns=8))
    assert (figures.missing, figures.twice) == (0, 0)
    assert figures.pattern_bytes < 0.05 * figures.sent_bytes


def test_a_pattern_follows_topics_that_exist_and_topics_that_appear_and_status_shows_them():
    async def scenario(network, nodes):
        one, other = nodes
        async with one.publisher("prices/eur"), one.publisher("news"):
            await asyncio.sleep(2)
            async with other.subscribe(Pattern("prices/*")) as messages:
                await other_has(other, ["prices/eur"])
                await one.publish("prices/eur", b"old topic")
                await one.publish("news", b"no match")
                await one.publish("prices/usd", b"new topic")
                found = [(message.topic, message.payload) for message in await take(messages, 2)]
                return found, other.status().patterns, [topic.topic for topic in other.status().topics]

    async def other_has(node, topics):
        while node.status().patterns[0].topics != topics:
            await asyncio.sleep(0.1)

    found, patterns, topics = run(2, scenario)
    assert found == [("prices/eur", b"old topic"), ("prices/usd", b"new topic")]
    assert [(each.pattern, each.topics) for each in patterns] == [("prices/*", ["prices/eur", "prices/usd"])]
    assert topics == ["prices/eur", "prices/usd"]


def test_a_closed_pattern_leaves_its_topics_and_is_told_no_more_names():
    async def scenario(network, nodes):
        one, other = nodes
        async with other.subscribe("prices/gbp") as plain, other.subscribe(Pattern("prices/*")) as messages:
            await one.publish("prices/eur", b"1")
            await anext(messages)
            messages.close()
            topics = [topic.topic for topic in other.status().topics]
            await asyncio.sleep(2)
            await one.publish("prices/usd", b"2")
            await one.publish("prices/gbp", b"3")
            ended = [message async for message in messages]
            return topics, other.status().patterns, ended, (await anext(plain)).payload

    assert run(2, scenario) == (["prices/gbp"], [], [], b"3")


def test_two_subscriptions_of_a_node_and_a_message_on_two_topics_each_get_it_once():
    async def scenario(network, nodes):
        one, other = nodes
        async with (
            other.subscribe(Pattern("prices/*")) as wide,
            other.subscribe(Pattern("prices/eur*")) as narrow,
            other.subscribe("prices/eur") as plain,
            one.publisher("prices/eur"),
            one.publisher("prices/usd"),
        ):
            await asyncio.sleep(3)
            await one.publish(["prices/eur", "prices/usd"], b"both")
            await asyncio.sleep(3)
            return [(each.waiting, (await anext(each)).topic) for each in (wide, narrow, plain)]

    assert run(2, scenario) == [(1, "prices/eur")] * 3


def test_a_pattern_hears_the_node_s_own_messages_only_if_it_asks():
    async def scenario(network, nodes):
        (one,) = nodes
        async with one.subscribe(Pattern("a/*")) as without, one.subscribe(Pattern("a/*"), own=True) as own:
            await one.publish(["a/b", "a/c"], b"mine", timeout=0.1)
            return without.waiting, own.waiting, (await anext(own)).topic

    assert run(1, scenario) == (0, 1, "a/b")


def test_messages_from_before_the_subscription_are_not_delivered_unless_asked_for():
    async def scenario(network, nodes):
        one, other, third = nodes
        async with third.subscribe("a/b"):
            await one.publish("a/b", b"before")
            await asyncio.sleep(5)
            async with other.subscribe(Pattern("a/*")) as new, third.subscribe(Pattern("a/*"), last=5):
                await asyncio.sleep(3)
                await one.publish("a/b", b"after")
                return [message.payload for message in await take(new, 1)]

    assert run(3, scenario) == [b"after"]


def test_a_node_that_joins_later_learns_the_patterns_and_its_topics_reach_them():
    async def scenario(network, nodes):
        async with nodes[0].subscribe(Pattern("late/**")) as messages:
            await asyncio.sleep(5)
            async with network.node(join=nodes[1].address) as newcomer:
                await newcomer.publish("late/a/b", b"x")
                return [(message.topic, message.payload) for message in await take(messages, 1)]

    assert run(3, scenario) == [("late/a/b", b"x")]


def test_a_network_without_patterns_sends_nothing_about_them(monkeypatch):
    sent = []
    monkeypatch.setattr(live_patterns.LivePatterns, "_send", lambda *arguments: sent.append(arguments))

    async def scenario(network, nodes):
        async with nodes[1].subscribe("t") as messages:
            await nodes[0].publish("t", b"x")
            await anext(messages)
            await asyncio.sleep(5)

    run(3, scenario)
    assert sent == []


def test_topics_beyond_the_bound_are_counted_and_left_out(monkeypatch):
    monkeypatch.setattr(live_patterns, "MATCHED_MAX", 5)

    async def scenario(network, nodes):
        one, other = nodes
        async with other.subscribe(Pattern("t/*")):
            for number in range(8):
                await one.publish(f"t/{number}", b"x")
            status = other.status()
            return len(status.patterns[0].topics), status.counts["topic names refused: patterns match too many"] > 0

    assert run(2, scenario) == (5, True)


def test_names_that_are_lost_with_a_link_are_told_again(monkeypatch):
    sent, send = [], live_patterns.LivePatterns._send

    def send_lossy(patterns, node, message, address=b""):
        if isinstance(message, TopicNames):
            sent.append(message.number)
            if len(sent) <= 2:
                return None
        return send(patterns, node, message, address)

    monkeypatch.setattr(live_patterns.LivePatterns, "_send", send_lossy)

    async def scenario(network, nodes):
        one, other = nodes
        async with other.subscribe(Pattern("t/*")) as messages:
            await asyncio.sleep(3)
            began = network.now_seconds
            await one.publish("t/1", b"x")
            return (await anext(messages)).payload, network.now_seconds - began

    payload, seconds = run(2, scenario)
    assert payload == b"x"
    assert seconds < 1
    assert sent == [1, 2, 3]


def test_a_name_that_no_topic_can_have_is_counted_and_harms_nothing(monkeypatch):
    async def scenario(network, nodes):
        one, other = nodes
        async with other.subscribe(Pattern("t/*")) as messages:
            await one.publish("t/1", b"x")
            await anext(messages)
            one._patterns._send(other.id, TopicNames(("", "t/2"), b""))
            await asyncio.sleep(1)
            counts = other.status().counts
            return counts["topic names refused: no topic can have them"], other.status().patterns[0].topics

    assert run(2, scenario) == (1, ["t/1", "t/2"])


def test_a_peer_that_sends_digests_without_end_gets_a_bounded_number_of_answers():
    async def scenario(network, nodes):
        one, other = nodes
        async with other.subscribe(Pattern("t/*")) as messages:
            await one.publish("t/1", b"x")
            await anext(messages)
            # After its own turn, so that all digests fall into one second.
            await asyncio.sleep(1 - network.now_seconds % 1)
            before = next(link.bytes_in for link in one.status().links)
            for _ in range(1_000):
                one._patterns._send(other.id, PatternDigest(b"x" * 8))
            await asyncio.sleep(0.5)
            return next(link.bytes_in for link in one.status().links) - before

    # An answer has some 25 bytes here.
    assert run(2, scenario) < 4_000


def test_patterns_are_refused_where_nodes_do_not_disclose_topics():
    with pytest.raises(
        InputError, match="patterns need nodes that tell each other names of topics, which system='stan'"
    ):
        Node(system="stan").subscribe(Pattern("a/*"))


def test_a_pattern_that_matches_everything_needs_a_rule():
    with pytest.raises(
        NotAllowed, match=r"'\*\*' matches every topic; only an access rule with subscribe = \[\"\*\"\]"
    ):
        Node().subscribe(Pattern("**"))


def test_a_node_follows_a_bounded_number_of_patterns():
    async def scenario(network, nodes):
        for number in range(32):
            await nodes[0].subscribe(Pattern(f"{number}/*")).__aenter__()
        await nodes[0].subscribe(Pattern("31/*")).__aenter__()
        with pytest.raises(InputError, match="at most 32 patterns"):
            await nodes[0].subscribe(Pattern("32/*")).__aenter__()

    run(1, scenario)


RULES = """
[[allow]]
names = ["feed"]
publish = ["*"]
subscribe = ["*"]

[[allow]]
names = ["desk"]
subscribe = ["prices/*"]
"""


def test_names_go_only_to_nodes_that_the_rules_allow_the_topic(tmp_path, monkeypatch):
    told, send = [], live_patterns.LivePatterns._send

    def send_noted(patterns, node, message, address=b""):
        told.extend(message.names if isinstance(message, TopicNames) else ())
        return send(patterns, node, message, address)

    monkeypatch.setattr(live_patterns.LivePatterns, "_send", send_noted)
    make_authority(tmp_path / "authority")
    (tmp_path / "rules.toml").write_text(RULES)

    def options(name):
        issue(tmp_path / "authority", name, tmp_path / name)
        return {"security": Security(keys=tmp_path / name, rules=tmp_path / "rules.toml"), "settings": QUICK}

    async def scenario():
        async with Node(**options("feed")) as feed, Node(join=feed.address, **options("desk")) as desk:
            with pytest.raises(NotAllowed):
                desk.subscribe(Pattern("**"))
            feed.subscribe(Pattern("**"))
            async with desk.subscribe(Pattern("*/eur")) as messages:
                await asyncio.wait_for(known(desk), 20)
                await feed.publish("secret/eur", b"x", timeout=0.1)
                await feed.publish("prices/eur", b"1.07", timeout=10)
                return (await take(messages, 1))[0].topic, desk.status().patterns[0].topics

    async def known(node):
        while not any(link.frames_out > 3 for link in node.status().links):
            await asyncio.sleep(0.02)

    assert asyncio.run(scenario()) == ("prices/eur", ["prices/eur"])
    assert told == ["prices/eur"]
