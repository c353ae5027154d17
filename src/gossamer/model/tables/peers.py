"""Write `peers.json`, the plan that live nodes load: `{node: {"topics": [...], "peers": [...]}}`, all by name."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.overlay import Overlay
from gossamer.model.tables.folders import write_json

PEERS = "peers.json"


def write_peers(
    folder: Path,
    interest: Interest,
    overlay: Overlay,
    node_ids: NDArray[np.int64],
    topic_ids: NDArray[np.int64],
) -> int:
    """Write the topics and peers of every node, with ids as names, and return the number of nodes."""
    nodes, topics = ([str(name) for name in ids.tolist()] for ids in (node_ids, topic_ids))
    content: dict[str, Any] = {
        name: {
            "topics": [topics[topic] for topic in interest.topics_of(node).tolist()],
            "peers": [nodes[other] for other in overlay.neighbours_of(node).tolist()],
        }
        for node, name in enumerate(nodes)
    }
    write_json(folder / PEERS, content)
    return len(content)
