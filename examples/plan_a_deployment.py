"""Plan an overlay centrally with four requests, and compare each plan with its lower bound on links."""

from gossamer import PlanRequest, make_workload, plan

workload = make_workload(nodes=500, topics=60, subscriptions=10, popularity="rss", seed=1)
for name, request in {
    "fewest links": PlanRequest(objective="average"),
    "even degrees": PlanRequest(objective="balanced", rho=3),
    "short topics": PlanRequest(objective="balanced", diameter=8),
    "survives a loss": PlanRequest(redundancy=2),
}.items():
    planned = plan(workload, request)
    links, most = planned.overlay.link_count, planned.overlay.degrees.max()
    print(f"{name}: {links} links (at least {planned.bounds.links}), at most {most} a node")
