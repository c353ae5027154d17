"""SpiderCast's rules for DISCONNECT and DISCONNECT-OK, case by case as section 2.3.1 and Figures 2 to 4 state them."""

import pytest

from gossamer.systems.spidercast.messages import DisconnectOk, DisconnectRequest, Heartbeat, Task
from tests.unit.systems.spidercast.one_node import OneNode, of_kind

# Sending DISCONNECT.


def asked_to_part(node, after_us=100_000):
    return of_kind(node.turn(after_us), DisconnectRequest)


def test_an_over_covered_node_asks_its_most_redundant_neighbour_to_part():
    """Paper: "whose removal would have the minimum impact on the K-coverage of the node's interest (lines 12-18)"."""
    node = OneNode(topics=(7, 8, 9), margin=5)
    node.connect_from(60, 7, 8)
    node.connect_from(61, 9)
    node.connect_from(62, 8)
    assert asked_to_part(node) == [62]


def test_a_node_does_not_disconnect_from_a_neighbour_that_it_needs():
    """Paper: "it will be sent a DISCONNECT request if ... (2) the candidate can be removed without causing this node to be
    under-covered"."""
    node = OneNode(topics=(7, 8), margin=5)
    node.connect_from(60, 7)
    node.connect_from(61, 8)
    assert asked_to_part(node) == []


def test_coverage_below_k_plus_one_is_not_redundant():
    """Paper: K-coverage means that "each topic in the node's interest is represented by the interests of at least K of its
    neighbors"."""
    node = OneNode(greedy_coverage=2, margin=5)
    node.connect_from(60, 7)
    node.connect_from(61, 7)
    assert asked_to_part(node) == []
    node.connect_from(62, 7)
    assert len(asked_to_part(node)) == 1


def test_a_node_above_its_degree_limit_asks_even_a_needed_neighbour_to_part():
    """Paper: "it will be sent a DISCONNECT request if ... (1) the node's degree is above L^max"."""
    node = OneNode(topics=(7, 8), margin=5)
    node.connect_from(60, 7, degree=1, target=1)
    for other in (61, 62):
        node.connect_from(other, 8, degree=0, target=5)
    assert node.greedy.degree == 3 > node.greedy.degree_max
    assert asked_to_part(node) == [60], "the others have not reached their own coverage"


def test_an_under_covered_node_above_its_degree_limit_disconnects():
    """Paper: "(under_covered > 0 and gap < 0) then DISCONNECT()" (Figure 2, lines 11-12)."""
    node = OneNode(topics=(7, 8), margin=5, drop_when_stuck=False)
    for other in (60, 61, 62):
        node.connect_from(other, 7)
    assert node.greedy.under_covered == 1
    assert len(asked_to_part(node)) == 1


def test_a_neighbour_that_has_not_reached_its_target_is_not_asked_to_part():
    """Paper: "will know whether it has reached K-coverage or not (based on whether q.target <= q.degree or not)".
    READING: follow this text, not the strict comparison of Figure 3, line 9."""
    node = OneNode(margin=5)
    node.connect_from(60, 7, degree=4, target=5)
    node.connect_from(61, 7, degree=0, target=1)
    assert asked_to_part(node) == []
    node.hear(61, Heartbeat(Task.GREEDY, 1, 1, version=1))
    assert asked_to_part(node) == [61]


def test_a_covered_node_sets_its_target_to_its_degree():
    """Paper: "The DISCONNECT routine starts with the node setting its adaptive degree target L to the minimum of L^max and
    |neighbors|"."""
    node = OneNode(topics=(7, 8), margin=5)
    node.turn()
    assert node.greedy.target == 2
    node.connect_from(60, 7, 8, degree=0, target=9)
    node.turn()
    assert node.greedy.target == 1


def test_the_target_of_a_node_above_its_limit_is_the_limit():
    """Paper: "L <- min(L^max, |neighbors|)" (Figure 2, line 22)."""
    node = OneNode(margin=5)
    for other in (60, 61, 62):
        node.connect_from(other, 7, degree=0, target=9)
    node.turn()
    assert node.greedy.target == 1


def test_ties_between_disconnect_candidates_are_broken_at_random():
    """Paper: "return random member of cands" (Figure 3, line 20)."""
    asked = []
    for seed in range(20):
        node = OneNode(seed=seed, margin=5)
        node.connect_from(60, 7)
        node.connect_from(61, 7)
        asked += asked_to_part(node)
    assert set(asked) == {60, 61}


def test_a_neighbour_that_refused_is_not_asked_again_until_its_degree_or_target_changes():
    """Differs: as written DISCONNECT never goes quiet (READING: about 35 a node, 0.2 of them agreed to)."""
    node = OneNode(margin=5)
    node.connect_from(60, 7, degree=0, target=9)
    node.connect_from(61, 7, degree=3, target=2)
    assert asked_to_part(node) == [61]
    node.hear(61, Heartbeat(Task.GREEDY, 3, 2, version=1))
    assert asked_to_part(node) == []
    node.hear(61, Heartbeat(Task.GREEDY, 4, 2, version=1))
    assert asked_to_part(node) == [61]


def test_a_neighbour_that_was_asked_stays_until_it_agrees():
    """Paper: "it will send the DISCONNECT-OK message which will cause q to remove p from its neighbors set"."""
    node = OneNode(margin=5)
    node.connect_from(60, 7, degree=0, target=9)
    node.connect_from(61, 7)
    assert asked_to_part(node) == [61]
    assert node.neighbours == [60, 61]
    node.hear(61, DisconnectOk(Task.GREEDY))
    assert node.neighbours == [60]


@pytest.mark.parametrize("drops", [True, False])
def test_a_node_that_is_stuck_at_its_limit_may_drop_a_wholly_redundant_neighbour(drops):
    """Differs: as written a node at exactly L_max that is under-covered "neither connects nor disconnects" (READING);
    `drop_when_stuck` = false keeps the paper's rule."""
    node = OneNode(topics=(7, 8), drop_when_stuck=drops)
    node.connect_from(60, 7)
    node.connect_from(61, 7)
    assert (node.greedy.degree, node.greedy.under_covered) == (2, 1)
    assert len(asked_to_part(node)) == drops


def test_a_stuck_node_does_not_drop_a_neighbour_that_it_needs():
    """Differs, as above: the neighbour must be wholly redundant."""
    node = OneNode(topics=(7, 8, 9))
    for other, topic in ((60, 7), (61, 8), (62, 30)):
        node.connect_from(other, topic)
    assert node.greedy.under_covered == 1
    assert asked_to_part(node) == [62]
    assert asked_to_part(node) == [], "the others are needed"


# Receiving DISCONNECT.


def test_a_node_that_stays_covered_agrees_and_lowers_its_target():
    """Paper: "Whenever a node p receives a DISCONNECT request from another node q (Figure 4 lines 21-26), it will disconnect
    from q if it can remove q without causing its interest to become under-covered"; "if under_covered = 0 then
    L <- |neighbors|" (lines 26-27)."""
    node = OneNode(topics=(7, 8), margin=5)
    node.connect_from(60, 7, 8)
    node.connect_from(61, 7)
    assert node.greedy.target == 2
    assert node.hear(61, DisconnectRequest(Task.GREEDY)) == [(61, DisconnectOk(Task.GREEDY))]
    assert node.neighbours == [60]
    assert node.greedy.target == 1


def test_a_node_that_would_become_under_covered_does_not_answer():
    """Paper: as above; the paper has no message for a refusal, the requester keeps the link."""
    node = OneNode(topics=(7, 8), margin=5)
    node.connect_from(60, 7, 8)
    node.connect_from(61, 7)
    assert node.hear(60, DisconnectRequest(Task.GREEDY)) == []
    assert node.neighbours == [60, 61]


def test_a_node_above_its_degree_limit_agrees_though_it_becomes_under_covered():
    """Paper: "or if it has more than L^max neighbors". The target stays: "if under_covered = 0" does not hold (line 26)."""
    node = OneNode(topics=(7, 8), margin=5)
    node.connect_from(60, 7)
    for other in (61, 62, 63):
        node.connect_from(other, 8)
    assert (node.greedy.degree, node.greedy.degree_max, node.greedy.target) == (4, 2, 2)
    assert node.hear(60, DisconnectRequest(Task.GREEDY)) == [(60, DisconnectOk(Task.GREEDY))]
    assert node.neighbours == [61, 62, 63]
    assert node.greedy.target == 2


def test_a_node_above_its_target_but_not_above_its_limit_refuses_if_it_would_be_under_covered():
    """READING: Figure 4, line 23 says |neighbors| > L; the text says "if it has more than L^max neighbors". Follow the text."""
    node = OneNode(topics=(7, 8, 9), margin=1)
    node.connect_from(60, 7)
    node.connect_from(61, 8, 9)
    assert node.greedy.target < node.greedy.degree < node.greedy.degree_max
    assert node.hear(60, DisconnectRequest(Task.GREEDY)) == []
    assert node.neighbours == [60, 61]


def test_a_disconnect_from_a_node_that_is_no_neighbour_is_agreed_to():
    """Differs: the paper does not say; the other end still counts the link, and learns here that it can drop it."""
    node = OneNode()
    assert node.hear(77, DisconnectRequest(Task.GREEDY)) == [(77, DisconnectOk(Task.GREEDY))]


def test_a_removed_connection_wakes_the_maintenance_task():
    """Paper: REMOVECONNECTION: "wake up connectivity task" (Figure 4, lines 34-38)."""
    node = OneNode(margin=5)
    node.connect_from(60, 7, degree=0, target=9)
    node.connect_from(61, 7, degree=0, target=9)
    node.turn()
    node.turn()
    node.hear(61, DisconnectOk(Task.GREEDY))
    assert node.is_woken()


def test_a_disconnect_ok_from_a_node_that_is_no_neighbour_changes_nothing():
    """A DISCONNECT-OK may arrive twice."""
    node = OneNode()
    node.connect_from(60, 7)
    assert node.hear(77, DisconnectOk(Task.GREEDY)) == []
    assert node.neighbours == [60]
