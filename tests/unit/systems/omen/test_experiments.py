"""The experiments behind OMen's exhibits, on a small friend graph and a small trace."""

import pytest

from gossamer.model.values.draw import draw
from gossamer.systems.omen.experiments import follow_counts, local_views, mend, nodes_under_churn

NODES = 40


@pytest.fixture
def data(tmp_path):
    """A ring of friends with random further ones, and machines that leave and return."""
    edges = [(node, (node + 1) % NODES) for node in range(NODES)]
    edges += [(node, draw(1, node, 1, step) % NODES) for node in range(NODES) for step in range(3)]
    graph, trace = tmp_path / "edges.txt", tmp_path / "trace.csv"
    graph.write_text("".join(f"{one} {other}\n" for one, other in edges if one != other))
    rows = [f"0,{machine},0,x\n" for machine in range(NODES)]
    rows += [f"{at},{draw(1, at // 2, 2, 0) % NODES},{1 - at % 2},x\n" for at in range(1, 60)]
    trace.write_text("".join(rows))
    return {"graph": str(graph), "trace": str(trace)}


def test_larger_lambda_means_larger_local_views(data):
    small, large = (local_views(1, NODES, {"coverage": each}, data["graph"]) for each in (1, 9))
    assert small["mean"] < large["mean"]
    assert large["at_most_80_percent"] == 100


def test_links_inside_the_shadow_set_alone_add_more_links_and_diameters_are_noted(data):
    found = mend(1, NODES, 30, 10, {}, **data, rivals=["LowODA-Re", "OMen-S"], diameters=True)
    assert found["parted_topics"] == 0
    assert found["OMen-S mean"][-1] > found["OMen mean"][-1]
    assert len(found["OMen diameter mean"]) == len(found["LowODA-Re diameter most"]) == 3


def test_planners_that_start_anew_trade_the_average_degree_for_the_maximum(data):
    found = mend(1, NODES, 20, 10, {}, **data, rivals=["LowODA-Re", "GM", "MinMaxODA"])
    assert found["GM mean"][-1] <= found["LowODA-Re mean"][-1] <= found["MinMaxODA mean"][-1]
    assert found["MinMaxODA most"][-1] <= found["GM most"][-1]


def test_shares_of_followers_and_followees_are_counted_in_the_graph_and_in_a_sample(tmp_path):
    graph = tmp_path / "edges.txt"
    # Everyone follows 0, and 1 follows 2.
    graph.write_text("1 0\n2 0\n3 0\n1 2\n")
    found = follow_counts(1, 4, [1, 2, 3], str(graph), directed=True)
    assert found["graph: followers"] == [50, 25, 25]
    assert found["graph: followees"] == [75, 25, 0]
    assert found["sample: followers"] == found["graph: followers"]


def test_each_event_on_nodes_is_repaired_with_few_messages_to_few_nodes(data):
    rivals = ["SpiderCast (3,1)"]
    found = nodes_under_churn(1, NODES, 8, {"mend_us": 0, "resilience": 1}, **data, rivals=rivals)
    assert len(found["nodes: messages"]) == len(found["SpiderCast (3,1) messages"]) == 8
    assert found["nodes: parted"] == [0] * 8
    leaves = [place for place, is_join in enumerate(found["nodes: is_join"]) if not is_join]
    assert leaves
    assert all(found["nodes: reports"][place] > 0 for place in leaves)
    assert any(found["nodes: messages"])
    assert all(found["nodes: touched_percent"][place] <= 50 for place in leaves)
    assert max(found["nodes: repair_ms"][place] for place in leaves) < 1_000
