"""Ten holes of the printed protocol, and the rule that closes each: every test also fails with its rule turned off.

The holes are those of docs/papers.md. Bridges are off, because they would hide what a rule does.
"""

import itertools

import numpy as np
import pytest

from gossamer.model.values.errors import InputError
from gossamer.protocols.contract.messages import Peer
from gossamer.protocols.contract.system import read_parameters
from gossamer.systems.omen.backups import among, by_primal_dual
from gossamer.systems.omen.circle import Circle
from gossamer.systems.omen.messages import (
    ChurnEvent,
    ChurnKind,
    DoneNotice,
    LinkCommand,
    LinkRequest,
    ShadowState,
    WatchState,
)
from gossamer.systems.omen.repairs import Repairs
from gossamer.systems.omen.reports import Reports
from gossamer.systems.omen.watchers import Watchers
from tests.scenarios.omen_net import SYSTEM, OmenNet, chain, one_topic, successors

NEVER = 10**6
HOLDERS = 7


def line(fillers=12, nodes=HOLDERS, links=(), **settings):
    """A topic whose holders are linked in a line, and nodes of another topic, linked in a line too."""
    interest = one_topic(nodes, fillers)
    links = [*chain(range(nodes)), *chain(range(nodes, nodes + fillers)), *links]
    return OmenNet(1, interest, links=links, **{"mend_us": 0, "drops": False, "coverage": 4, **settings})


def both(scenario, switch_off):
    """What a scenario gives with the rule and without it."""
    with_rule = scenario()
    with pytest.MonkeyPatch.context() as patch:
        switch_off(patch)
        return with_rule, scenario()


def test_hole_1_a_backup_set_that_is_never_ready_does_not_hold_up_the_repair():
    def scenario(deadline=3):
        net = line(deadline_turns=deadline)
        # Nobody ever learns the links of shadow nodes before the crash.
        net.block(ShadowState, seconds=12)
        net.wait(12)
        net.population.crash(3)
        net.block(ShadowState, seconds=20)
        net.wait(40)
        return net.parted_topics()

    assert (scenario(), scenario(NEVER)) == (0, 1)


def test_hole_2_overlay_neighbours_that_fail_together_leave_no_topic_disconnected():
    def parted_after(first):
        net = line(nodes=10, coverage=3)
        net.wait(15)
        net.population.crash(first)
        net.population.crash(first + 1)
        net.wait(40)
        return net.parted_topics()

    def scenario():
        # Without the rule it depends on the backups whether a pair leaves the topic disconnected.
        return any(parted_after(first) for first in range(2, 7))

    def forget_its_neighbours(patch):
        patch.setattr(Repairs, "_lose", lambda self, repair, node: repair.gone.add(node))

    assert both(scenario, forget_its_neighbours) == (False, True)


def test_hole_3_with_one_watcher_more_than_the_resilience_adjacent_failures_on_the_circle_are_noticed():
    def scenario():
        net = line(resilience=1)
        net.wait(15)
        # A node whose first successor is not in the line, so that only the circle connects the two failures.
        nodes = net.engine.present
        node = next(each for each in range(2, HOLDERS - 2) if successors(nodes, each)[0] >= HOLDERS)
        net.population.crash(node)
        net.population.crash(successors(nodes, node)[0])
        net.wait(40)
        return net.parted_topics() > 0

    def watch_only_as_many(patch):
        start = Circle.__init__
        patch.setattr(Circle, "__init__", lambda self, seed, node, watchers: start(self, seed, node, watchers - 1))

    assert both(scenario, watch_only_as_many) == (False, True)


def test_hole_4_a_neighbour_that_the_watchers_did_not_know_of_reports_itself():
    def scenario():
        # Nodes 5 and 6 have only each other.
        links = [*chain(range(5)), (5, 6), *chain(range(HOLDERS, HOLDERS + 12))]
        net = OmenNet(1, one_topic(HOLDERS, 12), links=links, mend_us=0, drops=False, coverage=4)
        net.wait(15)
        # Node 2 gets a link to node 5, and its watchers do not hear of it.
        net.block((WatchState, ShadowState), senders={2})
        net.tell(2, 1, LinkCommand(ChurnEvent(1, 0, ChurnKind.JOIN), (Peer(5),)))
        net.wait(2)
        assert net.parted_topics() == 0
        net.population.crash(2)
        net.wait(40)
        return net.parted_topics()

    assert both(scenario, lambda patch: patch.setattr(Reports, "open", lambda *arguments: None)) == (0, 1)


def test_hole_5_an_event_stays_open_until_its_links_are_up():
    def scenario():
        net = line()
        net.wait(15)
        net.population.crash(3)
        net.block(LinkRequest, seconds=7)
        net.wait(60)
        return net.parted_topics()

    def take_links_for_made(patch):
        command = Repairs._command

        def command_and_finish(self, repair, now_us, out):
            command(self, repair, now_us, out)
            repair.pending = {}
            if repair.event in self.open:
                self._finish(repair, out)

        patch.setattr(Repairs, "_command", command_and_finish)

    assert both(scenario, take_links_for_made) == (0, 1)


class IdleRepairs(Repairs):
    """A coordinator that does nothing."""

    __slots__ = ()

    def _process(self, repair, now_us, out):
        pass


def test_hole_6_a_watcher_that_stands_by_takes_over_when_its_timer_runs_out():
    def scenario(standby=8):
        net = line(standby_turns=standby)
        net.wait(15)
        coordinator = net.part(successors(net.engine.present, 3)[0])
        # The first successor lives, and does nothing.
        coordinator.repairs.__class__ = IdleRepairs
        net.population.crash(3)
        net.wait(60)
        return net.parted_topics()

    assert (scenario(), scenario(NEVER)) == (0, 1)


@pytest.mark.parametrize("has_heard", [False, True], ids=["nothing", "a pulse"])
def test_hole_7_a_newcomer_that_knows_no_state_of_the_node_hands_the_event_over(has_heard):
    def scenario():
        nodes = HOLDERS + 12
        interest = one_topic(HOLDERS, 12)
        # A newcomer that becomes the first successor of a node in the middle of the line.
        node, newcomer = next(
            (each, first) for each in range(2, HOLDERS - 2) if (first := successors(range(nodes), each)[0]) >= HOLDERS
        )
        others = [each for each in range(HOLDERS, nodes) if each != newcomer]
        net = OmenNet(
            1,
            interest,
            absent=(newcomer,),
            links=[*chain(range(HOLDERS)), *chain(others)],
            mend_us=0,
            drops=False,
            coverage=4,
            standby_turns=NEVER,
        )
        net.wait(15)
        net.block(WatchState, receivers={newcomer})
        net.population.join(newcomer)
        net.wait(6)
        if not has_heard:
            net.part(newcomer).watching.watched.pop(node)
            net.block(None, senders={node}, receivers={newcomer})
        net.population.crash(node)
        net.wait(40)
        return net.parted_topics()

    def keep_what_it_does_not_know(patch):
        notice = Repairs.notice

        def swallow(self, event, terminals, watched, *arguments):
            known = (watched is not None and watched.state) or event in self.open or event in self._done
            return notice(self, event, terminals, watched, *arguments) if known else False

        patch.setattr(Repairs, "notice", swallow)

    assert both(scenario, keep_what_it_does_not_know) == (0, 1)


def test_hole_8_a_node_that_was_taken_for_dead_goes_on_with_a_higher_incarnation():
    def scenario():
        net = line()
        net.wait(15)
        net.block(senders={3}, seconds=8)
        net.wait(30)
        parted, watchers = net.parted_topics(), sum(3 in part.watching.watched for part in net.parts())
        # It is watched again: a real crash is repaired.
        net.population.crash(3)
        net.wait(40)
        return parted, watchers, net.parted_topics()

    found = both(scenario, lambda patch: patch.setattr(Watchers, "refute", lambda *arguments: False))
    assert found[0] == (0, 3, 0)
    assert found[1][1] == 0, "nobody watches it"


def test_hole_9_a_late_done_of_an_earlier_life_does_not_wipe_a_later_event():
    def scenario():
        net = line(deadline_turns=NEVER)
        net.block(ShadowState)
        net.wait(15)
        first = successors(net.engine.present, 3)[0]
        incarnation = net.part(3).watchers.incarnation
        net.population.crash(3)
        net.wait(1)
        net.tell(first, 4, DoneNotice(ChurnEvent(3, incarnation - 1, ChurnKind.LEAVE)))
        return net.part(first).repairs.open.keys() == {ChurnEvent(3, incarnation, ChurnKind.LEAVE)}

    def close_by_node(patch):
        def done(self, event):
            for repair in [each for each in self.open.values() if each.node == event.node]:
                self._close(repair)

        patch.setattr(Repairs, "done", done)

    assert both(scenario, close_by_node) == (True, False)


def test_hole_9_a_fast_restart_implies_that_the_node_left():
    net = line()
    net.wait(15)
    net.population.crash(3)
    net.population.join(3)
    net.wait(40)
    assert net.parted_topics() == 0


def test_hole_10_a_backup_set_outlives_as_many_failures_as_the_resilience_if_lambda_exceeds_it():
    with pytest.raises(InputError, match="lambda"):
        read_parameters(SYSTEM, {"resilience": 2, "coverage": 2})
    holders = {topic: [node for node in range(20) if (node + topic) % 2] for topic in range(4)}
    topics_of = {node: {topic for topic in holders if node in holders[topic]} for node in range(20)}

    def is_always_covered(coverage, failures):
        pick = among(holders.__getitem__, 99, 1, 1)
        chosen = by_primal_dual(99, sorted(holders), pick, topics_of.__getitem__, {}, coverage, 1, 1)
        return all(
            any(topic in topics_of[node] for node in chosen if node not in gone)
            for gone in itertools.combinations(chosen, failures)
            for topic in holders
        )

    assert is_always_covered(3, 2)
    assert not is_always_covered(2, 2)
    assert np.unique([len(holders[topic]) for topic in holders]).tolist() == [10]
