"""Make a workload, let Cyclon build an overlay for it, and measure what came out."""

from gossamer.protocols.contract.system import read_parameters
from gossamer.simulator.measure import measure_topics, summarise
from gossamer.systems import find_system
from gossamer.workloads.interests import make_interests

interest = make_interests(node_count=2_000, topic_count=100, subscriptions="10", law="rss", seed=1)
cyclon = find_system("cyclon")
population = cyclon.population(read_parameters(cyclon.system, {"view_size": 20}), 1, interest, (), 0)
for _ in range(30):
    population.cycle()

overlay = population.overlay()
figures = summarise(overlay, interest, measure_topics(overlay, interest))
print(f"{figures['links']:,} links, mean degree {figures['average_degree']:.1f}")
print(f"{figures['partitioned_topics']} of {figures['topics']} topics are parted: Cyclon does not look at interests")
