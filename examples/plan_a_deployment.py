"""Plan an overlay centrally: few links, no topic longer than eight hops, and how far from the best that is."""

from gossamer.planners.plan import PlanRequest, make_plan
from gossamer.workloads.interests import make_interests

interest = make_interests(node_count=500, topic_count=60, subscriptions="10", law="rss", seed=1)
for name, wanted in {
    "fewest links": PlanRequest(objective="average"),
    "even degrees": PlanRequest(objective="balanced", rho=3),
    "short topics": PlanRequest(objective="balanced", diameter=8),
    "survives a loss": PlanRequest(redundancy=2),
}.items():
    planned = make_plan(interest, wanted)
    links, most = planned.overlay.link_count, planned.overlay.degrees.max()
    print(f"{name}: {links} links (at least {planned.bounds.links}), at most {most} a node")
