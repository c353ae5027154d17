"""Sizes of topics from the shares of random peers that hold them."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.model.values.draw import finish
from gossamer.protocols.contract.messages import DIGEST_TOPICS, Digest
from gossamer.protocols.membership.interest_exchange import bottom
from gossamer.protocols.shares import REPORT_TOPICS, TopicCount, TopicShares

TOPIC = 7
NETWORK = 2_000


def subscribers(count):
    nodes = [TopicShares() for _ in range(count)]
    for node in nodes:
        node.hold(TOPIC)
    return nodes


def run(nodes, holders, cycles, generator, lie=lambda node, counts: counts):
    """Subscribers that each see ten random peers in a cycle and exchange with one random subscriber."""
    for _ in range(cycles):
        for position, node in enumerate(nodes):
            node.tick()
            for peer in generator.integers(0, NETWORK, 10):
                topics = (TOPIC,) if peer < holders else (1,)
                node.observe(Digest(0, 1, topics))
            other = int(generator.integers(len(nodes) - 1))
            partner = nodes[other + (other >= position)]
            node.take(lie(partner, partner.answer(lie(node, node.offer([TOPIC])))))


@pytest.mark.parametrize(("size", "tolerance"), [(40, 0.35), (200, 0.12)])
def test_the_pooled_share_gives_the_size_of_a_topic(size, tolerance):
    nodes = subscribers(size)
    run(nodes, size, 30, np.random.default_rng(1))
    sizes = [node.size(TOPIC, NETWORK) for node in nodes]
    assert np.mean(sizes) == pytest.approx(size, rel=tolerance)
    # All subscribers agree, although each saw its own few peers.
    assert np.std(sizes) < 0.15 * size


def test_the_size_follows_a_topic_that_shrinks():
    generator = np.random.default_rng(2)
    nodes = subscribers(200)
    run(nodes, 200, 30, generator)
    nodes = nodes[:60]
    run(nodes, 60, 100, generator)
    assert np.mean([node.size(TOPIC, NETWORK) for node in nodes]) == pytest.approx(60, rel=0.3)


def test_one_percent_of_subscribers_that_claim_to_see_only_subscribers_change_a_size_by_less_than_a_factor_of_two():
    generator = np.random.default_rng(3)
    nodes = subscribers(200)
    run(nodes, 200, 30, generator)

    def lie(node, counts):
        if node not in nodes[:2]:
            return counts
        return tuple(TopicCount(each.topic, each.seen, each.seen) for each in counts)

    run(nodes, 200, 60, generator, lie)
    assert 100 < np.median([node.size(TOPIC, NETWORK) for node in nodes[2:]]) < 400


def test_a_sampled_digest_counts_only_topics_that_it_would_contain():
    interest = dict.fromkeys(range(1_000))
    sample = Digest(0, len(interest), bottom(interest))
    last = max(map(finish, sample.topics))
    node = TopicShares()
    inside, hidden = sample.topics[3], next(topic for topic in interest if finish(topic) > last)
    absent = next(topic for topic in range(1_000, 9_000) if finish(topic) < last)
    for topic in (inside, hidden, absent):
        node.hold(topic)
    node.observe(sample)
    assert len(sample.topics) == DIGEST_TOPICS
    assert (node.share(inside), node.share(absent), node.share(hidden)) == (1, 0, None)


def test_a_dropped_topic_is_forgotten_even_while_an_answer_is_on_its_way():
    node = TopicShares()
    node.hold(TOPIC)
    node.observe(Digest(0, 1, (TOPIC,)))
    node.offer([TOPIC, 99])
    node.drop(TOPIC)
    node.take((TopicCount(TOPIC, 1, 2),))
    assert node.share(TOPIC) is None
    assert node.size(TOPIC, 100) is None


numbers = st.floats() | st.sampled_from([0.0, 1.0, 40.0])
some_counts = st.lists(st.builds(TopicCount, st.integers(0, 12), numbers, numbers), max_size=80).map(tuple)


@given(st.lists(st.tuples(st.booleans(), some_counts), max_size=20))
def test_counts_stay_valid_whatever_peers_send(messages):
    node = TopicShares()
    for topic in range(10):
        node.hold(topic)
    for is_answer, counts in messages:
        node.observe(Digest(0, 2, (3, 4)))
        assert len(node.offer(range(200))) <= REPORT_TOPICS
        if is_answer:
            node.take(counts)
        else:
            node.answer(counts)
        for topic in range(10):
            share = node.share(topic)
            assert share is not None
            assert math.isfinite(share)
            assert 0 <= share <= 1
    assert node.share(11) is None
