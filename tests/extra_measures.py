"""A measure of topics and a measure of nodes, registered by one decorator each. Importing this module registers them."""

import numpy as np
import pyarrow as pa

from gossamer.kernels.measures import topic_components
from gossamer.model.tables.measures import node_measure, topic_measure

TOPIC_COLUMN, NODE_COLUMN = "links_per_subscriber", "spare_links"
TOPIC_LABEL, NODE_LABEL = "links for each subscriber of a topic", "most links beyond one for each topic"


@topic_measure(TOPIC_COLUMN, pa.float64(), label=TOPIC_LABEL, figure="mean_links_per_subscriber")
def links_per_subscriber(topics):
    _, links = topic_components(*topics.arrays, topics.first, topics.last)
    return links / topics.subscribers


@node_measure(NODE_COLUMN, pa.int64(), label=NODE_LABEL, summary=lambda values: int(np.max(values)))
def spare_links(overlay, interest):
    return overlay.degrees - interest.sizes
