"""`gossamer deploy`: a folder for each node of a plan, and one sentence for a file of hosts that does not fit."""

import json
import tomllib

import pytest

from gossamer.live.operations.deployment import safe_name
from gossamer.live.operations.settings import node_settings, read_settings_file
from gossamer.live.security.keys import show

PLAN = {
    "支付/1": {"topics": ["заказы", "prices"], "publishes": ["prices"], "peers": ["orders"]},
    "orders": {"topics": ["заказы", "prices"], "peers": ["支付/1"]},
}
HOSTS = "service,host\n支付/1,pay.example\norders,127.0.0.1:7500\n"


@pytest.fixture
def plan(tmp_path):
    (tmp_path / "plan").mkdir()
    (tmp_path / "plan" / "peers.json").write_text(json.dumps(PLAN))
    return tmp_path


def test_a_deployment_has_settings_keys_peers_and_a_unit_for_each_node(gossamer, plan):
    (plan / "hosts.csv").write_text(HOSTS)
    code, out, error = gossamer("deploy", "plan", "d", "--hosts", "hosts.csv", "--json")
    assert code == 0, error
    rows = {row["node"]: row for row in json.loads(out)["nodes"]}
    assert rows["支付/1"]["address"] == "pay.example:7400"
    folder = plan / "d" / rows["支付/1"]["folder"]
    settings = tomllib.loads((folder / "node.toml").read_text())
    assert (settings["name"], settings["listen"]) == ("支付/1", "0.0.0.0:7400")
    assert (settings["follow"], settings["publish"]) == (["заказы"], ["prices"])
    assert settings["addresses"] == {"orders": "127.0.0.1:7500"}
    assert show(folder / "keys").name == safe_name("支付/1") == folder.name
    assert f"{folder.name}/node.toml" in (folder / f"gossamer-{folder.name}.service").read_text()
    # A node can be made from its folder alone.
    found = node_settings(read_settings_file(folder / "node.toml"), "node.toml")
    assert found.node().hex_id == show(folder / "keys").id
    assert found.topics() == (("заказы",), ("prices",))


@pytest.mark.parametrize(
    ("hosts", "sentence"),
    [
        ("service,host\norders,a\n", "has no host for '支付/1'"),
        (HOSTS + "ghost,b\n", "names 'ghost', which is not in the plan"),
        ("service,host\n支付/1,a:7400\norders,a:7400\n", "the same address, a:7400"),
        ("service,host\n支付/1,a:0x1\norders,b\n", "must be HOST:PORT"),
    ],
)
def test_hosts_that_do_not_fit_the_plan_are_refused_in_one_sentence(gossamer, plan, hosts, sentence):
    (plan / "hosts.csv").write_text(hosts)
    code, _, error = gossamer("deploy", "plan", "d", "--hosts", "hosts.csv")
    assert code == 2
    assert sentence in error
    assert not (plan / "d").exists()


def test_nodes_of_one_host_get_ports_of_their_own(gossamer, plan):
    (plan / "hosts.csv").write_text("service,host\n支付/1,one.example\norders,one.example\n")
    code, out, error = gossamer("deploy", "plan", "d", "--hosts", "hosts.csv", "--json")
    assert code == 0, error
    assert [row["address"] for row in json.loads(out)["nodes"]] == ["one.example:7400", "one.example:7401"]


def test_names_for_files_differ_where_names_differ():
    names = ["a b", "a/b", "a-b", "支付", "订单", "-", "x" * 70]
    assert len({safe_name(name) for name in names}) == len(names)
    assert safe_name("a-b") == "a-b"
