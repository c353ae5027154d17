"""Write `peers.json`, the plan that live nodes load: `{node: {"topics": [...], "peers": [...]}}`, all by name.

`topics` are all topics that the node holds. `publishes` is there only if the node publishes on some of them without
following them, and lists these.
"""

from pathlib import Path
from typing import Any

from gossamer.model.arrays.overlay import Overlay
from gossamer.model.tables.folders import write_json
from gossamer.model.tables.workload import Workload
from gossamer.model.values.ids import Role

PEERS = "peers.json"


def write_peers(folder: Path, workload: Workload, overlay: Overlay) -> int:
    """Write the topics and peers of every node, by name, and return the number of nodes."""
    interest = workload.interest
    nodes, topics = workload.names_of_nodes(), workload.names_of_topics()
    content: dict[str, Any] = {}
    for node, name in enumerate(nodes):
        row = slice(interest.node_starts[node], interest.node_starts[node + 1])
        held = [topics[topic] for topic in interest.node_topics[row].tolist()]
        published = [
            topic for topic, role in zip(held, interest.roles[row].tolist(), strict=True) if role == Role.PUBLISHES
        ]
        content[name] = {
            "topics": held,
            **({"publishes": published} if published else {}),
            "peers": [nodes[other] for other in overlay.neighbours_of(node).tolist()],
        }
    write_json(folder / PEERS, content)
    return len(content)
