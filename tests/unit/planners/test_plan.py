"""The public planning function: ids, kept links, and what it reports."""

import numpy as np
import pytest

from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.overlay import Overlay
from gossamer.model.tables.workload import Workload
from gossamer.model.values.errors import CheckFailed, InputError
from gossamer.planners.improve import Improved
from gossamer.planners.plan import PlanRequest, plan
from gossamer.simulator.measure import measure
from gossamer.workloads.make import make_workload

# Three nodes share topic 70; the first two also share topic 80.
INTEREST = Interest.from_pairs(np.array([0, 0, 1, 1, 2]), np.array([0, 1, 0, 1, 0]), 3, 2)
WORKLOAD = Workload(INTEREST, np.array([5, 10, 900]), np.array([70, 80]))


def test_a_plan_names_peers_by_the_ids_of_the_workload():
    peers = plan(WORKLOAD).peers()
    assert list(peers) == [5, 10, 900]
    assert 10 in peers[5]
    assert all(node in peers[peer] for node in peers for peer in peers[node])


def test_topics_that_a_plan_cannot_serve_are_named_by_the_ids_of_the_workload():
    planned = plan(WORKLOAD, PlanRequest(degree_budget=1))
    assert planned.disconnected_topics == [70]
    assert plan(WORKLOAD, PlanRequest(redundancy=3)).small_topics == [80]


def test_a_plan_without_a_request_connects_every_topic_within_its_bounds():
    workload = make_workload(nodes=80, topics=10, subscriptions=3, seed=2)
    planned = plan(workload)
    metrics = measure(planned.overlay, workload)
    assert metrics["partitioned_topics"] == 0
    assert planned.disconnected_topics == planned.small_topics == []
    assert metrics["links"] >= planned.bounds.links
    assert metrics["max_degree"] >= planned.bounds.max_degree


def test_kept_links_are_part_of_the_plan_and_exclude_options_that_would_remove_them():
    kept = Overlay.from_links(np.array([1]), np.array([2]), 3)
    assert 2 in plan(WORKLOAD, keep=kept).overlay.neighbours_of(1)
    for request in (PlanRequest(improve=True), PlanRequest(parts=2), PlanRequest(degree_budget=2)):
        with pytest.raises(InputError, match="`keep` can be combined with `redundancy` and `diameter` only"):
            plan(WORKLOAD, request, keep=kept)


def test_a_plan_that_leaves_another_topic_disconnected_than_it_states_is_a_failed_check():
    planned = plan(WORKLOAD, PlanRequest(degree_budget=1))
    planned.check(np.array([2, 1]))
    with pytest.raises(CheckFailed, match="must be connected are disconnected: 80"):
        planned.check(np.array([1, 2]))
    with pytest.raises(CheckFailed, match="stated as disconnected are connected: 70"):
        planned.check(np.array([1, 1]))


def test_a_local_search_that_disconnects_another_topic_is_a_failed_check(monkeypatch):
    def cut(interest, overlay, for_degree, progress):
        """Connects topic 70, which the budget had given up, and disconnects topic 80."""
        links = Overlay.from_links(np.array([0, 1]), np.array([2, 2]), 3)
        return Improved(links, 1, 0, 1)

    monkeypatch.setattr("gossamer.planners.plan.improve", cut)
    with pytest.raises(CheckFailed, match="must be connected are disconnected: 80"):
        plan(WORKLOAD, PlanRequest(degree_budget=1, improve=True))


def test_an_overlay_is_measured_only_with_a_workload_of_the_same_size():
    with pytest.raises(InputError, match="the overlay has 2 nodes and the workload 3"):
        measure(Overlay.from_links(np.array([0]), np.array([1]), 2), WORKLOAD)
