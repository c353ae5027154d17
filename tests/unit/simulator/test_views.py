"""The oracle of interest views, compared with brute force."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gossamer.model.values.draw import ITEM_FACTOR, MASK, finish
from gossamer.protocols.contract.facts import Heard
from gossamer.protocols.contract.messages import Digest, Peer
from gossamer.protocols.membership.interest_exchange import InterestExchange
from gossamer.protocols.membership.interest_table import InterestTable
from gossamer.simulator.views import InterestOracle, view_size, view_slots
from gossamer.systems.spidercast.parameters import SpiderCastParameters

NODES, TOPICS = 70, 9
interests = st.dictionaries(
    st.integers(0, NODES - 1), st.frozensets(st.integers(0, TOPICS - 1), max_size=6), min_size=1, max_size=NODES
)
questions = st.tuples(
    st.lists(st.integers(0, TOPICS - 1), unique=True),
    st.frozensets(st.integers(0, NODES - 1)),
    st.integers(0, 2**64 - 1),
)


def oracle_of(held):
    oracle = InterestOracle(NODES)
    for node, topics in held.items():
        oracle.put(node, sorted(topics))
    return oracle


def smallest(candidates, key):
    return min(candidates, key=lambda node: (finish((key + node * ITEM_FACTOR) & MASK), node), default=None)


def peer(node):
    return None if node is None else Peer(node)


@given(interests, questions, st.sampled_from([1.0, 0.5, 0.1]), st.integers(0, 1000))
def test_every_answer_equals_a_search_over_all_nodes(held, question, share, seed):
    topics, exclude, key = question
    view = oracle_of(held).view_for(SpiderCastParameters(view=share), seed, 3)
    known = set(range(NODES)) if share == 1.0 else set(view_slots(seed, 3, NODES, share).tolist())
    allowed = [node for node in sorted(held) if node in known and node not in exclude]
    counts = {node: len(held[node] & set(topics)) for node in allowed}
    covering = [node for node in allowed if counts[node]]
    best = [node for node in covering if counts[node] == max(counts.values())]
    assert view.best_cover(topics, exclude, key) == peer(smallest(best, key))
    assert view.random_cover(topics, exclude, key) == peer(smallest(covering, key))
    assert view.random_peer(exclude, key) == peer(smallest(allowed, key))
    for topic in topics:
        below = [node for node in allowed if node < NODES // 2 and topic in held[node]]
        assert view.holder_below(topic, NODES // 2, exclude, key) == peer(smallest(below, key))


@given(interests, st.integers(0, NODES - 1))
def test_an_absent_node_is_never_an_answer(held, gone):
    oracle = oracle_of(held)
    oracle.drop(gone)
    view = oracle.view_for(SpiderCastParameters(), 1, 3)
    asked = set()
    while (found := view.random_peer(asked, 7)) is not None:
        asked.add(found.node)
    assert asked == set(held) - {gone}


@given(st.integers(1, 500), st.floats(0.001, 0.999), st.integers(0, 99))
def test_a_partial_view_has_as_many_distinct_nodes_as_its_share(node_count, share, seed):
    slots = view_slots(seed, 0, node_count, share)
    assert len(set(slots.tolist())) == len(slots) == view_size(node_count, share)
    assert ((slots >= 0) & (slots < node_count)).all()


def test_every_node_is_in_about_equally_many_views():
    counts = np.zeros(400)
    for node in range(400):
        counts[view_slots(1, node, 400, 0.1)] += 1
    assert counts.min() > 15
    assert counts.max() < 75


@given(interests, questions)
def test_a_table_that_knows_all_interests_answers_like_the_oracle(held, question):
    topics, exclude, key = question
    table = InterestTable(NODES, InterestExchange())
    for node, topics_held in held.items():
        table.learn(Heard(node, b"", Digest(1, len(topics_held), tuple(topics_held))), 0, [])
    oracle = oracle_of(held).view_for(SpiderCastParameters(), 1, 3)
    assert table.best_cover(topics, exclude, key) == oracle.best_cover(topics, exclude, key)
    assert table.random_cover(topics, exclude, key) == oracle.random_cover(topics, exclude, key)
    assert table.random_peer(exclude, key) == oracle.random_peer(exclude, key)
    for topic in topics:
        assert table.holder_below(topic, 5, exclude, key) == oracle.holder_below(topic, 5, exclude, key)


def test_a_full_table_evicts_the_node_that_was_heard_of_longest_ago():
    table = InterestTable(0, InterestExchange(), most=3)
    for node in (1, 2, 3, 1, 4, 0):
        table.learn(Heard(node, b"at", Digest(1, 1, (7,))), 0, [])
    known = set()
    while (found := table.random_peer(known, 5)) is not None:
        known.add(found.node)
    assert known == {3, 1, 4}
