"""SpiderCast's rules for REDIRECT, case by case as section 2.3.1 and Figures 2 and 4 state them."""

from gossamer.protocols.contract.messages import Peer
from gossamer.systems.spidercast.messages import ConnectOk, ConnectRequest, Redirect, Task
from tests.unit.systems.spidercast.one_node import ME, OneNode, of_kind

# Sending REDIRECT.


def full(*neighbours, **settings):
    """A node with topics 1 to 9 (L_max 9, Margin 0) and nine neighbours: those given, as (node, interest, degree, target),
    and others that are above their own target + Margin."""
    node = OneNode(tuple(range(1, 10)), margin=0, **settings)
    for other, interest, degree, target in neighbours:
        node.connect_from(other, *interest, degree=degree, target=target)
    for other in range(80, 80 + 9 - len(neighbours)):
        node.connect_from(other, 1, 2, 3, 4, degree=9, target=1)
    return node


def redirected(node, *interest):
    """To whom a full node sends a peer with this interest."""
    ((to, message),) = node.connect_from(30, *interest)
    assert to == 30
    assert isinstance(message, Redirect)
    return message.peer


def test_a_redirect_names_the_neighbour_that_shares_most_with_the_requester():
    """Paper: "redirects the requesting node ... to a node m in neighbors such that ... (2) m shares the maximum amount of
    interest with the requesting node"."""
    node = full((60, (1, 2), 0, 5), (61, (1, 2, 3), 0, 5), (62, (4, 5, 6, 7), 0, 5))
    assert redirected(node, 1, 2, 3, 20) == Peer(61)


def test_topics_that_the_redirecting_node_does_not_hold_count_too():
    """Paper: "argmax |p.interest and n.interest|" (Figure 4, line 8): the interests of the two peers alone."""
    node = full((60, (1, 2), 0, 5), (61, (1, 40, 41), 0, 5))
    assert redirected(node, 1, 2, 40, 41) == Peer(61)


def test_a_redirect_names_only_neighbours_below_their_target_plus_margin():
    """Paper: "cands <- {p in neighbors : p.degree < p.target + Margin}" (Figure 4, line 7)."""
    node = full((60, (1,), 4, 5), (61, (1, 2, 3), 5, 5))
    assert redirected(node, 1, 2, 3) == Peer(60)


def test_the_margin_counts_for_redirect_candidates():
    """Paper: "p.degree < p.target + Margin" (Figure 4, line 7)."""
    node = OneNode((1,), margin=2)
    node.connect_from(60, 1, degree=6, target=5)
    node.connect_from(61, 1, degree=7, target=5)
    node.connect_from(62, 1, degree=8, target=5)
    assert redirected(node, 1) == Peer(60)


def test_a_node_whose_neighbours_are_all_full_sends_no_redirect_target():
    """Paper: "neighbors that have exceeded their target degree will never be chosen as redirect candidates"."""
    node = full((60, (1, 2), 6, 5))
    assert redirected(node, 1, 2) is None


def test_a_neighbour_is_judged_by_its_last_message():
    """Paper: "The heartbeats are also used to periodically update a node's neighbors with ... its degree, and target
    degree"."""
    node = full((60, (1, 2), 6, 5), (61, (1,), 0, 5))
    node.connect_from(60, 1, 2, degree=4, target=5)
    assert redirected(node, 1, 2) == Peer(60)


def test_ties_between_redirect_candidates_are_broken_at_random():
    """Paper: "with ties broken randomly" (Figure 4, line 8)."""
    named = {redirected(full((60, (1,), 0, 5), (61, (1,), 0, 5), seed=seed), 1).node for seed in range(20)}
    assert named == {60, 61}


# Receiving REDIRECT.

VIEW = {3: (7, 8), 4: (7, 8, 9), 9: (7,)}


def asking_four(**settings):
    """A node that has just asked node 4, the best candidate of its view."""
    node = OneNode((7, 8, 9), VIEW, **settings)
    assert of_kind(node.turn(), ConnectRequest) == [4]
    return node


def test_a_node_that_was_redirected_asks_that_peer_next():
    """Paper: "the nodes in connect_cand_from_redirect are given priority when choosing the next node to connect to".
    READING: the candidate is m, not the sender."""
    node = asking_four()
    node.hear(4, Redirect(Task.GREEDY, Peer(9, b"nine")))
    assert node.part.redirect(Task.GREEDY) == 9
    assert of_kind(node.turn(), ConnectRequest) == [9], "node 3 would cover more"


def test_a_redirect_ends_the_wait_for_an_answer():
    """Paper: "n will try to connect to that node at the next iteration of the MAINTAINNEIGHBORS routine"."""
    node = asking_four(connect_timeout_us=10_000_000)
    node.hear(4, Redirect(Task.GREEDY, None))
    assert of_kind(node.turn(), ConnectRequest) == [3]


def test_a_redirect_candidate_is_used_once():
    """Paper: "remove n from connect_cand_from_redirect" (Figure 2, line 19)."""
    node = asking_four(quarantine_us=1)
    node.hear(4, Redirect(Task.GREEDY, Peer(9)))
    node.turn()
    assert node.part.redirect(Task.GREEDY) is None
    node.hear(9, Redirect(Task.GREEDY, None))
    assert of_kind(node.turn(), ConnectRequest) == [4], "the best of the view again"


def test_a_redirect_to_this_node_a_neighbour_or_a_quarantined_peer_is_not_followed():
    """READING: a redirect candidate is dropped when it is this node, a neighbour or quarantined."""
    for candidate in (ME, 60, 4):
        node = asking_four()
        node.connect_from(60, 9)
        node.hear(4, Redirect(Task.GREEDY, Peer(candidate)))
        assert of_kind(node.turn(), ConnectRequest) == [3], candidate


def test_a_redirect_from_a_peer_that_was_not_asked_is_dropped():
    """Differs: the paper takes any REDIRECT; we take the answer to the open CONNECT."""
    node = asking_four()
    assert node.hear(12, Redirect(Task.GREEDY, Peer(9))) == []
    assert node.part.redirect(Task.GREEDY) is None
    assert node.turn() == [], "the answer of node 4 is still awaited"


def test_a_redirect_of_one_task_does_not_answer_the_other():
    """Paper: each task manipulates "its own set of the data structure"."""
    node = asking_four()
    node.hear(4, Redirect(Task.RANDOM, Peer(9)))
    assert node.part.redirect(Task.GREEDY) is None
    assert node.part.redirect(Task.RANDOM) is None


def test_a_redirected_node_that_is_accepted_has_its_neighbour():
    """Paper: the peer that was named accepts with CONNECT-OK like any other (Figure 4, lines 12-14)."""
    node = asking_four()
    node.hear(4, Redirect(Task.GREEDY, Peer(9)))
    node.turn()
    node.hear(9, ConnectOk(Task.GREEDY, 1, 1, (7,), 1, 1))
    assert node.neighbours == [9]
