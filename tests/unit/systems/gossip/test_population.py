"""Gossip over an overlay that does not change: publishers and subscribers by their roles."""

import numpy as np

from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.overlay import Overlay
from gossamer.model.values.ids import Role
from gossamer.systems.gossip.machine import GossipParameters
from gossamer.systems.gossip.population import gossip_events, gossip_on

# A path 0 - 1 - 2 - 3 - 4. Without gossip a message crosses links to subscribers only.
PATH = Overlay.from_links(np.arange(4), np.arange(1, 5), 5)
ONLY_SUBSCRIBERS = GossipParameters(gamma=0.0, ttl=100)


def test_a_node_that_only_publishes_is_no_subscriber_and_its_topic_has_no_other_publisher():
    # Node 0 publishes on topic 0, and nodes 1 and 2 follow it; on topic 1 there is no publisher.
    roles = np.array([Role.PUBLISHES, Role.FOLLOWS, Role.FOLLOWS, Role.FOLLOWS])
    interest = Interest.from_pairs(np.array([0, 1, 2, 4]), np.array([0, 0, 0, 1]), 5, 2, roles)
    found = gossip_events(PATH, interest, ONLY_SUBSCRIBERS, 1, 50)
    # Every message comes from node 0 and reaches nodes 1 and 2, which are all subscribers.
    assert (found["receivers_per_event"], found["subscribers_per_event"], found["subscribers_reached"]) == (3, 2, 1)
    assert found["messages_per_event"] == 2


def test_any_node_publishes_where_the_workload_names_no_publisher():
    interest = Interest.from_pairs(np.arange(5), np.zeros(5, int), 5, 1)
    found = gossip_on(PATH, interest, ONLY_SUBSCRIBERS, 1, np.zeros(200, np.int64))
    assert found["receivers_per_event"] == 5
    # The distance to the farther end is 4, 3, 2, 3 and 4 hops: 3.2 on average over all nodes.
    assert abs(found["hops_most_mean"] - 3.2) < 0.2
