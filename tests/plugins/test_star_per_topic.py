"""A complete system outside this repository is found, built, simulated, studied, run live and reproduced."""

import json

NAME = "star-per-topic"
WORKLOAD = ["--nodes", "60", "--topics", "8", "--subscriptions", "3", "--popularity", "rss", "--seed", "1"]


def test_the_list_of_systems_names_it_with_its_parameters_and_live_name(gossamer):
    found = {system["name"]: system for system in json.loads(gossamer("systems", "--json"))}
    assert [parameter["name"] for parameter in found[NAME]["parameters"]] == ["period_us", "membership"]
    assert found[NAME]["live"] == [NAME]
    assert found[NAME]["disseminations"] == ["flood", "tree", "gossip", "push-pull"]


def test_it_is_built_checked_and_simulated_with_every_checker(gossamer):
    gossamer("workload", "make", "w", *WORKLOAD)
    built = json.loads(gossamer("build", NAME, "w", "built", "--seed", 1, "--json"))
    assert (built["partitioned_topics"], built["stopped_by"]) == (0, "rest")
    assert json.loads(gossamer("check", "built", "w", "--json"))["links"] == built["links"]
    flags = (
        "--seed 1 --dissemination tree --recovery --events 20 --latency uniform:5-50ms --loss 0.01 --until 30s --record"
    )
    simulated = json.loads(gossamer("simulate", NAME, "w", "simulated", *flags.split(), "--json"))
    assert (simulated["partitioned_topics"], simulated["delivery_ratio"]) == (0, 1.0)
    assert "every action is the same" in gossamer("replay", "simulated/record.bin")


LOCKSTEP = """
from gossamer import plugin
from gossamer.systems import find_system, load
from gossamer.workloads.interests import make_interests

system = find_system("star-per-topic")
parameters = plugin.read_parameters(system, {})
for seed in range(64):
    interest = make_interests(40, 6, "2", "rss", seed)
    machines = plugin.Lockstep(system, parameters, seed, 40, 0, interest)
    machines.start()
    kernel = load(system.population)(parameters, seed, interest, (), 0)
    for cycle in range(8):
        node = plugin.below(plugin.draw(seed, 0, 1, 0), 40)
        changes = {2: plugin.CycleChanges(leavers=(node,)), 3: plugin.CycleChanges(crashes=((node + 1) % 40,))}.get(cycle)
        if cycle == 6:
            gone = [each for each in range(40) if each not in machines.machines]
            changes = plugin.CycleChanges(joiners=tuple(gone))
        machines.cycle(changes)
        kernel.cycle(changes)
        same_links = machines.links.overlay(40).links(), kernel.overlay().links()
        assert all((ours == theirs).all() for ours, theirs in zip(*same_links)), f"links differ: seed {seed}, {cycle}"
        assert dict(machines.messages) == kernel.messages(), f"messages differ: seed {seed}, cycle {cycle}"
print("equal")
"""


def test_its_kernel_equals_its_machine_link_by_link_under_churn(python, star):
    done = python("-c", LOCKSTEP, path=(star,))
    assert done.stdout == "equal\n", done.stderr


LIVE = """
import asyncio
import gossamer

async def main():
    async with gossamer.Node(system="star-per-topic") as one:
        async with gossamer.Node(join=[one.address], system="star-per-topic") as other, other.subscribe("t") as messages:
            async with one.publisher("t") as publisher:
                await one.ready("t")
                await publisher.publish(b"over sockets")
            print((await anext(messages)).payload.decode())

asyncio.run(asyncio.wait_for(main(), 60))
"""


def test_live_nodes_that_run_it_exchange_a_message_over_sockets(python, star):
    done = python("-c", LIVE, path=(star,))
    assert done.stdout == "over sockets\n", done.stderr


def test_its_exhibit_is_reproduced_and_compared_with_its_published_values(gossamer):
    assert f"{NAME}/connected" in gossamer("reproduce")
    (verdict,) = json.loads(gossamer("reproduce", NAME, "--quick", "--json"))
    assert verdict["verdict"] == "met"
    assert [value["published"] for value in verdict["values"]] == [0.0]


STUDY = """
users = 2000
machines = 100
nodes = 100
sample_seeds = 1
seeds = [1]
churn_nodes = 30
churn_minutes = 1
churn_events = 5
churn_systems = []

[[systems]]
system = "star-per-topic"
"""


def test_a_study_on_spark_runs_it_and_reports_it(gossamer, tmp_path):
    (tmp_path / "study.toml").write_text(STUDY)
    gossamer("study", "study.toml", "--out", "study")
    assert NAME in (tmp_path / "study" / "report.html").read_text()
