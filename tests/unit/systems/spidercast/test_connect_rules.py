"""SpiderCast's rules for CONNECT, CONNECT-OK and LEAVE, case by case as section 2.3 and Figures 2 and 4 state them."""

import pytest

from gossamer.protocols.contract.events import Stopping
from gossamer.systems.spidercast.messages import (
    ConnectOk,
    ConnectRequest,
    DisconnectRequest,
    Heartbeat,
    LeaveNotice,
    Redirect,
    Task,
)
from tests.unit.systems.spidercast.one_node import ME, OneNode, of_kind

# Sending CONNECT.


def test_an_under_covered_node_below_its_degree_limit_asks_a_peer():
    """Paper: "If some insufficiently covered (i.e., under-covered) topics are found, and the overall number of the node's
    neighbors is smaller than L^max, the CONNECT routine will try to add a new neighbor"."""
    node = OneNode(view={3: (7,)})
    ((to, message),) = node.turn()
    assert to == 3
    assert isinstance(message, ConnectRequest)


def test_a_connect_carries_degree_target_and_interest():
    """Paper: "send (CONNECT, |neighbors|, L, self_interest) to n" (Figure 2, line 20)."""
    node = OneNode(topics=(7, 8), view={3: (8,)})
    node.connect_from(60, 7)
    ((_, message),) = [sent for sent in node.turn() if isinstance(sent[1], ConnectRequest)]
    assert (message.task, message.degree, message.target, message.interest) == (Task.GREEDY, 1, 2, (7, 8))
    assert (message.address, message.is_bridge) == (b"here", False)


def test_an_under_covered_node_raises_its_target_to_the_limit():
    """Paper: "if (under_covered > 0) then L <- L^max" (Figure 2, lines 6-7); "L^max is chosen to be K * |self-interest|"."""
    node = OneNode(topics=(7, 8, 9), greedy_coverage=2)
    assert node.greedy.target == 0
    node.turn()
    assert node.greedy.target == 6


def test_a_covered_node_sends_no_connect():
    """Paper: "Neighbors are added (according to the greedy or random heuristic) until the node reaches K-coverage"."""
    node = OneNode(view={3: (7,)})
    node.connect_from(60, 7, degree=0, target=5)
    assert of_kind(node.turn(), ConnectRequest) == []


def test_an_under_covered_node_at_its_degree_limit_sends_no_connect():
    """Paper: "until the node's degree reaches the upper bound L^max, in which case, the node will not try to initiate new
    connections with new peers anymore"."""
    node = OneNode(topics=(7, 8), view={3: (8,)}, drop_when_stuck=False)
    node.connect_from(60, 7)
    assert of_kind(node.turn(), ConnectRequest) == [3], "one below the limit it asks"
    node = OneNode(topics=(7, 8), view={3: (8,)}, drop_when_stuck=False)
    node.connect_from(60, 7)
    node.connect_from(61, 7)
    sent = node.turn()
    assert of_kind(sent, ConnectRequest) + of_kind(sent, DisconnectRequest) == []


def test_the_greedy_task_asks_the_peer_that_covers_most_uncovered_topics():
    """Paper: "The greedy coverage heuristic selects a neighbor that minimizes the number of topics which are not yet K_g
    covered"."""
    node = OneNode(topics=(7, 8, 9), view={3: (7,), 4: (8, 9), 5: (7, 20, 21, 22)})
    assert of_kind(node.turn(), ConnectRequest) == [4]


def test_topics_that_are_covered_already_do_not_count_for_a_candidate():
    """READING: coverage in Figure 5, lines 5 and 14, is counted over the current neighbours."""
    node = OneNode(topics=(7, 8, 9), view={3: (7, 8), 4: (9,)})
    node.connect_from(60, 7, 8)
    assert of_kind(node.turn(), ConnectRequest) == [4]


@pytest.mark.parametrize("seed", range(8))
def test_the_random_task_asks_only_peers_that_cover_something(seed):
    """Paper: "the random coverage heuristic randomly selects a node whose addition as a neighbor would reduce the number of
    topics that are not yet K_r covered"."""
    view = {3: (7,), 4: (7, 8), 5: (20,), 6: (21, 22)}
    node = OneNode((7, 8), view, seed, greedy_coverage=0, random_coverage=1)
    assert of_kind(node.turn(), ConnectRequest)[0] in (3, 4)


def test_the_random_task_does_not_always_take_the_peer_that_covers_most():
    """Paper: "a random member of cands" (Figure 5, line 18)."""
    view = {3: (7,), 4: (7, 8)}
    asked = [
        of_kind(OneNode((7, 8), view, seed, greedy_coverage=0, random_coverage=1).turn(), ConnectRequest)[0]
        for seed in range(20)
    ]
    assert set(asked) == {3, 4}


def test_ties_between_greedy_candidates_are_broken_at_random():
    """Paper: "argmax ... with ties broken randomly" (Figure 5, line 8)."""
    view = {3: (7,), 4: (7,)}
    asked = [of_kind(OneNode((7,), view, seed).turn(), ConnectRequest)[0] for seed in range(20)]
    assert set(asked) == {3, 4}


def test_a_task_with_coverage_zero_is_disabled():
    """Paper: "it is possible to disable the greedy or random maintenance routine by setting K = 0"."""
    node = OneNode(view={3: (7,), 4: (7,)})
    node.connect_from(60, 7, degree=3, target=1, task=Task.RANDOM)
    requests = [sent for sent in node.turn() if isinstance(sent[1], (ConnectRequest, DisconnectRequest))]
    assert [message.task for _, message in requests] == [Task.GREEDY]


def test_one_connect_is_open_at_a_time_until_it_times_out():
    """Differs: the paper's loop sleeps for connect_timeout; here the timeout belongs to the open CONNECT."""
    node = OneNode((7,), {3: (7,), 4: (7,)}, connect_timeout_us=500_000)
    (first,) = of_kind(node.turn(), ConnectRequest)
    assert node.turn(499_999) == []
    assert of_kind(node.turn(1), ConnectRequest) == [7 - first]


def test_a_peer_that_was_asked_is_quarantined():
    """Paper: "quarantine the nodes to which recent CONNECT requests were sent for a specified period of time"."""
    node = OneNode(view={3: (7,)}, quarantine_us=5_000_000, connect_timeout_us=500_000)
    assert of_kind(node.turn(), ConnectRequest) == [3]
    node.hear(3, Redirect(Task.GREEDY, None))
    assert node.turn(4_999_999) == [], "whatever it answered"
    assert of_kind(node.turn(1), ConnectRequest) == [3]


# Receiving CONNECT.


def test_a_connect_is_accepted_below_the_limit_plus_margin_and_redirected_at_it():
    """Paper: "When a node n receives a CONNECT request (see Figure 4 lines 1-9), it accepts it if its degree is lower than
    L^max + Margin. In this case, the requesting node is added to the neighbors set and a CONNECT-OK message is sent.
    Otherwise, the node redirects the requesting node"."""
    node = OneNode(topics=(7, 8), greedy_coverage=1, margin=2)
    for sender in (60, 61, 62, 63):
        assert of_kind(node.connect_from(sender, 7), ConnectOk) == [sender]
    assert node.neighbours == [60, 61, 62, 63]
    sent = node.connect_from(64, 7)
    assert of_kind(sent, ConnectOk) == []
    assert of_kind(sent, Redirect) == [64]
    assert node.neighbours == [60, 61, 62, 63]


def test_a_connect_ok_carries_the_degree_after_the_link_the_target_before_it_grows_and_the_interest():
    """Paper: "neighbors <- neighbors U {n ...}; send (CONNECT-OK, |neighbors|, L, self_interest)" (Figure 4, lines 32-33),
    before "L <- L + 1" (line 5)."""
    node = OneNode(topics=(7, 8), margin=5)
    ((_, first),) = node.connect_from(60, 7)
    ((_, second),) = node.connect_from(61, 7)
    assert (first.degree, first.target, first.interest) == (1, 0, (7, 8))
    assert (second.degree, second.target) == (2, 1)


def test_a_new_neighbour_has_the_interest_and_degree_of_its_connect():
    """Paper: "for each current neighbor q of p, holds q's identifier (id), q's degree, q's target degree (see below), and
    q's current interest"."""
    node = OneNode()
    node.connect_from(60, 7, 9, degree=4, target=6)
    neighbour = node.greedy.neighbours[60]
    assert (neighbour.degree, neighbour.target, neighbour.interest) == (4, 6, {7, 9})


def test_the_target_grows_with_each_accepted_link_up_to_the_limit():
    """Paper: "if (L < L^max) and (|neighbors| < L + Margin) then L <- L + 1" (Figure 4, lines 4-5)."""
    node = OneNode(topics=(7, 8), margin=5)
    targets = []
    for sender in range(60, 65):
        node.connect_from(sender, 7)
        targets.append(node.greedy.target)
    assert targets == [1, 2, 2, 2, 2]


def test_the_target_does_not_grow_while_the_degree_is_margin_above_it():
    """Paper: "(|neighbors| < L + Margin)" (Figure 4, line 4)."""
    node = OneNode(topics=(7, 8), margin=1)
    targets = []
    for sender in (60, 61, 62):
        node.connect_from(sender, 7)
        targets.append(node.greedy.target)
    assert targets == [0, 0, 0], "with Margin = 1 the first link already is L + Margin"


def test_a_connect_from_a_neighbour_is_answered_again_and_counted_once():
    """Differs: the paper does not say; a CONNECT-OK may have been lost, so the answer is repeated, even at the limit."""
    node = OneNode(margin=1)
    node.connect_from(60, 7)
    node.connect_from(61, 7)
    ((to, message),) = node.connect_from(61, 7, 9)
    assert (to, message.degree) == (61, 2)
    assert isinstance(message, ConnectOk)
    assert node.neighbours == [60, 61]
    assert node.greedy.neighbours[61].interest == {7, 9}


def test_the_two_tasks_keep_neighbours_apart():
    """Paper: "each of these two tasks independently manipulates its own set of the data structure"."""
    node = OneNode(margin=1)
    node.connect_from(60, 7, task=Task.RANDOM)
    assert node.neighbours == []
    assert list(node.part.tasks[Task.RANDOM].neighbours) == [60]
    assert of_kind(node.connect_from(61, 7, task=Task.RANDOM), Redirect) == [61], "K_r = 0: L_max + Margin is 1"
    assert of_kind(node.connect_from(61, 7), ConnectOk) == [61]


# Receiving CONNECT-OK.


def asking(**settings):
    """A node that has just asked node 3."""
    node = OneNode(view={3: (7,)}, **settings)
    assert of_kind(node.turn(), ConnectRequest) == [3]
    return node


def test_a_connect_ok_makes_the_sender_a_neighbour_and_ends_the_wait():
    """Paper: "if (|neighbors| < L^max + Margin) then neighbors <- neighbors U {n, degree, target, interest}" (lines 13-14)."""
    node = OneNode(view={3: (7, 8), 4: (7,)}, topics=(7, 8))
    assert of_kind(node.turn(), ConnectRequest) == [3]
    sent = node.hear(3, ConnectOk(Task.GREEDY, 4, 6, (7, 9), 1, 2))
    assert sent == []
    neighbour = node.greedy.neighbours[3]
    assert (neighbour.degree, neighbour.target, neighbour.interest) == (4, 6, {7, 9})
    node.hear(3, LeaveNotice(Task.GREEDY))
    assert of_kind(node.turn(), ConnectRequest) == [4], "no answer is awaited any more"


def test_a_connect_ok_raises_the_target():
    """Paper: "if (L < L^max) and (|neighbors| < L + Margin) then L <- L + 1" (Figure 4, lines 15-16)."""
    node = asking(margin=3)
    node.connect_from(60, 7)
    node.greedy.target = 0
    node.hear(3, ConnectOk(Task.GREEDY, 1, 1, (7,), 1, 1))
    assert node.greedy.target == 1


def test_a_connect_ok_that_finds_the_node_full_is_answered_with_leave():
    """Paper: "else send (LEAVE, n)" (Figure 4, lines 17-18)."""
    node = asking(margin=1)
    node.connect_from(60, 7)
    node.connect_from(61, 7)
    assert node.hear(3, ConnectOk(Task.GREEDY, 1, 1, (7,), 1, 1)) == [(3, LeaveNotice(Task.GREEDY))]
    assert node.neighbours == [60, 61]


def test_a_connect_ok_that_arrives_after_the_timeout_still_counts():
    """Differs: the paper takes any CONNECT-OK; we take it from a peer that we asked, however late."""
    node = OneNode(view={3: (7,), 4: (7,)}, connect_timeout_us=500_000)
    (first,) = of_kind(node.turn(), ConnectRequest)
    (second,) = of_kind(node.turn(500_000), ConnectRequest)
    assert first != second
    assert node.hear(first, ConnectOk(Task.GREEDY, 1, 1, (7,), 1, 1)) == []
    assert node.neighbours == [first]


def test_a_connect_ok_from_a_peer_that_was_not_asked_is_answered_with_leave():
    """Differs: the paper takes any CONNECT-OK; we take it from a peer that we asked."""
    node = asking()
    assert node.hear(4, ConnectOk(Task.GREEDY, 1, 1, (7,), 1, 1)) == [(4, LeaveNotice(Task.GREEDY))]
    assert node.neighbours == []


# LEAVE, and failures.


def test_a_leave_removes_the_neighbour_and_wakes_the_maintenance_task():
    """Paper: "upon receive (LEAVE) from n do REMOVECONNECTION(n)" (Figure 4, lines 19-20); "wake up connectivity task"
    (line 38)."""
    node = OneNode()
    node.connect_from(60, 7)
    node.turn()
    node.turn()
    node.hear(60, LeaveNotice(Task.GREEDY))
    assert node.neighbours == []
    assert node.is_woken()


def test_a_node_that_stops_sends_leave_to_all_neighbours():
    """Paper: "An orderly leave involves sending the LEAVE message to all the neighbors" (2.4)."""
    node = OneNode(topics=(7, 8))
    node.connect_from(60, 7)
    node.connect_from(61, 8)
    node.connect_from(62, 7, task=Task.RANDOM)
    assert node.give(Stopping()) == [
        (60, LeaveNotice(Task.GREEDY)),
        (61, LeaveNotice(Task.GREEDY)),
        (62, LeaveNotice(Task.RANDOM)),
    ]


def test_a_neighbour_that_is_silent_for_three_heartbeats_is_removed():
    """Paper: "upon FAILUREDETECTIONSUSPECT(node n) do REMOVECONNECTION(n)" (Figure 4, lines 29-30)."""
    node = OneNode(suspect_after=3, heartbeat_us=1_000_000)
    node.connect_from(60, 7)
    node.beat(1_000_000)
    for _ in range(2):
        node.beat(1_000_000)
        assert node.neighbours == [60]
    node.beat(1_000_000)
    assert node.neighbours == []


def test_a_node_that_was_busy_itself_does_not_suspect_neighbours_that_it_could_not_hear():
    """It counts its heartbeat turns, not the time between them; turns that are late count a quarter."""
    node = OneNode(suspect_after=3, heartbeat_us=1_000_000)
    node.connect_from(60, 7)
    for _ in range(12):
        node.beat(10_000_000)
        assert node.neighbours == [60]
    node.beat(10_000_000)
    assert node.neighbours == []


def test_a_neighbour_that_is_heard_between_late_turns_stays():
    node = OneNode(suspect_after=3, heartbeat_us=1_000_000)
    node.connect_from(60, 7)
    for turn in range(60):
        node.beat(10_000_000)
        if turn % 10 == 9:
            node.hear(60, Heartbeat(Task.GREEDY, 1, 1, 1, 0, (), ()))
    assert node.neighbours == [60]


def test_a_node_whose_turns_are_late_waits_longer_for_the_answer_to_a_connect():
    node = OneNode((7,), {3: (7,), 4: (7,)}, connect_timeout_us=500_000, heartbeat_us=1_000_000)
    node.beat(6_000_000)
    assert len(of_kind(node.turn(), ConnectRequest)) == 1
    assert of_kind(node.turn(5_000_000), ConnectRequest) == [], "its last heartbeat turn was five seconds late"
    assert len(of_kind(node.turn(1_000_000), ConnectRequest)) == 1
    node.beat(1_000_000)
    node.beat(1_000_000)
    node.turn(20_000_000)
    assert len(of_kind(node.turn(600_000), ConnectRequest)) == 1, "the lag is over"


def test_an_answer_that_a_node_without_cpu_reads_late_is_still_accepted():
    node = OneNode(
        (7,), {3: (7,), 4: (7,)}, connect_timeout_us=500_000, quarantine_us=5_000_000, heartbeat_us=1_000_000
    )
    node.beat(6_000_000)
    (first,) = of_kind(node.turn(), ConnectRequest)
    (second,) = of_kind(node.turn(8_000_000), ConnectRequest)
    assert first != second
    node.hear(first, ConnectOk(Task.GREEDY, 1, 1, (7,), 1, 1))
    assert node.neighbours == [first]


def test_a_message_that_names_this_node_as_its_sender_is_refused():
    """A node is never its own neighbour, whatever a peer sends."""
    node = OneNode()
    node.connect_from(ME, 7)
    assert node.neighbours == []
