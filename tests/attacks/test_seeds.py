"""A node that sees nonces and walk names, knows when they were made and can invert `draw`."""

from gossamer.model.values.draw import Purpose, draw, stepped
from gossamer.model.values.ids import Role
from gossamer.protocols.contract.actions import Send
from gossamer.protocols.contract.events import Started, Subscribe, TimerFired
from gossamer.protocols.contract.messages import Peer
from gossamer.systems import find_system, make_machine
from gossamer.systems.stan.messages import Collect, Probe, ProbeDue, WalkDue
from gossamer.systems.stan.parameters import StanParameters
from tests.attacks.inversion import seeds_behind

PEERS = tuple(Peer(node) for node in range(10, 20))
NOW_US = 5_000_000


def shown_numbers(seed, node, secret):
    """What others see of one node: (number, counters from which it may have been drawn)."""
    machine = make_machine(find_system("stan"), StanParameters(membership="cyclon"), seed, node)
    machine.handle(Started(PEERS, joining=False, secret=secret), 0)
    machine.handle(Subscribe(4, Role.FOLLOWS, PEERS[:3], joining=False), 0)
    for timer in (ProbeDue(), WalkDue()):
        for action in machine.handle(TimerFired(timer), NOW_US):
            if isinstance(action, Send) and isinstance(action.message, Probe):
                yield action.message.nonce, [stepped(NOW_US, step) for step in range(4)]
            elif isinstance(action, Send) and isinstance(action.message, Collect):
                yield action.message.walk, [NOW_US, 0]


def test_the_attacker_finds_the_seed_behind_a_draw():
    seed, counter = 123_456_789, stepped(NOW_US, 2)
    assert seed in seeds_behind(draw(seed, 7, Purpose.STAN_PROBE, counter, 1), 7, [counter])


def test_nothing_that_a_node_shows_leads_to_its_seeds_in_a_thousand_trials():
    for trial in range(1_000):
        seed, node = draw(1, trial, 1, 0), 100 + trial
        # Simulated and live nodes alike.
        secret = b"" if trial % 2 else trial.to_bytes(32, "big")
        machine = make_machine(find_system("stan"), StanParameters(membership="cyclon"), seed, node)
        machine.handle(Started(PEERS, joining=False, secret=secret), 0)
        prober, stan = machine._parts[1], machine._parts[2]
        seeds = {seed, prober._seed, stan._seed, stan._weights, stan._topic_seed(4)}
        numbers = list(shown_numbers(seed, node, secret))
        assert len(numbers) == 3
        for number, counters in numbers:
            assert not seeds & seeds_behind(number, node, counters, items=(0, 1, 4, node))


def test_draws_in_one_topic_tell_nothing_about_the_draws_in_another():
    """With a secret, the seed of a topic does not lead to the seed from which all topics are drawn."""
    machine = make_machine(find_system("stan"), StanParameters(membership="cyclon"), 9, 1)
    machine.handle(Started(PEERS, joining=False, secret=b"s" * 32), 0)
    stan = machine._parts[2]
    assert stan._seed not in seeds_behind(stan._topic_seed(4), 0, [0], items=(4,))
    simulated = make_machine(find_system("stan"), StanParameters(membership="cyclon"), 9, 1)._parts[2]
    assert simulated._seed in seeds_behind(simulated._topic_seed(4), 0, [0], items=(4,))
