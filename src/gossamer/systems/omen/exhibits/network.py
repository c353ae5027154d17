"""Figures 11 and 12, and section 6.5: diameters, messages for each event, and nodes against complete knowledge."""

from collections.abc import Callable, Sequence
from statistics import mean

from gossamer.analysis.exhibits.harness import Claim, Exhibit, Metrics, Point, SeriesValue, curve
from gossamer.systems.omen.exhibits.settings import EVENTS, SEEDS, average, mend, metric, on_nodes

NODES, QUICK_NODES = 1_000, 200
# Chosen: fewer events than the trace has, because nodes exchange all of their messages in virtual time.
NODE_EVENTS, QUICK_EVENTS = 200, 20
RIVAL, OTHER_RIVAL = "SpiderCast (3,1)", "SpiderCast (4,0)"
MEAN_ABOVE, MOST_ABOVE = f"mean diameter above {RIVAL}'s", f"largest diameter above {RIVAL}'s"


def _difference(one: str, other: str) -> Callable[[Metrics], float]:
    return lambda metrics: average(one)(metrics) - average(other)(metrics)


def _diameters(quick: bool) -> list[Point]:
    nodes, events = (QUICK_NODES, 100) if quick else (NODES, EVENTS)
    found = []
    for seed in SEEDS[:1] if quick else SEEDS:
        run = mend("Twitter", seed, nodes, events, ("LowODA-Re", RIVAL), diameters=True)
        for name in ("OMen", "LowODA-Re", RIVAL):
            found.append(Point(f"{name}: mean diameter", float(events), run, average(f"{name} diameter mean")))
        for series, kind in ((MEAN_ABOVE, "mean"), (MOST_ABOVE, "most")):
            measure = _difference(f"OMen diameter {kind}", f"{RIVAL} diameter {kind}")
            found.append(Point(series, float(events), run, measure))
    return found


def _of(kind: bool, name: str) -> Callable[[Metrics], float]:
    """The mean of a metric over joins or over leaves."""

    def measure(metrics: Metrics) -> float:
        pairs = zip(metrics["nodes: is_join"], metrics[f"nodes: {name}"], strict=True)
        return float(mean(value for is_join, value in pairs if bool(is_join) == kind))

    return measure


def _messages(quick: bool) -> list[Point]:
    nodes, events = (QUICK_NODES, QUICK_EVENTS) if quick else (NODES, NODE_EVENTS)
    found = []
    for seed in SEEDS[:1] if quick else SEEDS:
        run = on_nodes("Twitter", seed, nodes, events, (RIVAL, OTHER_RIVAL))
        for series, measure in {
            "OMen: messages for an event": average("nodes: messages"),
            "OMen: messages for a join": _of(True, "messages"),
            "OMen: messages for a leave": _of(False, "messages"),
            "OMen: reports of neighbours": average("nodes: reports"),
            "OMen: gossip of a node in a turn": average("nodes: gossip"),
            f"{RIVAL}: messages for an event": average(f"{RIVAL} messages"),
            f"{OTHER_RIVAL}: messages for an event": average(f"{OTHER_RIVAL} messages"),
            "OMen: nodes touched by an event (%)": average("nodes: touched_percent"),
            "OMen: time until the links of a leave are up (ms)": _of(False, "repair_ms"),
        }.items():
            found.append(Point(series, float(nodes), run, measure))
    return found


def _most_over_complete(metrics: Metrics) -> float:
    return average("nodes: most")(metrics) / average("OMen most")(metrics)


def _against_complete(quick: bool) -> list[Point]:
    nodes, events = (QUICK_NODES, QUICK_EVENTS) if quick else (NODES, NODE_EVENTS)
    found = []
    for seed in SEEDS[:1] if quick else SEEDS:
        run = on_nodes("ego-facebook", seed, nodes, events)
        found.append(Point("maximum degree over OMen-G's", float(nodes), run, _most_over_complete))
        above = _difference("nodes: mean", "OMen mean")
        found.append(Point("average degree above OMen-G's", float(nodes), run, above))
        found.append(
            Point("topics disconnected after the last event", float(nodes), run, lambda m: m["nodes: parted"][-1])
        )
        found.append(Point("OMen-G: parted topics", float(nodes), run, metric("parted_topics")))
    return found


def _at(values: Sequence[SeriesValue], series: str, x: float = NODES) -> float | None:
    found = [value.measured for value in curve(values, series) if value.x == x]
    return found[0] if found else None


def _bounded(series: str, most: float) -> Callable[[Sequence[SeriesValue]], bool | None]:
    def holds(values: Sequence[SeriesValue]) -> bool | None:
        found = _at(values, series)
        return None if found is None else found <= most

    return holds


def _sends_less(values: Sequence[SeriesValue]) -> bool | None:
    ours, theirs = _at(values, "OMen: messages for an event"), _at(values, f"{RIVAL}: messages for an event")
    return None if ours is None or theirs is None else ours < theirs


def _leaves_cost_more(values: Sequence[SeriesValue]) -> bool | None:
    leaves, joins = _at(values, "OMen: messages for a leave"), _at(values, "OMen: messages for a join")
    return None if leaves is None or joins is None else leaves > joins


def _is_connected(values: Sequence[SeriesValue]) -> bool:
    return all(value.measured == 0 for value in values if value.series.startswith("topics disconnected"))


def _lies_between(values: Sequence[SeriesValue]) -> bool:
    rival, ours, anew = (
        [value.measured for value in curve(values, f"{name}: mean diameter")] for name in (RIVAL, "OMen", "LowODA-Re")
    )
    return all(low <= middle <= high for low, middle, high in zip(rival, ours, anew, strict=True))


EXHIBITS = (
    Exhibit(
        name="omen/fig11",
        title="Topic diameters, mean over the trace (followers, 1,000 nodes)",
        x_label="churn events",
        y_label="links",
        points=_diameters,
        left_out="1,000 nodes (200 instead), 2,000 events (100), seeds 2 to 5",
        tolerance=0.25,
        claims=(Claim("OMen's diameters lie between those of SpiderCast and of LowODA-Re", _lies_between),),
    ),
    Exhibit(
        name="omen/fig12",
        title="Messages for each churn event, beyond gossip (followers, 1,000 nodes)",
        x_label="nodes",
        y_label="messages; percent; ms",
        points=_messages,
        left_out="1,000 nodes (200 instead), events after 20, seeds 2 to 5",
        claims=(
            Claim("OMen sends fewer messages for an event than SpiderCast (3,1)", _sends_less),
            Claim("at most 10 messages for an event", _bounded("OMen: messages for an event", 10)),
            Claim("at most 5% of the nodes are touched", _bounded("OMen: nodes touched by an event (%)", 5)),
            Claim("leaves need more messages than joins", _leaves_cost_more),
        ),
    ),
    Exhibit(
        name="omen/nodes",
        title="Nodes that know a part against complete knowledge (friends, 1,000 nodes)",
        x_label="nodes",
        y_label="ratio; links",
        points=_against_complete,
        left_out="1,000 nodes (200 instead), events after 20, seeds 2 to 5",
        claims=(
            Claim("at most 1.04 times OMen-G's maximum degree", _bounded("maximum degree over OMen-G's", 1.04)),
            Claim("at most 0.76 links more on average", _bounded("average degree above OMen-G's", 0.76)),
            Claim("every topic is connected after the last event", _is_connected),
        ),
    ),
)
