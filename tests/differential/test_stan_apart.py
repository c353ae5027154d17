"""The behaviour of a node in a topic does not depend on the other topics that it follows."""

import numpy as np
import pytest

from gossamer.model.arrays.interest import Interest
from gossamer.model.values.draw import draw
from gossamer.protocols.contract.events import MessageReceived
from gossamer.protocols.contract.system import read_parameters
from gossamer.simulator.checkers import all_checkers
from gossamer.simulator.event_population import EventPopulation
from gossamer.simulator.links import ViewBook
from gossamer.simulator.network import ConstantLatency, Network
from gossamer.simulator.population import CycleChanges
from gossamer.systems import find_system
from gossamer.systems.stan import view as stan_view
from gossamer.systems.stan.parameters import StanParameters
from gossamer.systems.stan.population import StanPopulation

NODES, TOPICS, TOPIC = 40, 6, 2
SECOND_US = 1_000_000


def interest_of(others: int) -> Interest:
    """An interest with fixed holders of TOPIC; the holders of other topics depend on `others`."""
    rows = [
        (node, topic)
        for node in range(NODES)
        for topic in range(TOPICS)
        if draw(0 if topic == TOPIC else others, node, 1_000_000, topic) % 2
    ]
    columns = np.array(rows)
    return Interest.from_pairs(columns[:, 0], columns[:, 1], NODES, TOPICS)


class TopicLog:
    """All messages of one topic: time, sender, receiver and content."""

    def __init__(self):
        self.rows = []

    def handled(self, at_us, node, event, actions):
        if isinstance(event, MessageReceived) and getattr(event.message, "topic", None) == TOPIC:
            self.rows.append((at_us, event.sender, node, event.message))

    def gone(self, at_us, node):
        self.rows.append((at_us, node))


def simulated(others: int, **settings):
    """(messages of the topic, its views at the end) of a simulation with joins, leaves and crashes."""
    system = find_system("stan")
    log, views = TopicLog(), ViewBook()
    population = EventPopulation(
        system,
        read_parameters(system, settings),
        1,
        interest_of(others),
        Network(ConstantLatency(20_000)),
        (log, views, *all_checkers(discloses=False)),
    )
    population.start_together(range(5, NODES))
    for number in range(5):
        population.engine.call_at((2 + number) * SECOND_US, lambda node=number: population.join(node))
        population.engine.call_at((3 + number) * SECOND_US, lambda node=number + 10: population.crash(node))
        population.engine.call_at((4 + number) * SECOND_US, lambda node=number + 20: population.leave(node))
    population.engine.run(20 * SECOND_US)
    last = views.views()
    return sorted(log.rows, key=str), sorted(
        zip(*(column[last.topics == TOPIC].tolist() for column in (last.nodes, last.peers)), strict=True)
    )


@pytest.mark.parametrize("weighs", [True, False])
def test_the_messages_of_a_topic_do_not_depend_on_other_topics(weighs):
    said, views = simulated(1, weigh_sources=weighs)
    assert len(said) > 1_000
    assert len(views) > 20
    for others in (2, 3):
        again, views_again = simulated(others, weigh_sources=weighs)
        assert again == said
        assert views_again == views


def test_a_machine_whose_draws_depend_on_other_topics_is_caught(monkeypatch):
    """With one seed for all topics they are still independent; with a counter of earlier draws they are not."""
    said, _ = simulated(1)
    asked = []

    def in_order(seed, topic):
        asked.append(topic)
        return draw(seed, 0, 70, len(asked))

    monkeypatch.setattr("gossamer.systems.stan.machine.topic_seed", in_order)
    assert simulated(1)[0] != said


def test_topics_are_independent_in_the_kernel_too():
    def views(others):
        population = StanPopulation(StanParameters(), 1, interest_of(others), absent=(0, 1, 2))
        for cycle in range(12):
            population.cycle(
                CycleChanges(joiners=(0, 1)) if cycle == 4 else CycleChanges(crashes=(7,)) if cycle == 6 else None
            )
        topic = population.topics[TOPIC]
        return topic.members.tolist(), topic.peers[:, :3].tolist(), topic.sizes.tolist()

    assert views(1) == views(2) == views(3)


def test_weights_are_the_same_in_all_topics_and_other_draws_are_not():
    assert stan_view.topic_seed(1, 4) != stan_view.topic_seed(1, 5)
    assert stan_view.weight_key(1, 4) != stan_view.weight_key(1, 5)
