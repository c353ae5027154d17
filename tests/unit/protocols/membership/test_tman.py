"""T-Man: the view, the part, and two topologies that it builds: a ring, and groups of one colour."""

import math
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.model.values.draw import finish
from gossamer.protocols.contract.actions import Observe, Send
from gossamer.protocols.contract.events import MessageReceived, PeerDown, Started, TimerFired
from gossamer.protocols.contract.facts import PeerMisbehaved
from gossamer.protocols.contract.messages import Timer, WireMessage
from gossamer.protocols.contract.system import LockstepTimer, System
from gossamer.protocols.membership.cyclon import Cyclon, CyclonParameters
from gossamer.protocols.membership.cyclon_messages import ShuffleDue
from gossamer.protocols.membership.tman import (
    OLDEST,
    Descriptor,
    RankedViewChanged,
    TMan,
    TManParameters,
    TManView,
    by_rank,
)
from gossamer.simulator.lockstep import Lockstep
from gossamer.simulator.population import CycleChanges

CIRCLE = 2**64


class Placed(Descriptor, frozen=True, array_like=True, gc=False):
    """A node with a place, on the ring or of a colour."""

    place: int


class RingRequest(WireMessage, frozen=True, array_like=True, gc=False, tag="test_ring_request"):
    descriptors: tuple[Placed, ...]


class RingReply(WireMessage, frozen=True, array_like=True, gc=False, tag="test_ring_reply"):
    descriptors: tuple[Placed, ...]


class RingDue(Timer, frozen=True, array_like=True, gc=False, tag="test_ring_due"):
    pass


class Ring(TMan[Placed]):
    MESSAGES: ClassVar = (RingRequest, RingReply)
    TIMERS: ClassVar = (RingDue,)


def place_of(node):
    """Nodes that are close on the ring have unrelated ids."""
    return finish(node + 1)


def both_sides(base, candidates, count):
    """The nearest candidates on each side. By distance alone, all could be on the side that has more nodes."""
    ahead = sorted(candidates, key=lambda each: (each.place - base.place) % CIRCLE)
    by_turns = [each for pair in zip(ahead, reversed(ahead), strict=True) for each in pair]
    return list({each.node: each for each in by_turns}.values())[:count]


def same_colour(base, other):
    return base.place != other.place


def placed(node, place=None, version=0, age=0):
    return Placed(node, b"", version, age, place_of(node) if place is None else place)


PARAMETERS = TManParameters(view_size=8, buffer_size=10, choice=4, age_max=10, period_us=10_000_000)


def make_parts(selection, place):
    def parts(parameters, seed, node, view):
        cyclon = Cyclon(CyclonParameters(view_size=12, shuffle_length=6), seed, node)

        def samples():
            return [placed(each.node, place(each.node), age=each.age) for each in cyclon.view()]

        def me():
            return placed(node, place(node))

        return (cyclon, Ring(parameters, seed, node, me, samples, selection(seed, node)))

    return parts


def network(count, seed, selection=lambda seed, node: both_sides, place=place_of):
    """A started network of nodes that build a topology, cycle by cycle."""
    system = System(
        "ring",
        "",
        "",
        TManParameters,
        parts=make_parts(selection, place),
        timers=(LockstepTimer(ShuffleDue()), LockstepTimer(RingDue())),
        random_order=True,
        cycle_us=lambda parameters: parameters.period_us,
        contact_count=lambda parameters: 12,
    )
    driver = Lockstep(system, PARAMETERS, seed, count, contact_count=min(12, count - 1))
    driver.start()
    return driver


def view_of(driver, node):
    return driver.machines[node]._parts[1].view


def ring_share(driver):
    """The share of links of the ring of the present nodes that are in the views of both ends."""
    order = sorted(driver.machines, key=place_of)
    known = sum(
        order[position - 1] in view_of(driver, node) and node in view_of(driver, order[position - 1])
        for position, node in enumerate(order)
    )
    return known / len(order)


def cycles_until(share, count, seed, most):
    driver = network(count, seed)
    for cycle in range(1, most + 1):
        driver.cycle()
        if ring_share(driver) >= share:
            return cycle
    raise AssertionError(f"no ring of {count} nodes after {most} cycles")


@pytest.mark.parametrize("seed", [1, 2])
def test_a_ring_of_all_nodes_converges_in_a_logarithmic_number_of_cycles(seed):
    cycles = {count: cycles_until(0.99, count, seed, most=20) for count in (32, 128, 512)}
    for count, found in cycles.items():
        assert found <= math.log2(count)
    # Four times as many nodes cost a constant number of cycles more, not four times as many.
    assert cycles[512] - cycles[128] <= 3
    # The last links, whose ends are known to few nodes, take a few cycles more.
    assert cycles_until(1, 128, seed, most=20) <= 2 * math.log2(128)


def test_the_same_part_builds_groups_of_one_colour():
    driver = network(120, 3, lambda seed, node: by_rank(same_colour, seed, node), place=lambda node: node % 10)
    for _ in range(12):
        driver.cycle()
    for node in driver.machines:
        assert len(view_of(driver, node)) == 8
        assert {other % 10 for other in view_of(driver, node).nodes()} == {node % 10}


def test_the_ring_closes_around_nodes_that_crashed_and_takes_in_nodes_that_joined():
    driver = network(100, 5)
    driver.cycle(CycleChanges(leavers=(), crashes=tuple(range(50, 100)), joiners=(), interests={}))
    for _ in range(25):
        driver.cycle()
    assert ring_share(driver) == 1
    assert all(other < 50 for node in driver.machines for other in view_of(driver, node).nodes())
    driver.cycle(CycleChanges(leavers=(), crashes=(), joiners=(70, 71, 72), interests={}))
    for _ in range(15):
        driver.cycle()
    assert ring_share(driver) == 1


def test_the_same_seed_gives_the_same_views():
    one, again, other = (network(40, seed) for seed in (1, 1, 2))
    for driver in (one, again, other):
        for _ in range(3):
            driver.cycle()
    views = [[view_of(driver, node).nodes() for node in range(40)] for driver in (one, again, other)]
    assert views[0] == views[1] != views[2]


# The view alone.


def small_view(size=3, age_max=10):
    return TManView(1, 0, size, age_max, by_rank(lambda base, each: abs(base.place - each.place), 1, 0))


ME = placed(0, place=100)


def test_a_view_keeps_the_candidates_of_lowest_rank():
    view = small_view()
    assert view.merge(ME, [placed(node, place=100 + node) for node in (5, 1, 4)]) == ((), (5, 1, 4))
    removed, added = view.merge(ME, [placed(2, place=102), placed(0), placed(9, place=500)])
    assert (removed, added) == ((5,), (2,))
    assert sorted(view.nodes()) == [1, 2, 4]


def test_a_newer_version_replaces_an_older_one_whatever_its_age_and_a_younger_copy_the_same_version():
    view = small_view()
    view.merge(ME, [placed(1, place=101, version=2, age=3)])
    view.merge(ME, [placed(1, place=999, version=1, age=0)])
    assert view.descriptors() == [placed(1, place=101, version=2, age=3)]
    view.merge(ME, [placed(1, place=101, version=2, age=1)])
    assert view.descriptors()[0].age == 1
    view.merge(ME, [placed(1, place=103, version=3, age=9)])
    assert view.descriptors() == [placed(1, place=103, version=3, age=9)]


def test_a_nodes_own_descriptor_wins_against_what_others_claim_about_it():
    view = small_view()
    view.merge(ME, [placed(1, place=999, version=2**62)], sender=7)
    view.merge(ME, [placed(1, place=101, version=1)], sender=1)
    assert view.descriptors()[0].place == 101


def test_a_descriptor_that_is_not_renewed_is_forgotten_everywhere():
    view = small_view(age_max=2)
    view.merge(ME, [placed(1, place=101), placed(2, place=102, age=2), placed(3, place=103, age=3)])
    assert view.nodes() == (1, 2)
    assert view.grow_older() == (2,)
    assert view.descriptors()[0].age == 1
    # A copy that another node sends is as old as ours: it does not renew the descriptor.
    view.merge(ME, view.descriptors(), sender=7)
    view.grow_older()
    assert view.grow_older() == (1,)


def test_a_partner_is_drawn_from_the_best_of_the_view():
    view = small_view(size=20)
    view.merge(ME, [placed(node, place=100 + node) for node in range(1, 20)])
    drawn = {view.partner(ME, 3, now_us).node for now_us in range(200)}
    assert drawn == {1, 2, 3}
    assert len({view.partner(ME, 0, now_us).node for now_us in range(400)}) == 19
    assert small_view().partner(ME, 3, 1) is None


def test_a_buffer_has_the_own_descriptor_and_the_best_for_the_peer():
    view = small_view(size=20)
    view.merge(ME, [placed(node, place=100 + node) for node in range(1, 20)])
    peer = placed(19, place=119)
    buffer = view.buffer(ME, peer, [placed(30, place=120, age=3), placed(0, place=118)], count=4)
    assert [each.node for each in buffer] == [0, 30, 18, 17]
    # Ages count hops too; the own descriptor is always new.
    assert [each.age for each in buffer] == [0, 4, 1, 1]


def test_ties_are_broken_in_another_way_by_each_node():
    candidates = [placed(node, place=0) for node in range(1, 40)]
    firsts = set()
    for node in range(40, 80):
        select = by_rank(lambda base, each: each.place, 1, node)
        chosen = [each.node for each in select(ME, candidates, 5)]
        assert chosen == [each.node for each in select(ME, candidates[::-1], 5)]
        firsts.add(chosen[0])
    assert len(firsts) > 10


# The part, and what peers may send it.


def started_part():
    part = Ring(PARAMETERS, 1, 0, lambda: ME, lambda: [placed(5)], both_sides)
    part.handle(Started(), 0, [])
    return part


def test_a_reply_that_was_not_asked_for_is_dropped():
    part = started_part()
    assert not part.handle(MessageReceived(9, RingReply((placed(9),))), 1, [])
    out = []
    assert part.handle(TimerFired(RingDue()), 1, out) == (RankedViewChanged((), (5,)),)
    request = next(action for action in out if isinstance(action, Send))
    assert request.to == (5,)
    assert request.message == RingRequest((ME,))
    assert not part.handle(MessageReceived(9, RingReply((placed(9),))), 2, [])
    assert part.handle(MessageReceived(5, RingReply((placed(5), placed(6)))), 2, []) == (RankedViewChanged((), (6,)),)
    assert not part.handle(MessageReceived(5, RingReply((placed(5), placed(7)))), 2, [])


def test_a_request_without_its_senders_descriptor_is_reported_and_not_answered():
    for descriptors in ((), (placed(8),)):
        out = []
        assert not started_part().handle(MessageReceived(9, RingRequest(descriptors)), 1, out)
        assert [type(action.fact) for action in out if isinstance(action, Observe)] == [PeerMisbehaved]
        assert not [action for action in out if isinstance(action, Send)]


def test_an_unreachable_peer_leaves_the_view_and_one_that_hung_up_stays():
    part = started_part()
    part.handle(TimerFired(RingDue()), 1, [])
    assert not part.handle(PeerDown(5, hung_up=True), 2, [])
    assert part.handle(PeerDown(5), 2, []) == (RankedViewChanged((5,), ()),)
    assert not part.handle(PeerDown(5), 2, [])


descriptors = st.builds(
    Placed,
    st.integers(0, 2**64 - 1),
    st.just(b""),
    st.integers(0, 2**62),
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-(2**63), 2**63 - 1),
)


@given(st.lists(st.tuples(st.integers(0, 30), st.booleans(), st.lists(descriptors, max_size=30)), max_size=12))
def test_the_state_stays_bounded_whatever_peers_send(messages):
    part = started_part()
    for now_us, (sender, is_request, received) in enumerate(messages, 1):
        kind = RingRequest if is_request else RingReply
        out = []
        part.handle(MessageReceived(sender, kind(tuple(received))), now_us, out)
        part.handle(TimerFired(RingDue()), now_us * PARAMETERS.period_us, out)
        assert len(part.view) <= PARAMETERS.view_size
        assert 0 not in part.view
        assert all(0 <= each.age <= OLDEST for each in part.view.descriptors())
        for action in out:
            if isinstance(action, Send):
                assert len(action.message.descriptors) <= PARAMETERS.buffer_size


def test_a_descriptor_that_its_node_sends_again_is_young_again_if_the_view_has_this_version():
    view = TManView(1, 1, 5, 3, by_rank(lambda base, other: other.node, 1, 1))
    me = Descriptor(1, b"", 1, 0)
    view.merge(me, [Descriptor(2, b"", 7, 0)])
    for _ in range(3):
        view.grow_older()
    assert not view.renew(Descriptor(2, b"", 8, 0))
    assert view.renew(Descriptor(2, b"", 7, 0))
    assert not view.renew(Descriptor(3, b"", 7, 0))
    assert view.grow_older() == ()
    assert view.get(2).version == 7
    assert view.get(3) is None
