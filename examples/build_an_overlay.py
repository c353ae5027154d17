"""Build an overlay for a generated workload with two systems, and compare their measures."""

import gossamer

workload = gossamer.WorkloadLaw(nodes=1_000, topics=100, subscriptions="10", popularity="rss")
for system in ("spidercast", "cyclon"):
    metrics = gossamer.execute(gossamer.Run(system=system, seed=1, workload=workload)).metrics
    print(
        f"{system}: {metrics['links']:,} links, mean degree {metrics['average_degree']:.1f}, "
        f"{metrics['partitioned_topics']} of {metrics['topics']} topics are disconnected"
    )
