"""StAN's machine, handler by handler."""

from math import log

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.model.arrays.interest import Interest
from gossamer.model.values.ids import Role
from gossamer.protocols.contract.actions import (
    Connect,
    Disconnect,
    Observe,
    Send,
)
from gossamer.protocols.contract.events import (
    MessageReceived,
    PeerDown,
    Started,
    Stopping,
    Subscribe,
    TimerFired,
    Unsubscribe,
)
from gossamer.protocols.contract.facts import NeighbourDown, NeighbourUp, PeerMisbehaved
from gossamer.protocols.contract.messages import Peer
from gossamer.simulator.population import CycleChanges
from gossamer.systems import find_system, make_machine
from gossamer.systems.stan.messages import Collect, Collected, Enter, Hold, Release, TopicLeave, WalkDue, Welcome
from gossamer.systems.stan.parameters import VIEW_MAX, StanParameters
from gossamer.systems.stan.population import StanPopulation
from gossamer.systems.stan.proofs import prove, topic_key
from gossamer.systems.stan.view import TopicView, weight_key

ME, TOPIC, OTHER = 7, 50, 51
PERIOD = StanParameters().period_us


def node_with(peers, joining=False, **parameters):
    machine = make_machine(find_system("stan"), StanParameters(**parameters), 1, ME)
    machine.handle(Started(address=b"me"), 0)
    actions = machine.handle(Subscribe(TOPIC, Role.FOLLOWS, tuple(map(Peer, peers)), joining), 0)
    return machine, actions


def sent(actions, kind):
    return [
        (action.to[0], action.message) for action in actions if type(action) is Send and type(action.message) is kind
    ]


def facts(actions, kind):
    return [action.fact.node for action in actions if type(action) is Observe and type(action.fact) is kind]


def from_peer(sender, kind, *rest, topic=TOPIC, key=None):
    proof = prove(key or topic_key(topic, b""), b"stan", sender, ME)
    return MessageReceived(sender, kind(topic, proof, *rest))


def view_of(machine, topic=TOPIC):
    return machine._parts[-1].topics[topic].view


def lightest(peers, count):
    view = TopicView(ME, weight_key(1, ME), count)
    view.weigh(peers)
    return view.nodes()


def test_first_peers_enter_the_view_and_get_a_hold():
    machine, actions = node_with([1, 2, 3])
    assert sorted(view_of(machine).nodes()) == [1, 2, 3]
    assert view_of(machine).size == 3
    assert sorted(to for to, _ in sent(actions, Hold)) == [1, 2, 3]
    assert sorted(facts(actions, NeighbourUp)) == [1, 2, 3]
    assert sorted(action.peer.node for action in actions if type(action) is Connect) == [1, 2, 3]


def test_a_walk_starts_at_a_peer_of_the_view_with_all_its_hops():
    machine, _ = node_with([1, 2, 3])
    ((target, walk),) = sent(machine.handle(TimerFired(WalkDue()), PERIOD), Collect)
    assert target in (1, 2, 3)
    assert (walk.source, walk.hops_left, walk.peers, walk.holds) == (Peer(ME, b"me"), 5, (), True)


def test_a_visited_node_adds_itself_and_its_neighbours_and_sends_the_walk_on():
    machine, _ = node_with([1, 2, 3], weigh_sources=False)
    actions = machine.handle(from_peer(2, Collect, Peer(9, b"nine"), 77, 4, False, (Peer(8),)), 5)
    ((target, walk),) = sent(actions, Collect)
    assert target in (1, 2, 3)
    assert {peer.node for peer in walk.peers} == {8, ME, 1, 2, 3}
    assert (walk.source, walk.walk, walk.hops_left) == (Peer(9, b"nine"), 77, 3)


def test_a_walk_without_hops_left_answers_its_source():
    machine, _ = node_with([1, 2, 3], weigh_sources=False)
    actions = machine.handle(from_peer(2, Collect, Peer(9, b"nine"), 77, 0, False, ()), 5)
    (action,) = actions
    assert action.to == (9,)
    assert action.addresses == (b"nine",)
    assert {peer.node for peer in action.message.peers} == {ME, 1, 2, 3}


def test_a_walk_with_too_many_hops_is_shortened():
    machine, _ = node_with([1, 2, 3], walk_hops=2)
    ((_, walk),) = sent(machine.handle(from_peer(2, Collect, Peer(9), 77, 10**9, False, ()), 5), Collect)
    assert walk.hops_left == 1


def test_the_peers_of_smallest_weight_are_kept_and_added_and_removed_peers_are_notified():
    machine, _ = node_with([1, 2, 3])
    ((_, walk),) = sent(machine.handle(TimerFired(WalkDue()), PERIOD), Collect)
    found = tuple(map(Peer, range(100, 140)))
    actions = machine.handle(from_peer(1, Collected, walk.walk, (Peer(ME), *found)), PERIOD + 1)
    expected = lightest([1, 2, 3, *range(100, 140)], 3)
    assert view_of(machine).nodes() == expected
    assert sorted(to for to, _ in sent(actions, Hold)) == sorted(set(expected) - {1, 2, 3})
    assert sorted(to for to, _ in sent(actions, Release)) == sorted({1, 2, 3} - set(expected))


def test_an_unrequested_or_repeated_answer_is_dropped():
    machine, _ = node_with([1, 2, 3])
    before = view_of(machine).nodes()
    machine.handle(from_peer(1, Collected, 5, tuple(map(Peer, range(100, 140)))), 5)
    assert view_of(machine).nodes() == before
    ((_, walk),) = sent(machine.handle(TimerFired(WalkDue()), PERIOD), Collect)
    machine.handle(from_peer(1, Collected, walk.walk, ()), PERIOD + 1)
    machine.handle(from_peer(1, Collected, walk.walk, tuple(map(Peer, range(100, 140)))), PERIOD + 2)
    assert view_of(machine).nodes() == before


def test_a_visited_node_weighs_the_source_of_the_walk_unless_weigh_sources_is_off():
    heavy_first = sorted(range(100, 140), key=lightest(range(100, 140), 40).index, reverse=True)
    view, light = heavy_first[:3], heavy_first[-1]
    for weighs in (True, False):
        machine, _ = node_with(view, weigh_sources=weighs)
        machine.handle(from_peer(view[0], Collect, Peer(light), 77, 0, False, ()), 5)
        assert (light in view_of(machine)) is weighs


def test_a_stranger_cannot_tell_whether_the_topic_is_held():
    machine, _ = node_with([1, 2, 3])
    wrong = b"x" * 16
    answers = [
        machine.handle(MessageReceived(9, Collect(topic, wrong, Peer(9), 1, 0, False, ())), 5)
        for topic in (TOPIC, OTHER)
    ]
    assert answers[0] == answers[1]
    assert [type(action.fact) for action in answers[0]] == [PeerMisbehaved]


def test_a_node_without_the_secret_cannot_enter_a_topic():
    machine, _ = node_with([])
    machine.handle(Subscribe(OTHER, Role.FOLLOWS, secret=b"between us"), 0)
    enter = Peer(9)
    assert not sent(machine.handle(from_peer(9, Enter, enter, topic=OTHER), 5), Welcome)
    key = topic_key(OTHER, b"between us")
    assert sent(machine.handle(from_peer(9, Enter, enter, topic=OTHER, key=key), 5), Welcome)


def test_a_newcomer_takes_the_view_size_and_the_lightest_peers_of_the_welcome():
    machine, actions = node_with([4], joining=True)
    assert [to for to, _ in sent(actions, Enter)] == [4]
    machine.handle(from_peer(4, Welcome, 6, tuple(map(Peer, range(100, 120)))), 5)
    assert view_of(machine).nodes() == lightest(range(100, 120), 6)


def test_a_welcome_from_a_node_that_was_not_asked_is_dropped():
    machine, _ = node_with([4], joining=True)
    machine.handle(from_peer(5, Welcome, 6, (Peer(1),)), 5)
    assert not view_of(machine).nodes()


def test_a_newcomer_without_an_answer_asks_its_contacts_in_turn():
    machine, _ = node_with([4, 5], joining=True)
    assert [to for to, _ in sent(machine.handle(TimerFired(WalkDue()), PERIOD), Enter)] == [5]
    assert [to for to, _ in sent(machine.handle(TimerFired(WalkDue()), 2 * PERIOD), Enter)] == [4]


def test_a_contact_sends_its_view_and_enlarges_its_own():
    machine, _ = node_with([1, 2, 3])
    for holder in (1, 2, 3, 4):
        machine.handle(from_peer(holder, Hold), 1)
    actions = machine.handle(from_peer(9, Enter, Peer(9, b"nine")), 5)
    ((_, welcome),) = sent(actions, Welcome)
    assert welcome.view_size == 4
    assert {peer.node for peer in welcome.peers} == {ME, 1, 2, 3}
    assert sorted(view_of(machine).nodes()) == [1, 2, 3, 9]
    # A second request does not enlarge it again.
    machine.handle(from_peer(9, Enter, Peer(9, b"nine")), 6)
    assert view_of(machine).size == 4


def test_a_node_that_leaves_a_topic_tells_its_view_and_its_holders():
    for event, ends in ((Unsubscribe(TOPIC), False), (Stopping(), True)):
        machine, _ = node_with([1, 2])
        machine.handle(from_peer(5, Hold), 1)
        actions = machine.handle(event, 5)
        assert [to for to, _ in sent(actions, TopicLeave)] == [1, 2, 5]
        assert sorted(facts(actions, NeighbourDown)) == [1, 2, 5], ends


def test_nodes_that_left_or_are_unreachable_are_removed_from_view_and_holders():
    for event in (from_peer(1, TopicLeave), PeerDown(1)):
        machine, _ = node_with([1, 2])
        machine.handle(from_peer(1, Hold), 1)
        actions = machine.handle(event, 5)
        assert view_of(machine).nodes() == [2]
        assert machine._parts[-1].neighbours_on(TOPIC) == (2,)
        assert facts(actions, NeighbourDown) == [1]


def test_a_neighbour_in_two_topics_is_one_neighbour_until_it_leaves_both():
    machine, _ = node_with([1, 2])
    actions = machine.handle(Subscribe(OTHER, Role.FOLLOWS, (Peer(1),), False), 1)
    assert not facts(actions, NeighbourUp)
    assert not facts(machine.handle(from_peer(1, TopicLeave), 2), NeighbourDown)
    assert facts(machine.handle(from_peer(1, TopicLeave, topic=OTHER), 3), NeighbourDown) == [1]


def test_a_connection_is_kept_for_a_whole_turn_after_its_last_use():
    machine, _ = node_with([1, 2])
    machine.handle(from_peer(1, TopicLeave), 2)
    for turn, expected in ((1, []), (2, [1]), (3, [])):
        actions = machine.handle(TimerFired(WalkDue()), turn * PERIOD)
        assert [action.node for action in actions if type(action) is Disconnect] == expected


def test_neighbours_are_the_nodes_in_the_view_and_the_holders():
    machine, _ = node_with([1, 2])
    machine.handle(from_peer(9, Hold), 1)
    assert machine._parts[-1].neighbours_on(TOPIC) == (1, 2, 9)
    machine.handle(from_peer(9, Release), 2)
    assert machine._parts[-1].neighbours_on(TOPIC) == (1, 2)


def test_an_empty_view_is_filled_with_the_holders():
    machine, _ = node_with([1])
    machine.handle(from_peer(9, Hold), 1)
    machine.handle(PeerDown(1), 2)
    machine.handle(TimerFired(WalkDue()), PERIOD)
    assert view_of(machine).nodes() == [9]


def test_views_grow_with_the_logarithm_of_the_topic_and_shrink_with_it():
    """The topic grows from one node to 400, each introduced by a random member; then all but 50 leave, one each cycle."""
    nodes = 400
    interest = Interest.from_pairs(np.arange(nodes), np.zeros(nodes, int), nodes, 1)
    population = StanPopulation(StanParameters(), 1, interest, absent=range(1, nodes))
    sizes = {}
    for node in range(1, nodes):
        population.cycle(CycleChanges(joiners=(node,)))
        sizes[node + 1] = float(population.topics[0].sizes.mean())
    # The sum of view sizes grows as dE/ds = E/s + 1, so that the mean grows by ln 2 (0.7) when the topic doubles.
    for count in (25, 50, 100, 200):
        assert 0.3 < sizes[2 * count] - sizes[count] < 1.3
    assert log(400) - 1 < sizes[400] < log(400) + 2
    for node in range(nodes - 1, 49, -1):
        population.cycle(CycleChanges(leavers=(node,)))
    assert abs(float(population.topics[0].sizes.mean()) - sizes[50]) < 1.0


def test_view_sizes_stay_the_same_while_nodes_are_replaced():
    nodes = 60
    interest = Interest.from_pairs(np.arange(nodes), np.zeros(nodes, int), nodes, 1)
    population = StanPopulation(StanParameters(), 1, interest)
    before = float(population.topics[0].sizes.mean())
    for cycle in range(600):
        population.cycle(CycleChanges(crashes=(cycle % nodes,), joiners=((cycle - 1) % nodes,) if cycle else ()))
    assert abs(float(population.topics[0].sizes.mean()) - before) < 1.5


peers = st.lists(st.builds(Peer, st.integers(-5, 2**70)), max_size=12).map(tuple)
numbers = st.integers(-(2**70), 2**70)
kinds = st.one_of(
    st.tuples(st.just(Collect), st.builds(Peer, numbers), numbers, numbers, st.booleans(), peers),
    st.tuples(st.just(Collected), numbers, peers),
    st.tuples(st.just(Welcome), numbers, peers),
    st.tuples(st.just(Enter), st.builds(Peer, numbers)),
    st.tuples(st.sampled_from([Hold, Release, TopicLeave])),
)


@settings(max_examples=150)
@given(st.lists(st.tuples(st.integers(0, 2**64 - 1), st.sampled_from([TOPIC, OTHER, -3, 2**80]), kinds), max_size=30))
def test_whatever_peers_send_views_stay_bounded_and_without_duplicates(received):
    machine, _ = node_with([4], joining=True)
    for time, (sender, topic, (kind, *rest)) in enumerate(received, start=1):
        machine.handle(from_peer(sender, kind, *rest, topic=topic), time)
        machine.handle(TimerFired(WalkDue()), time * PERIOD)
    view = view_of(machine)
    assert ME not in view.nodes()
    assert len(set(view.nodes())) == len(view) <= view.size <= VIEW_MAX
