"""The greedy planners equal a search over all pairs before each choice; compiled repair equals repair in Python."""

import itertools
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.kernels.planning import greedy as kernel_module
from gossamer.kernels.planning import state as state_module
from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.overlay import Overlay
from gossamer.model.values.draw import below, draw
from gossamer.planners import greedy
from gossamer.planners.greedy import Draft, GreedyRule
from gossamer.planners.repair import Repairer
from gossamer.planners.repair import connect as connect_compiled
from gossamer.protocols.repair import connect, labels_inside, labels_of_terminals, repair
from tests.interpreted import interpreted

WORKLOADS = 3_000
RULES = (None, 1, 1.5, 2, 3, inf)
PURPOSE = 1_000_000


def pick(seed: int, counter: int, count: int, item: int = 0) -> int:
    return below(draw(seed, 0, PURPOSE, counter, item), count)


def interest_of(held) -> Interest:
    pairs = np.array([(node, topic) for node, topics in enumerate(held) for topic in sorted(topics)], np.int64)
    nodes, topics = pairs.reshape(-1, 2).T
    return Interest.from_pairs(nodes, topics, len(held), 1 + max(itertools.chain(*held), default=0))


def overlay_of(links, node_count) -> Overlay:
    u, v = np.array(sorted(links), np.int64).reshape(-1, 2).T
    return Overlay.from_links(u, v, node_count)


def by_looking_at_all_pairs(held, rho, existing=(), capacity=inf):
    """The algorithms as the papers state them, with the ties of `planners/greedy.py`."""
    count = len(held)
    order = sorted(range(count), key=lambda node: (len(held[node]), node))
    parts = {topic: {node: node for node in range(count) if topic in held[node]} for topic in set().union(*held)}
    degrees = [0] * count
    taken = []

    def join(u, v):
        for topic in held[u] & held[v]:
            keep, lose = parts[topic][u], parts[topic][v]
            parts[topic] = {node: keep if label == lose else label for node, label in parts[topic].items()}
        degrees[u] += 1
        degrees[v] += 1

    for u, v in existing:
        join(u, v)
    while True:
        values = {}
        for u, v in itertools.combinations(order, 2):
            if max(degrees[u], degrees[v]) < capacity:
                values[u, v] = sum(parts[topic][u] != parts[topic][v] for topic in held[u] & held[v])
        values = {link: value for link, value in values.items() if value}
        if not values:
            return taken
        best = max(values, key=values.get)  # the first of several equal ones; the pairs are in order
        if rho is not None:
            highest = max(degrees)
            mild = {link: value for link, value in values.items() if max(degrees[link[0]], degrees[link[1]]) < highest}
            mild = mild or values
            first = max(mild, key=mild.get)
            best = best if values[best] > rho * mild[first] else first
        join(*best)
        taken.append((min(best), max(best)))


def case(seed: int):
    node_count, topic_count, share = 1 + pick(seed, 0, 14), 1 + pick(seed, 1, 8), 1 + pick(seed, 2, 4)
    held = [
        {topic for topic in range(topic_count) if pick(seed, 3, 5, node * 100 + topic) < share}
        for node in range(node_count)
    ]
    pairs = list(itertools.combinations(range(node_count), 2))
    existing = [pair for place, pair in enumerate(pairs) if pick(seed, 4, 10, place) == 0] if pick(seed, 5, 2) else []
    capacity = (inf, inf, 1, 2, 3)[pick(seed, 6, 5)]
    return held, RULES[pick(seed, 7, len(RULES))], existing, capacity


def links_of(seed: int):
    held, rho, existing, capacity = case(seed)
    draft = Draft(interest_of(held), overlay_of(existing, len(held)))
    capacities = None if capacity == inf else np.full(len(held), capacity, np.int32)
    return draft.connect(GreedyRule(rho), capacities)


def test_the_greedy_adds_the_same_links_in_the_same_order_as_a_search_over_all_pairs():
    for seed in range(WORKLOADS):
        assert links_of(seed) == by_looking_at_all_pairs(*case(seed)), f"repeat with links_of({seed})"


MUTANTS = {
    "takes equals in another order": ("work.candidates[:candidates].sort()", "work.candidates[:candidates] *= 1"),
    "trusts stale contributions": ("if value == level:", "if value > 0:"),
    "never considers links that were set aside": ("if work.numbers[ASIDE] >= least:", "if False:"),
    "forgets to free": ("work.aside[node] = -1\n            if many:", "if many:"),
    "raises too easily": ("int(np.floor(rho * value)) + 1", "int(np.floor(rho * value))"),
    "forgets the row it left": ("if numbers[NEXT] < numbers[CANDIDATES]:", "if False:"),
    "merges nothing": ("merge(state, a, state.places[i], state.places[j])", "pass"),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_wrong_greedy_is_caught(name, monkeypatch):
    wrong = interpreted([state_module, kernel_module], *MUTANTS[name])
    monkeypatch.setattr(greedy, "kernel", wrong)
    # A mutant that never ends is wrong too: it runs out of room for links.
    monkeypatch.setattr(greedy, "LINKS_AT_ONCE", 200)
    for seed in range(400):
        if links_of_mutant(seed) != by_looking_at_all_pairs(*case(seed)):
            return
    pytest.fail(f"400 workloads did not detect the mutant {name!r}")


def links_of_mutant(seed: int):
    held, rho, existing, capacity = case(seed)
    draft = Draft(interest_of(held), overlay_of(existing, len(held)))
    calls = itertools.count()

    def stop_early(*_):
        if next(calls) > 3:
            raise OverflowError

    capacities = None if capacity == inf else np.full(len(held), capacity, np.int32)
    try:
        return draft.connect(GreedyRule(rho), capacities, stop_early)
    except OverflowError:
        return None


shadows = st.dictionaries(st.integers(0, 40), st.frozensets(st.integers(0, 9), max_size=6), min_size=1, max_size=12)


def repair_compiled(interests, links, degrees, topics, rho):
    return connect_compiled(labels_inside(interests, links, topics), degrees, rho)


@given(shadows, st.data())
@settings(max_examples=300)
def test_compiled_repair_and_repair_in_python_add_the_links_of_the_greedy(interests, data):
    nodes = sorted(interests)
    pairs = list(itertools.combinations(nodes, 2))
    links = data.draw(st.lists(st.sampled_from(pairs), unique=True, max_size=8)) if pairs else []
    topics = data.draw(st.frozensets(st.integers(0, 9), min_size=1))
    degrees = {node: data.draw(st.integers(0, 6)) for node in nodes}
    rho = data.draw(st.sampled_from([1.0, 1.5, 3.0, inf]))
    added = repair(interests, links, degrees, topics, rho)
    assert repair_compiled(interests, links, degrees, topics, rho) == added
    # Live ids are large, and a list may contain a topic twice.
    large = {2**64 - 100 + node: list(held) * 2 for node, held in interests.items()}
    moved = [(2**64 - 100 + u, 2**64 - 100 + v) for u, v in links]
    counts = {2**64 - 100 + node: degree for node, degree in degrees.items()}
    expected = [(2**64 - 100 + u, 2**64 - 100 + v) for u, v in added]
    for mend in (repair, repair_compiled):
        assert mend(large, moved, counts, [*topics, *topics], rho) == expected
    for topic in topics:
        holders = [node for node in nodes if topic in interests[node]]
        reached, grown = set(holders[:1]), True
        while grown:
            grown = {other for u, v in [*links, *added] for other in (u, v) if {u, v} & reached} & set(
                holders
            ) - reached
            reached |= grown
        assert reached == set(holders), "the topics to mend are connected on the shadow set"


def test_repair_adds_no_link_if_no_topic_is_disconnected():
    assert repair({1: [5], 2: [5], 3: [6]}, [(1, 2)], {}, [5, 6]) == []


def topic_connected_links(interests):
    """A path through the holders of each topic, with random further links to be added by the caller."""
    links = set()
    for topic in set().union(*interests.values()):
        holders = sorted(node for node, held in interests.items() if topic in held)
        links |= set(itertools.pairwise(holders))
    return links


def is_topic_connected(interests, links):
    for topic in set().union(*interests.values()):
        holders = {node for node, held in interests.items() if topic in held}
        reached = {min(holders)}
        while grown := {end for link in links for end in link if set(link) & reached} & holders - reached:
            reached |= grown
        if reached != holders:
            return False
    return True


@given(shadows, st.data())
@settings(max_examples=300)
def test_joining_the_terminals_connects_every_topic_of_a_departed_node_again(interests, data):
    pairs = list(itertools.combinations(sorted(interests), 2))
    more = data.draw(st.lists(st.sampled_from(pairs), unique=True, max_size=8)) if pairs else []
    links = topic_connected_links(interests) | set(more)
    gone = data.draw(st.sampled_from(sorted(interests)))
    topics = interests[gone]
    terminals = {end for link in links if gone in link for end in link} - {gone}
    rest = {node: held for node, held in interests.items() if node != gone}
    left = {link for link in links if gone not in link}
    backups = data.draw(st.frozensets(st.sampled_from(sorted(rest)))) if rest else frozenset()
    seen = {node: rest[node] & topics for node in terminals | backups}
    shadow = {
        node: {
            other: seen[node] & rest[other]
            for link in left
            if node in link
            for other in link
            if other != node and seen[node] & rest[other]
        }
        for node in seen
    }
    takes_seen = data.draw(st.booleans())
    linkable = set(seen).union(*shadow.values()) if takes_seen else set(seen)
    degrees = {node: sum(node in link for link in left) for node in linkable}
    rho = data.draw(st.sampled_from([1.0, 1.5, 3.0, inf]))
    labels = labels_of_terminals(shadow, seen, terminals, takes_seen)
    parted = {topic: nodes for topic, nodes in labels.items() if len(set(nodes.values())) > 1}
    added = connect(parted, degrees, rho)
    assert connect_compiled(parted, degrees, rho) == added
    neighbours = [{end for link in left if node in link for end in link} - {node} for node in range(41)]
    held = [interests.get(node, frozenset()) for node in range(41)]
    repairer = Repairer(interest_of(held), rho, takes_seen)
    for _ in range(2):
        assert repairer.after_departure(gone, sorted(seen), terminals, neighbours) == added
    assert not set(added) & left
    assert {end for link in added for end in link} <= linkable
    if rest:
        assert is_topic_connected(rest, left | set(added))


def test_a_neighbour_of_a_shadow_node_with_few_links_takes_a_link_in_its_place():
    """Nodes 1 and 2 have lost their common neighbour; 3 is linked to 1, which has many links."""
    shadow, interests = {1: {3: {0}}, 2: {}}, {1: {0}, 2: {0}}
    links = [
        connect(labels_of_terminals(shadow, interests, [1, 2], takes_seen), {1: 9, 2: 1, 3: 1})
        for takes_seen in (True, False)
    ]
    assert links == [[(2, 3)], [(1, 2)]]


def test_of_links_that_join_as_much_the_one_between_nodes_with_fewer_links_is_added():
    labels = {0: {1: 1, 2: 1, 3: 3, 4: 3}}
    for degrees, link in {(5, 1, 2, 9): (2, 3), (1, 5, 2, 9): (1, 3), (1, 2, 9, 2): (1, 4)}.items():
        for join in (connect, connect_compiled):
            assert join(labels, dict(enumerate(degrees, 1))) == [link]
