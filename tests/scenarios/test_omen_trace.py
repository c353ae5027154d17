"""OMen with complete knowledge on friend graphs, under the churn of a real cluster. Slow, and needs the real data."""

import numpy as np
import pytest

from gossamer.planners.greedy import lowoda, plan
from gossamer.simulator.measure import disconnected_topics
from gossamer.systems.omen.exhibits.settings import GRAPHS, TRACE
from gossamer.systems.omen.parameters import OmenGParameters
from gossamer.systems.omen.sequential import MendedOverlay
from gossamer.workloads.samples import sample_churn, sample_graph

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.mark.parametrize("seed", range(1, 6))
@pytest.mark.parametrize("graph", GRAPHS)
def test_no_topic_is_disconnected_after_any_of_two_thousand_events(real_data, graph, seed):
    interest = sample_graph(real_data / GRAPHS[graph], 1_000, 3, seed, directed=False)
    absent, churn = sample_churn(real_data / TRACE, 1_000, 2_000, seed)
    present = np.ones(1_000, np.bool_)
    present[absent] = False
    first = plan(interest.among(present), lowoda(3.0))
    mended = MendedOverlay(OmenGParameters(), seed, interest, first, absent.tolist())
    for number, (node, is_join) in enumerate(churn.tolist()):
        (mended.join if is_join else mended.leave)(node)
        present[node] = is_join
        # Once after the repair, and once after links were dropped.
        for _ in range(2):
            parted = disconnected_topics(mended.overlay(), interest.among(present))
            assert not parted, f"event {number} of node {node}, seed {seed}"
            mended.renew()
