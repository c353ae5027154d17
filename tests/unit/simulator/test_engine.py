"""The event engine: delivery, timers, connections, faults."""

import pytest

from gossamer.model.values.errors import MachineMisuse
from gossamer.protocols.contract.actions import (
    Connect,
    Disconnect,
    Send,
    SetTimer,
)
from gossamer.protocols.contract.events import (
    MessageReceived,
    PeerDown,
    PeerUp,
    Publish,
    Started,
    Stopping,
    Subscribe,
    TimerFired,
)
from gossamer.protocols.contract.messages import Data, Peer, Timer
from gossamer.simulator.engine import EventEngine
from gossamer.simulator.network import ConstantLatency, Network, Partition, UniformLatency


class Tick(Timer, frozen=True, array_like=True, tag="tick"):
    number: int = 0


class Scripted:
    """A machine that answers each event as its script says, and logs every event."""

    def __init__(self, log, node, script):
        self.log, self.node, self.script = log, node, script

    def handle(self, event, now_us):
        self.log.append((now_us, self.node, event))
        return self.script(self.node, event, now_us)


def run(script, network=None, nodes=3, until_us=1_000_000, during=(), seed=1):
    log = []
    engine = EventEngine(lambda node: Scripted(log, node, script), network or Network(ConstantLatency(10)), seed)
    for node in range(nodes):
        engine.start(node, Started())
    for at_us, call in during:
        engine.call_at(at_us, lambda call=call: call(engine))
    engine.run(until_us)
    return engine, log


def told(log, kind):
    return [(at_us, node, event) for at_us, node, event in log if isinstance(event, kind)]


DATA = Data(0, 0, 1, 0, 0, b"x")


def test_a_message_arrives_at_each_receiver_after_the_latency():
    def script(node, event, now_us):
        return (Send((1, 2), DATA),) if node == 0 and isinstance(event, Started) else ()

    _, log = run(script)
    assert told(log, MessageReceived) == [(10, 1, MessageReceived(0, DATA)), (10, 2, MessageReceived(0, DATA))]


def test_a_message_to_an_absent_node_is_lost_and_counted():
    engine, log = run(lambda node, event, now_us: (Send((7,), DATA),) if isinstance(event, Started) else ())
    assert told(log, MessageReceived) == []
    assert engine.lost_count == 3


def test_a_timer_fires_at_its_time_and_one_for_the_past_fires_now():
    def script(node, event, now_us):
        if isinstance(event, Started) and node == 0:
            return (SetTimer(500, Tick(1)), SetTimer(200, Tick(2)))
        if event == TimerFired(Tick(1)):
            return (SetTimer(100, Tick(3)),)
        return ()

    _, log = run(script)
    assert [(at_us, event.timer.number) for at_us, _, event in told(log, TimerFired)] == [(200, 2), (500, 1), (500, 3)]


def test_a_timer_of_a_crashed_machine_does_not_fire_at_its_replacement():
    def script(node, event, now_us):
        return (SetTimer(now_us + 1_000, Tick(now_us)),) if isinstance(event, Started) else ()

    during = [(400, lambda engine: engine.crash(1)), (600, lambda engine: engine.start(1, Started()))]
    _, log = run(script, during=during)
    assert [(at_us, event.timer.number) for at_us, node, event in told(log, TimerFired) if node == 1] == [(1_600, 600)]


def test_messages_of_a_leaving_node_are_sent_and_those_of_a_crashed_node_are_not():
    def script(node, event, now_us):
        return (Send((0,), DATA),) if isinstance(event, Stopping) else ()

    _, log = run(script, during=[(100, lambda engine: engine.stop(1)), (200, lambda engine: engine.crash(2))])
    assert [at_us for at_us, _, _ in told(log, MessageReceived)] == [110]


def test_both_ends_learn_of_a_connection_and_of_its_end():
    def script(node, event, now_us):
        if node == 0 and isinstance(event, Started):
            return (Connect(Peer(1)), Connect(Peer(9)), SetTimer(500, Tick()))
        return (Disconnect(1),) if isinstance(event, TimerFired) else ()

    _, log = run(script)
    assert told(log, PeerUp) == [(10, 0, PeerUp(1)), (10, 1, PeerUp(0))]
    assert told(log, PeerDown) == [(10, 0, PeerDown(9)), (510, 1, PeerDown(0, hung_up=True))]


def test_a_crash_breaks_kept_connections():
    def script(node, event, now_us):
        return (Connect(Peer(2)),) if node < 2 and isinstance(event, Started) else ()

    _, log = run(script, during=[(300, lambda engine: engine.crash(2))])
    assert sorted(told(log, PeerDown), key=lambda row: row[1]) == [(310, 0, PeerDown(2)), (310, 1, PeerDown(2))]


def test_a_partition_stops_messages_between_its_sides_while_it_lasts():
    def script(node, event, now_us):
        return (Send(tuple(other for other in range(3) if other != node), DATA),) if isinstance(event, Publish) else ()

    network = Network(ConstantLatency(10), partitions=(Partition(100, 200, frozenset({0})),))
    during = [(at_us, lambda engine: engine.give(0, Publish(0, b""))) for at_us in (50, 150, 250)]
    during.append((160, lambda engine: engine.give(1, Publish(0, b""))))
    engine, log = run(script, network, during=during)
    assert [(at_us, node) for at_us, node, _ in told(log, MessageReceived)] == [
        (60, 1),
        (60, 2),
        (170, 2),
        (260, 1),
        (260, 2),
    ]
    assert engine.lost_count == 3


def test_loss_drops_the_given_share_and_uniform_latency_stays_within_its_bounds():
    def script(node, event, now_us):
        return (Send((1,) * 50, DATA), *[Send((2,), DATA)] * 50) if node == 0 and isinstance(event, Publish) else ()

    network = Network(UniformLatency(1_000, 2_000), loss=0.2)
    during = [(at_us, lambda engine: engine.give(0, Publish(0, b""))) for at_us in range(0, 400_000, 10_000)]
    _, log = run(script, network, during=during)
    delays = [at_us % 10_000 for at_us, node, _ in told(log, MessageReceived) if node == 2]
    assert min(delays) >= 1_000
    assert max(delays) <= 2_000
    assert sum(delays) / len(delays) == pytest.approx(1_500, rel=0.02)
    assert len(delays) / 2_000 == pytest.approx(0.8, abs=0.03)


def test_the_same_seed_gives_the_same_run_and_another_gives_another():
    def script(node, event, now_us):
        if isinstance(event, (Started, MessageReceived)) and now_us < 100_000:
            return (Send(tuple(other for other in range(3) if other != node), DATA),)
        return ()

    network = Network(UniformLatency(1_000, 50_000), loss=0.3)
    first, second, other = (run(script, network, seed=seed)[1] for seed in (5, 5, 6))
    assert first == second
    assert first != other


def test_running_in_steps_gives_the_same_events_as_running_at_once():
    def script(node, event, now_us):
        if isinstance(event, (Started, MessageReceived)):
            return (Send(((node + 1) % 3,), DATA), SetTimer(now_us + 777, Tick()))
        return ()

    network = Network(UniformLatency(100, 90_000))
    _, whole = run(script, network, until_us=600_000)
    log = []
    engine = EventEngine(lambda node: Scripted(log, node, script), network, 1)
    for node in range(3):
        engine.start(node, Started())
    for until_us in range(0, 600_001, 6_000):
        engine.run(until_us)
    assert log == whole


def test_starting_a_running_node_or_stopping_an_absent_one_is_refused():
    engine, _ = run(lambda *_: ())
    with pytest.raises(MachineMisuse, match="started while it was up"):
        engine.start(0, Started())
    engine.crash(0)
    with pytest.raises(MachineMisuse, match="stopped while it was not up"):
        engine.crash(0)


def test_events_from_the_application_reach_the_machine_at_once():
    engine, log = run(lambda *_: ())
    engine.give(1, Subscribe(4, 1))
    assert log[-1] == (1_000_000, 1, Subscribe(4, 1))


def slow_run(costs, until_us=1_000_000):
    """Node 0 is slow from 100 us on (`costs`: when, and how long it takes for an event); ten messages reach it at 110 us."""

    def script(node, event, now_us):
        if isinstance(event, Started) and node == 0:
            return (SetTimer(115, Tick()),)
        if isinstance(event, Subscribe):
            return (Send((0,), DATA),)
        return ()

    def slow_down(engine, event_us):
        engine.slow_down(0, event_us)

    during = [(at_us, lambda engine, event_us=event_us: slow_down(engine, event_us)) for at_us, event_us in costs]
    during += [(100, lambda engine: engine.give(1, Subscribe(4, 1)))] * 10
    return run(script, during=during, until_us=until_us)


def test_a_slow_process_handles_messages_and_timers_in_order_one_after_another():
    _, log = slow_run([(0, 50)])
    handled = [(at_us, type(event)) for at_us, node, event in log if node == 0][1:]
    assert handled == [(110 + 50 * n, MessageReceived) for n in range(10)] + [(610, TimerFired)]


def test_a_slow_process_that_is_fast_again_soon_catches_up():
    _, log = slow_run([(0, 50), (200, 1)])
    assert [at_us for at_us, node, _ in log if node == 0][1:] == [110, 160, 210, *range(211, 219)]


def test_events_of_the_application_wait_in_a_slow_process_too():
    engine, log = slow_run([(0, 50)], until_us=120)
    engine.give(0, PeerUp(5))
    engine.run(2_000)
    assert log[-1] == (660, 0, PeerUp(5))


def test_what_waits_in_a_slow_process_is_lost_when_it_crashes():
    engine, log = slow_run([(0, 50)], until_us=120)
    engine.crash(0)
    engine.start(0, Started())
    before = len(log)
    engine.run(2_000)
    assert told(log[before:], MessageReceived) == []
