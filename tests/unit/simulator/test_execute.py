"""`execute`: watchers of the caller, and runs that are refused."""

from collections import Counter

import pytest

from gossamer.model.values.errors import InputError
from gossamer.model.values.run import Run, WorkloadLaw
from gossamer.model.values.time import SECOND_US
from gossamer.simulator.execute import execute

SMALL = WorkloadLaw(nodes=20, topics=3, subscriptions="2", popularity="rss")


class EventCounter:
    """A watcher that counts the events of each kind, and the nodes that are gone."""

    def __init__(self):
        self.events = Counter()
        self.gone_nodes = []

    def handled(self, at_us, node, event, actions):
        self.events[type(event).__name__] += 1

    def gone(self, at_us, node):
        self.gone_nodes.append(node)


def test_a_watcher_sees_every_event_of_a_simulation_and_changes_nothing():
    run = Run(system="spidercast", seed=1, workload=SMALL, engine="event", until_us=5 * SECOND_US)
    counter = EventCounter()
    watched, alone = execute(run, watchers=[counter]), execute(run)
    assert counter.events["Started"] == 20
    assert counter.events.total() == watched.metrics["handled_events"]
    assert watched.metrics == alone.metrics


def test_a_watcher_sees_the_events_of_a_build_with_machines():
    counter = EventCounter()
    execute(Run(system="random", seed=1, workload=SMALL, engine="event", cycle_limit=2), watchers=[counter])
    assert counter.events["Started"] == 20
    assert counter.gone_nodes == []


@pytest.mark.parametrize("until_us", [None, SECOND_US])
def test_a_watcher_is_refused_where_no_machine_runs(until_us):
    run = Run(
        system="random", seed=1, workload=SMALL, until_us=until_us, churn="exp:300s/exp:75s" if until_us else None
    )
    with pytest.raises(InputError, match=r"watchers see the events of machines.*use engine='event'"):
        execute(run, watchers=[EventCounter()])


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"loss": 0.1}, "need an end: set `until_us`"),
        ({"engine": "event", "until_us": SECOND_US, "event_count": 5}, "5 messages need a dissemination"),
    ],
)
def test_a_run_that_lacks_a_field_is_refused_by_its_name(settings, sentence):
    with pytest.raises(InputError, match=sentence):
        execute(Run(system="random", seed=1, workload=SMALL, **settings))
