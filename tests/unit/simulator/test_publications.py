"""The messages that a simulation publishes: which nodes publish them, and how many deliveries are expected."""

import numpy as np
import pytest

from gossamer.model.arrays.interest import Interest
from gossamer.model.tables.workload import write_interests
from gossamer.model.values.ids import Role
from gossamer.model.values.run import Run
from gossamer.model.values.time import SECOND_US
from gossamer.simulator.execute import execute

# Twelve nodes follow topics 0 and 1. Nodes 1 and 2 are publishers of topic 0: node 1 follows it too, node 2 does not. No
# node is a publisher of topic 1.
NODES = 12


def published(folder, roles):
    """(node, topic, expected deliveries) of each message."""
    nodes, topics = np.repeat(np.arange(NODES), 2), np.tile([0, 1], NODES)
    values = np.full(len(nodes), int(Role.FOLLOWS))
    for node, role in roles.items():
        values[(nodes == node) & (topics == 0)] = int(role)
    write_interests(folder, Interest.from_pairs(nodes, topics, NODES, 2, values))
    run = Run(
        system="spidercast",
        seed=1,
        workload=str(folder),
        engine="event",
        until_us=20 * SECOND_US,
        dissemination="flood",
        event_count=60,
    )
    result = execute(run)
    assert result.metrics["delivery_ratio"] == 1
    table = result.tables["publications"]
    return list(zip(*(table[name].tolist() for name in ("node", "topic", "expected")), strict=True))


def test_only_nodes_whose_role_is_to_publish_do_so(tmp_path):
    rows = published(tmp_path, {1: Role.BOTH, 2: Role.PUBLISHES})
    assert len(rows) == 60
    # Eleven nodes follow topic 0, and a publisher does not deliver to itself.
    assert set(rows) == {(1, 0, NODES - 2), (2, 0, NODES - 1)}


@pytest.mark.parametrize("roles", [{}, {3: Role.FOLLOWS}])
def test_every_subscriber_publishes_where_the_workload_names_no_publisher(tmp_path, roles):
    rows = published(tmp_path, roles)
    assert len({node for node, _, _ in rows}) > NODES / 2
    assert {topic for _, topic, _ in rows} == {0, 1}
    assert {expected for _, _, expected in rows} == {NODES - 1}
