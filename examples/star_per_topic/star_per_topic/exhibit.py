"""One exhibit: a star connects every topic."""

from gossamer import plugin


def _points(quick: bool) -> list[plugin.Point]:
    laws = [plugin.WorkloadLaw(nodes=nodes, topics=10, subscriptions="3", popularity="rss") for nodes in (50, 200)]
    runs = [plugin.Run(system="star-per-topic", seed=1, workload=law) for law in (laws[:1] if quick else laws)]
    return [plugin.Point("star", law.nodes, run) for law, run in zip(laws, runs, strict=False)]


EXHIBITS = (
    plugin.Exhibit(
        name="star-per-topic/connected",
        title="Disconnected topics of a star per topic",
        x_label="nodes",
        y_label="disconnected topics",
        measure=lambda metrics: float(metrics["partitioned_topics"]),
        points=_points,
        left_out="200 nodes",
    ),
)
