"""Workloads of names: what is read, warned about and refused."""

import gzip

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gossamer.model.tables.workload import read_overlay, write_names, write_overlay, write_workload
from gossamer.model.values.errors import InputError, InputWarning
from gossamer.planners.plan import plan
from gossamer.workloads.named import alike_names, read_workload
from gossamer.workloads.zones import numbered_zones, with_zones

ROWS = {("支付", "цены/eur"), ("支付", "orders"), ("Zahlung", "orders"), ("b", "цены/eur")}
CSV = "service,topic\n" + "".join(f"{node},{topic}\n" for node, topic in sorted(ROWS))


def pairs(workload):
    interest = workload.interest
    nodes, topics = workload.names_of_nodes(), workload.names_of_topics()
    return {(nodes[u], topics[t]) for u, t in zip(interest.owners, interest.node_topics, strict=True)}


def written(tmp_path, text, name="subs.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("subs.csv", CSV),
        ("subs.csv.gz", gzip.compress(CSV.encode())),
        ("subs.tsv", CSV.replace(",", "\t")),
        ("subs.csv", "\ufeff" + CSV.replace("\n", "\r\n")),
        ("subs.csv", "# our services\n" + CSV),
        ("subs.jsonl", "".join(f'{{"service": "{node}", "topic": "{topic}"}}\n' for node, topic in ROWS)),
    ],
)
def test_names_of_any_script_are_read_from_every_format(tmp_path, name, content):
    assert pairs(read_workload(written(tmp_path, content, name))) == ROWS


def test_a_parquet_table_of_names_is_a_workload_as_a_file_and_in_a_folder(tmp_path):
    nodes, topics = zip(*sorted(ROWS), strict=True)
    pq.write_table(pa.table({"node": nodes, "topic": topics}), tmp_path / "interests.parquet")
    assert pairs(read_workload(tmp_path)) == pairs(read_workload(tmp_path / "interests.parquet")) == ROWS


def test_ids_are_ranks_by_length_and_bytes_as_in_ingest(tmp_path):
    workload = read_workload(written(tmp_path, "user,topic\n10,x\n9,x\nab,x\nb,x\n"))
    assert workload.names_of_nodes() == ["9", "b", "10", "ab"]


def test_a_workload_with_names_zones_and_roles_is_the_same_after_writing_and_reading(tmp_path):
    text = "service,topic,role,zone\na,x,pub,eu\nb,x,sub,us\nb,y,both,us\n"
    workload = read_workload(written(tmp_path, text))
    write_workload(tmp_path, workload)
    again = read_workload(tmp_path)
    assert pairs(again) == {("a", "x"), ("b", "x"), ("b", "y")}
    assert again.interest.roles.tolist() == workload.interest.roles.tolist() == [2, 1, 3]
    assert numbered_zones(again)[0] == ["eu", "us"]


def test_roles_of_repeated_rows_are_joined_with_a_warning(tmp_path):
    with pytest.warns(InputWarning, match="1 repeated"):
        workload = read_workload(written(tmp_path, "service,topic,role\na,x,sub\na,x,pub\n"))
    assert workload.interest.roles.tolist() == [3]


def test_names_that_differ_only_in_case_stay_apart_with_a_warning(tmp_path):
    with pytest.warns(InputWarning, match="'Billing' and 'billing' differ only in upper and lower case"):
        workload = read_workload(written(tmp_path, "service,topic\nBilling,x\nbilling,x\n"))
    assert workload.names_of_nodes() == ["Billing", "billing"]
    assert alike_names(["caf\u00e9", "cafe\u0301", "tea"]) == [["caf\u00e9", "cafe\u0301"]]


def test_topics_with_a_single_node_each_are_warned_about(tmp_path):
    with pytest.warns(InputWarning, match="no topic has two nodes"):
        read_workload(written(tmp_path, "service,topic\na,x\nb,y\nb,z\n"))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("service\na\nb\n", "has one column"),
        ("service,topic\na,x\nb,x\nc\n", "line 4 has one column"),
        ("service,topic\na,x\nb,x\nc,x,y\n", "line 4 has 3 columns"),
        ("service,topic\na,\n", "line 2: the topic is empty"),
        ("service,topic\na," + "x" * 300 + "\n", "longer than 256 bytes"),
        ("service,topic,role\na,x,owner\n", "role must be follows, publishes or both, got 'owner'"),
        ("service,topic,zone\na,x,eu\na,y,us\n", "'a' is in two zones, 'eu' and 'us'"),
        ("service,topic\n", "has no"),
        (b"service,topic\na,x\n\xff,y\n", "not UTF-8"),
        ('{"service": "a", "topic": "x"}\n{broken\n', "line 2 is not a JSON object"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_with_the_line(tmp_path, text, sentence):
    with pytest.raises(InputError, match=sentence):
        read_workload(written(tmp_path, text))


def test_an_overlay_is_read_by_name_after_the_file_of_names_has_changed(tmp_path):
    before = read_workload(written(tmp_path, "service,topic\nb,x\nc,x\nd,y\ne,y\n"))
    overlay = plan(before).overlay
    write_overlay(tmp_path, overlay, before.node_ids)
    write_names(tmp_path, before)
    after = read_workload(written(tmp_path, "service,topic\na,x\nb,x\nc,x\nd,y\ne,y\n"))
    found = read_overlay(tmp_path, after)
    names = after.names_of_nodes()
    assert [(names[u], names[v]) for u, v in zip(*found.links(), strict=True)] == [("b", "c"), ("d", "e")]
    with pytest.raises(InputError, match="names 'b', which is not in the workload"):
        read_overlay(tmp_path, read_workload(written(tmp_path, "service,topic\nc,x\nd,x\ne,x\n")))


@pytest.mark.parametrize(
    ("zones", "sentence"),
    [
        ("service,zone\na,eu\nb,eu\nghost,mars\n", "no node of the workload is in zone 'mars'"),
        ("service,zone\na,eu\nb,eu\nghost,eu\n", "names 'ghost', which is not in the workload"),
        ("service,zone\na,eu\n", "has no zone for 'b'"),
        ("service,zone\na,eu\na,us\nb,us\n", "'a' has two values"),
    ],
)
def test_zones_must_cover_the_workload_and_nothing_else(tmp_path, zones, sentence):
    workload = read_workload(written(tmp_path, "service,topic\na,x\nb,x\n"))
    with pytest.raises(InputError, match=sentence):
        with_zones(workload, written(tmp_path, zones, "zones.csv"))
