"""An observer of one topic in worlds that differ only in the other topics: everything that it could see, and when."""

import numpy as np

from gossamer.live.transport.numbers import SequenceNumbers
from gossamer.model.arrays.interest import Interest
from gossamer.model.values.draw import below, draw
from gossamer.model.values.shown import Shown, simulated_secret
from gossamer.protocols.contract.events import MessageReceived, Publish
from gossamer.protocols.contract.system import read_parameters
from gossamer.simulator.checkers import all_checkers
from gossamer.simulator.event_population import EventPopulation
from gossamer.simulator.network import ConstantLatency, Network
from gossamer.systems import find_system
from gossamer.systems.stan.messages import Probe, ProbeReply
from gossamer.systems.stan.proofs import PROOF_BYTES, prove, topic_key

SECOND_US = 1_000_000
TOPIC = 2


class Transcript:
    """What the members of TOPIC, all together, receive: every message on it, and probes as far as its key reads them."""

    def __init__(self, members):
        self.rows = []
        self._members = members
        self._key = topic_key(TOPIC, b"")

    def handled(self, at_us, node, event, actions):
        if not isinstance(event, MessageReceived):
            return
        message, sender = event.message, event.sender
        if getattr(message, "topic", None) == TOPIC:
            self.rows.append((at_us, sender, node, message))
        elif isinstance(message, Probe | ProbeReply):
            what = b"probe" if isinstance(message, Probe) else b"reply"
            tags = [message.tags[at : at + PROOF_BYTES] for at in range(0, len(message.tags), PROOF_BYTES)]
            is_readable = prove(self._key, what, sender, node, message.nonce) in tags
            self.rows.append((at_us, sender, node, type(message), message.nonce, len(tags), is_readable))

    def gone(self, at_us, node):
        self.rows.append((at_us, node))


def interest_of(seed, world, nodes, topics):
    """The holders of TOPIC follow from the seed, those of other topics from the world too."""
    rows = [
        (node, topic)
        for node in range(nodes)
        for topic in range(topics)
        if draw(seed if topic == TOPIC else seed + 1_000 * world, node, 1_000_000, topic) % 2
    ]
    owners, held = np.array(rows).reshape(-1, 2).T
    return Interest.from_pairs(owners, held, nodes, topics)


def observe(seed, world, nodes=10, topics=5, seconds=12, dissemination="tree"):
    """The transcript of a run with publications on all topics and a newcomer."""
    system = find_system("stan")
    interest = interest_of(seed, world, nodes, topics)
    members = interest.nodes_of(TOPIC).tolist()
    transcript = Transcript(members)
    population = EventPopulation(
        system,
        read_parameters(system, {"membership": "cyclon"}),
        seed,
        interest,
        Network(ConstantLatency(20_000)),
        (transcript, *all_checkers(dissemination, discloses=False, recovers=True)),
        dissemination=dissemination,
        recovery={},
    )
    # Nobody leaves: two nodes have one connection for all their topics, so that traffic on any of them shows that it is gone.
    newcomer = below(draw(seed, 0, 1_005, 0), nodes)
    population.start_together([node for node in range(nodes) if node != newcomer])
    engine = population.engine
    # As live drivers number messages.
    numbers = [SequenceNumbers(base=Shown(simulated_secret(seed, node)).first_number) for node in range(nodes)]

    def publish(topic, number):
        holders = [node for node in interest.nodes_of(topic).tolist() if node in set(engine.present)]
        if holders:
            node = holders[below(draw(seed, number, 1_001, topic), len(holders))]
            engine.give(node, Publish(topic, b"x", sequence=numbers[node].next(engine.now_us, topic)))

    for number in range(8 * seconds):
        at_us = 2 * SECOND_US + below(draw(seed, number, 1_002, 0), seconds * SECOND_US)
        engine.call_at(at_us, lambda number=number: publish(TOPIC, number))
    for number in range(8 * seconds * world):
        topic = below(draw(seed + world, number, 1_003, 0), topics)
        at_us = 2 * SECOND_US + below(draw(seed + world, number, 1_004, 0), seconds * SECOND_US)
        if topic != TOPIC:
            engine.call_at(at_us, lambda topic=topic, number=number: publish(topic, number))
    engine.call_at(6 * SECOND_US, lambda: population.join(newcomer))
    engine.run((2 + seconds) * SECOND_US)
    return sorted(transcript.rows, key=str)
