"""Backup sets: both properties, disjoint covers, and balanced loads."""

from hypothesis import given
from hypothesis import strategies as st

from gossamer.systems.omen.backups import among, by_greed, by_primal_dual, is_acceptable

interests = st.dictionaries(
    st.integers(0, 60), st.frozensets(st.integers(0, 8), min_size=1, max_size=6), min_size=1, max_size=20
)


def holders_of(held):
    by_topic = {}
    for node in sorted(held):
        for topic in held[node]:
            by_topic.setdefault(topic, []).append(node)
    return lambda topic: by_topic.get(topic, [])


@given(interests, st.integers(1, 4), st.integers(0, 2**63))
def test_every_topic_is_covered_as_often_as_it_can_be_and_every_backup_holds_a_topic(held, coverage, seed):
    holders = holders_of(held)
    for node, topics in held.items():
        for chosen in (
            by_primal_dual(
                node, sorted(topics), among(holders, node, seed, 1), held.__getitem__, {}, coverage, seed, 1
            ),
            by_greed(node, topics, holders, held.__getitem__, coverage),
        ):
            assert len(set(chosen)) == len(chosen)
            assert is_acceptable(node, topics, chosen, holders, held.__getitem__, coverage)


def test_a_set_that_lacks_a_topic_or_has_an_idle_node_is_not_acceptable():
    held = {1: {1, 2}, 2: {1}, 3: {2}, 4: {9}}
    holders = holders_of(held)
    assert is_acceptable(1, held[1], [2, 3], holders, held.__getitem__, 1)
    assert not is_acceptable(1, held[1], [2], holders, held.__getitem__, 1), "nobody holds topic 2"
    assert not is_acceptable(1, held[1], [2, 3, 4], holders, held.__getitem__, 1), "node 4 shares no topic"
    assert not is_acceptable(1, held[1], [1, 2, 3], holders, held.__getitem__, 1), "no node is its own backup"


def test_the_less_loaded_of_two_holders_is_taken():
    held = {0: {1}, 1: {1}, 2: {1}}
    holders = holders_of(held)
    chosen = [
        by_primal_dual(0, [1], among(holders, 0, seed, 1), held.__getitem__, {1: 100}, 1, seed, 1)[0]
        for seed in range(200)
    ]
    # Node 1 is taken only if both draws name it.
    assert chosen.count(1) < 70
    assert chosen.count(2) > 130


def test_greed_takes_the_node_with_most_topics_and_ties_by_id():
    held = {0: {1, 2, 3}, 5: {1, 2}, 6: {1, 2, 3}, 7: {3}}
    assert by_greed(0, held[0], holders_of(held), held.__getitem__, 1) == [6]
    assert by_greed(0, held[0], holders_of(held), held.__getitem__, 2) == [6, 5, 7]
