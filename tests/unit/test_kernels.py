"""Set-up compiles every kernel, with only the signatures that the rooms use."""

import subprocess
import sys

# In a separate interpreter, because other tests in this process call kernels with other types.
CODE = """
import numpy as np
from gossamer.systems.__main__ import warm_ups
from gossamer.kernels.jit import COMPILED
from gossamer.protocols.contract.system import load
for warm_up in warm_ups():
    load(warm_up)()
many = [k.py_func.__qualname__ for k in COMPILED if len(k.signatures) > 2]
assert not many, f"too many signatures: {many}"
before = {k: list(k.signatures) for k in COMPILED}
from gossamer.workloads.interests import make_interests, make_grid_interests
from gossamer.model.values.run import GridLaw
from gossamer.workloads.social import SocialLaw, make_social_graph
from gossamer.simulator.measure import measure_topics, summarise, top_intersection, interest_correlation
from gossamer.systems import all_systems
from gossamer.protocols.contract.system import read_parameters
interest = make_interests(30, 6, "2", "rss", 1)
make_grid_interests(GridLaw(nodes=30, topics=6), 1)
make_social_graph(100, SocialLaw(mean_degree=4), True, 1)
for system in all_systems().values():
    if system.population is not None:
        settings = system.study[0].parameters if system.study else {}
        population = load(system.population)(read_parameters(system, settings), 1, interest, (), 0)
        population.cycle()
        overlay = population.overlay()
from gossamer.planners.plan import PlanRequest, plan
from gossamer.model.tables.workload import Workload
workload = Workload.from_interest(interest)
for wanted in (
    {"objective": "average", "improve": True},
    {"diameter": 3},
    {"diameter": 1},
    {"redundancy": 2},
    {"degree_budget": 3},
    {"parts": 3},
):
    plan(workload, PlanRequest(**wanted))
plan(workload, PlanRequest(), overlay)
from gossamer.planners.rounds import count_needs, link_part
rows = interest.node_topics.astype(np.int64), interest.owners.astype(np.int64)
link_part(*rows, rows[1])
count_needs(rows[0], interest.sizes[rows[1]], np.arange(len(rows[0]) + 1), rows[0], np.ones(len(rows[0]), np.bool_))
summarise(overlay, interest, measure_topics(overlay, interest))
from gossamer.systems.gossip.wiring import unstructured
from gossamer.systems.gossip.machine import GossipParameters
from gossamer.systems.gossip.population import gossip_events
unstructured("scale-free:2:1", 16, 1)
gossip_events(unstructured("poisson:4", 30, 1), interest, GossipParameters(), 1, 5)
from gossamer.systems.push_pull.parameters import PushPullParameters
from gossamer.systems.push_pull.population import SpreadByRounds, push_pull_events
push_pull_events(overlay, interest, PushPullParameters(), 1, 5)
spread = SpreadByRounds(PushPullParameters(), 1, 30, 0, int(interest.nodes_of(0)[0]), len(interest.nodes_of(0)))
holds = (interest.popularity >= 0)[np.zeros(30, int)]
spread.publish(overlay, holds)
spread.round(overlay, holds)
top_intersection(interest, 3)
interest_correlation(interest, 0.95)
for kernel in COMPILED:
    assert list(kernel.signatures) == before[kernel], f"{kernel.py_func.__name__} was compiled again for {kernel.signatures}"
"""


def test_set_up_compiles_every_kernel_with_the_types_that_commands_use():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
