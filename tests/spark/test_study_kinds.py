"""A study of every kind of input ends in a report. The data are small, and only quick systems run."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark", reason="the pipeline is part of gossamer[spark]")

from gossamer.analysis.report import write_report
from gossamer.model.tables.schemas import write_table
from gossamer.model.tables.workload import read_workload
from gossamer.model.values.errors import InputError, InputWarning
from gossamer.model.values.progress import silent
from gossamer.pipeline.ingest import ingest_memberships
from gossamer.pipeline.shared_ids import share_ids
from gossamer.pipeline.study import run_study
from gossamer.pipeline.study_inputs import study_of
from gossamer.pipeline.study_samples import take_workload, write_study_sample
from gossamer.pipeline.study_settings import BOTH, MEMBERSHIPS, WORKLOAD, Candidate, Study

QUICK = {"seeds": (1,), "systems": (Candidate("spidercast"), Candidate("gm")), "churn_systems": (), "live_systems": ()}


def rows_of(path):
    return [tuple(row.values()) for row in pq.read_table(path).to_pylist()]


def table(folder, name, **columns):
    folder.mkdir(exist_ok=True)
    write_table(name, folder / f"{name}.parquet", columns)


@pytest.fixture
def circle(tmp_path):
    """Thirty users in a circle of friends; user i is in groups i mod 5 and i mod 7."""
    groups = [(user, f"g{user % size}") for user in range(30) for size in (5, 7)]
    (tmp_path / "members.csv").write_text(
        "user,group\n" + "".join(f"u{user},{group}\n" for user, group in sorted(set(groups)))
    )
    (tmp_path / "friends.txt").write_text("".join(f"u{user} u{(user + 1) % 30}\n" for user in range(30)))
    return tmp_path


def report_of(spark, study, folder, max_links=None):
    stages = run_study(spark, study, folder, silent, lambda text: None)
    write_report(folder, folder / "report.html", max_links)
    return stages, (folder / "report.html").read_text()


def test_memberships_end_in_a_report_and_a_small_input_is_used_whole(spark, circle):
    study = Study(memberships=str(circle / "members.csv"), machines=50, **QUICK)
    stages, report = report_of(spark, study, circle / "out")
    assert stages.done["workload"]["rows"]["nodes"] == 30
    assert "Use <b>spidercast</b>" in report
    assert "The study uses all 30 nodes of the input; nothing was sampled." in report
    assert "topics (groups)" in report
    found = read_workload(circle / "out" / "workload")
    kept = found.interest
    # The names of the file are those of the workload, and the report shows the largest.
    assert set(found.names_of_nodes()) == {f"u{user}" for user in range(30)}
    assert set(found.names_of_topics()) == {f"g{group}" for group in range(7)}
    assert "<td>g0</td>" in report
    assert kept.subscription_count == len(set((circle / "members.csv").read_text().splitlines())) - 1


def test_a_workload_ends_in_a_report_with_the_limit_that_the_user_set(spark, circle):
    table(circle / "w", "interests", node=[5, 5, 90, 90, 700], topic=[1, 2, 1, 2, 2])
    study = Study(workload=str(circle / "w"), machines=50, max_links=1, **QUICK)
    _, report = report_of(spark, study, circle / "out", study.max_links)
    assert "none keeps every node at 1 links or fewer" in report
    assert rows_of(circle / "out" / "graph" / "names.parquet") == [(0, "5"), (1, "90"), (2, "700")]


def test_several_samples_of_edges_and_memberships_of_the_same_users_end_in_a_report(spark, circle):
    study = Study(
        edges=str(circle / "friends.txt"),
        memberships=str(circle / "members.csv"),
        nodes=12,
        samples=2,
        machines=50,
        **QUICK,
    )
    _, report = report_of(spark, study, circle / "out")
    results = pq.read_table(circle / "out" / "results" / "results.parquet").to_pylist()
    assert sorted((row["label"], row["sample"]) for row in results) == [
        ("gm", 1),
        ("gm", 2),
        ("spidercast", 1),
        ("spidercast", 2),
    ]
    assert "sample of 12 of 30 nodes" in report
    samples = [set(read_workload(circle / "out" / name).node_ids) for name in ("workload", "workload-2")]
    assert [len(nodes) for nodes in samples] == [12, 12]
    assert samples[0] != samples[1]


def names_of(folder, names):
    write_table("names", folder / "names.parquet", {"id": list(range(len(names))), "name": names})


@pytest.mark.parametrize("most", [0, 2**30])
def test_a_name_has_one_id_in_edges_and_memberships_by_either_plan(spark, tmp_path, monkeypatch, most):
    monkeypatch.setattr("gossamer.pipeline.ids.BROADCAST_BYTES_MAX", most)
    table(tmp_path / "e", "edges", source=[0, 0, 1], target=[1, 2, 2])
    names_of(tmp_path / "e", ["a", "b", "zz"])
    table(tmp_path / "m", "interests", node=[0, 1, 2], topic=[0, 0, 0])
    names_of(tmp_path / "m", ["b", "c", "zz"])
    write_table("names", tmp_path / "m" / "topic_names.parquet", {"id": [0], "name": ["g"]})
    counts = share_ids(spark, tmp_path / "e", tmp_path / "m", tmp_path)
    names = dict(rows_of(tmp_path / "names.parquet"))
    assert sorted(names.values()) == ["a", "b", "c", "zz"]
    assert sorted(names[node] for node, _ in rows_of(tmp_path / "interests.parquet")) == ["b", "c", "zz"]
    # User a has no group.
    assert [(names[u], names[v]) for u, v in rows_of(tmp_path / "edges.parquet")] == [("b", "zz")]
    assert counts == {
        "edge_users": 3,
        "member_users": 3,
        "all_users": 4,
        "shared_users": 2,
        "nodes": 2,
        "rows": 3,
        "edges": 1,
    }


def test_edges_and_memberships_without_a_common_user_are_refused(spark, tmp_path):
    table(tmp_path / "e", "edges", source=[0], target=[1])
    names_of(tmp_path / "e", ["a", "b"])
    table(tmp_path / "m", "interests", node=[0], topic=[0])
    names_of(tmp_path / "m", ["c"])
    write_table("names", tmp_path / "m" / "topic_names.parquet", {"id": [0], "name": ["g"]})
    with pytest.raises(InputError, match="must name the same users"):
        share_ids(spark, tmp_path / "e", tmp_path / "m", tmp_path)


def test_a_sampled_workload_keeps_its_roles(spark, tmp_path):
    nodes = [10 * node for node in range(20) for _ in range(2)]
    topics = [topic % 5 for node in range(20) for topic in (node, node + 1)]
    roles = [1 + node % 3 for node in range(20) for _ in range(2)]
    table(tmp_path / "w", "interests", node=nodes, topic=topics, role=roles)
    (tmp_path / "graph").mkdir()
    assert take_workload(spark, tmp_path / "w", tmp_path / "graph") == {"rows": 40, "nodes": 20, "topics": 5}
    (tmp_path / "out").mkdir()
    write_study_sample(spark, tmp_path / "graph", tmp_path / "out", WORKLOAD, False, 20, 8, 2, 1)
    found = pq.read_table(tmp_path / "out" / "interests.parquet").to_pylist()
    assert len(found) == 16
    assert all(row["role"] == 1 + row["node"] % 3 for row in found)


def test_roles_and_names_of_a_file_reach_the_sample(spark, tmp_path):
    (tmp_path / "subs.csv").write_text(
        "service,topic,role\nBilling,x,pub\nbilling,x,\nbilling,x,producer\n仓库,x,both\n仓库,y,sub\n仓库,z,owner\n"
    )
    with pytest.warns(InputWarning, match="users 'Billing' and 'billing' differ only in upper and lower case"):
        ingest_memberships(spark, [tmp_path / "subs.csv"], tmp_path / "graph")
    quarantined = pq.read_table(tmp_path / "graph" / "quarantine.parquet").to_pylist()
    assert [row["reason"] for row in quarantined] == ["role is not follows, publishes or both"]
    write_study_sample(spark, tmp_path / "graph", tmp_path / "w", MEMBERSHIPS, False, 3, 3, 1, 1)
    found = read_workload(tmp_path / "w")
    names, topics, interest = found.names_of_nodes(), found.names_of_topics(), found.interest
    roles = zip(interest.owners, interest.node_topics, interest.roles.tolist(), strict=True)
    assert {(names[node], topics[topic], role) for node, topic, role in roles} == {
        ("Billing", "x", 2),
        ("billing", "x", 3),
        ("仓库", "x", 3),
        ("仓库", "y", 1),
    }


def test_a_workload_with_names_keeps_them_in_a_study(spark, tmp_path):
    table(tmp_path / "w", "interests", node=[5, 5, 90], topic=[1, 2, 2])
    write_table("names", tmp_path / "w" / "names.parquet", {"id": [5, 90], "name": ["ann", "鲍勃"]})
    write_table("names", tmp_path / "w" / "topic_names.parquet", {"id": [1, 2], "name": ["rock", "jazz"]})
    take_workload(spark, tmp_path / "w", tmp_path / "graph")
    write_study_sample(spark, tmp_path / "graph", tmp_path / "sample", WORKLOAD, False, 2, 2, 1, 1)
    found = read_workload(tmp_path / "sample")
    assert (found.names_of_nodes(), found.names_of_topics()) == (["ann", "鲍勃"], ["rock", "jazz"])


def test_a_folder_whose_interests_have_names_is_read_as_memberships(tmp_path):
    pq.write_table(pa.table({"node": ["a"], "topic": ["x"]}), tmp_path / "interests.parquet")
    study, sentence = study_of(str(tmp_path), None)
    assert study.memberships == str(tmp_path / "interests.parquet")
    assert "has names" in sentence


def test_a_workload_with_duplicate_rows_is_refused(spark, tmp_path):
    table(tmp_path / "w", "interests", node=[1, 1, 2], topic=[3, 3, 3])
    with pytest.raises(InputError, match="contains 1 duplicate rows"):
        take_workload(spark, tmp_path / "w", tmp_path)


def test_several_samples_of_an_input_that_is_used_whole_are_refused(spark, circle):
    study = Study(memberships=str(circle / "members.csv"), machines=50, samples=2, **QUICK)
    with pytest.raises(InputError, match="there is only one sample, the whole input"):
        run_study(spark, study, circle / "out", silent, lambda text: None)


def test_kinds_are_known_by_their_names():
    assert Study(edges="a", memberships="b").kind == BOTH
    assert Study(memberships="b").kind == MEMBERSHIPS
