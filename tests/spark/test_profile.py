"""Profiles of graphs and workloads, against counting by hand."""

from collections import Counter

import pytest

pytest.importorskip("pyspark", reason="the pipeline is part of gossamer[spark]")

from gossamer.analysis.profile import draw_profile
from gossamer.model.tables.folders import write_json
from gossamer.model.tables.schemas import write_table
from gossamer.model.tables.workload import read_workload, write_interests
from gossamer.model.values.errors import InputError
from gossamer.pipeline.profile import profile_folder
from gossamer.simulator.measure import interest_correlation, top_intersection
from gossamer.workloads.interests import make_interests

EDGES = [(0, 1), (0, 2), (0, 3), (1, 2), (4, 0)]


def spread_of(profile, name):
    spread = profile.spreads[name]
    return dict(zip(spread.values.tolist(), spread.counts.tolist(), strict=True))


def test_friends_are_counted_at_both_ends_and_followers_at_one(spark, tmp_path):
    write_table(
        "edges", tmp_path / "edges.parquet", dict(zip(("source", "target"), zip(*EDGES, strict=True), strict=True))
    )
    friends = Counter(Counter(node for edge in EDGES for node in edge).values())
    found = profile_folder(spark, tmp_path)
    assert spread_of(found, "friends") == friends
    assert found.sizes == {"nodes": 5, "edges": 5}
    assert found.figures()["friends"] == {"mean": 2.0, "median": 2, "least": 1, "most": 4}
    write_json(tmp_path / "manifest.json", {"directed": True})
    found = profile_folder(spark, tmp_path)
    assert spread_of(found, "followers") == {0: 1, 1: 3, 2: 1}
    assert spread_of(found, "followees") == {0: 2, 1: 2, 3: 1}
    assert found.spreads["followees"].share_above().tolist() == [1.0, 0.6, 0.2]


def test_the_profile_of_a_workload_has_popularity_similarity_and_a_picture(spark, tmp_path):
    interest = make_interests(200, 60, "5", "zipf:1", seed=1)
    write_interests(tmp_path, interest)
    found = profile_folder(spark, tmp_path)
    assert spread_of(found, "subscribers_per_topic") == Counter(interest.popularity[interest.popularity > 0].tolist())
    assert spread_of(found, "topics_per_node") == {5: 200}
    # Topics that nobody holds are not in the table.
    held = read_workload(tmp_path).interest
    assert found.likeness["tdi_20_percent"] == pytest.approx(top_intersection(held, 20))
    assert found.likeness["correlated_pairs_at_99%"] == pytest.approx(interest_correlation(held, 0.99))
    spread = found.spreads["subscribers_per_topic"]
    curve = {"data": (spread.values, spread.share_above(), (2.0, 3))}
    draw_profile({"subscribers_per_topic": curve}, [tmp_path / "p.svg", tmp_path / "p.png"])
    assert "subscribers of a topic" in (tmp_path / "p.svg").read_text() or (tmp_path / "p.svg").stat().st_size > 5_000
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")


def test_a_folder_without_a_table_is_refused(spark, tmp_path):
    with pytest.raises(InputError, match=r"neither edges.parquet nor interests.parquet"):
        profile_folder(spark, tmp_path)
