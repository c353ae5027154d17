"""The live driver over the in-memory transport: the same machines in real time."""

import asyncio
import io
from collections import Counter
from itertools import pairwise

import msgspec
import pytest

from gossamer.live.transport import wire
from gossamer.live.transport.driver import LiveDriver
from gossamer.live.transport.recording import RecordWriter
from gossamer.model.values.draw import draw
from gossamer.model.values.errors import MachineMisuse
from gossamer.protocols.contract import record as records
from gossamer.protocols.contract.actions import (
    Connect,
    Deliver,
    Disconnect,
    Send,
    SetTimer,
)
from gossamer.protocols.contract.events import (
    PeerDown,
    PeerUp,
    Refused,
    Started,
    Stopping,
)
from gossamer.protocols.contract.facts import NeighbourDown, NeighbourUp
from gossamer.protocols.contract.messages import Peer
from gossamer.protocols.contract.system import read_parameters
from gossamer.protocols.dissemination.flood import Flood
from gossamer.protocols.membership.cyclon_messages import ShuffleDue, ShuffleRequest
from gossamer.protocols.membership.cyclon_view import ViewEntry
from gossamer.systems import decoder_of, find_system, make_machine
from tests.decoding import PART_CLASSES
from tests.memory_transport import MemoryTransport
from tests.unit.live.transport.scripted import Scripted, data
from tests.waiting import until

CYCLON = find_system("cyclon")


PARAMETERS = read_parameters(CYCLON, {"view_size": 5, "shuffle_length": 3, "period_us": 2_000})


HEADER = records.Header(system="cyclon", parameters=msgspec.to_builtins(PARAMETERS), seed=1)


class Network:
    """Live nodes in this process, and the neighbours that each of them reports."""

    def __init__(self, count):
        self.transport = MemoryTransport()
        self.neighbours = {node: set() for node in range(count)}
        self.logs = {node: io.BytesIO() for node in range(count)}
        self.drivers = [self._driver(node) for node in range(count)]

    def _driver(self, node):
        def watch(fact):
            if isinstance(fact, NeighbourUp):
                self.neighbours[node].add(fact.node)
            elif isinstance(fact, NeighbourDown):
                self.neighbours[node].remove(fact.node)

        machine = make_machine(CYCLON, PARAMETERS, 1, node, None)
        watcher = RecordWriter(self.logs[node], HEADER, node, Counter())
        return LiveDriver(machine, node, address(node), self.transport, watch, watcher)

    def start(self):
        for driver in self.drivers:
            contacts = (Peer(0, address(0)),) if driver.node else ()
            driver.start(Started(contacts, address=driver.address))

    def stop(self):
        for driver in self.drivers:
            driver.stop()


def address(node):
    return b"node-%d" % node


def reachable(neighbours):
    found, left = {0}, [0]
    while left:
        for other in neighbours[left.pop()] - found:
            found.add(other)
            left.append(other)
    return found


def test_live_nodes_join_through_one_node_and_fill_their_views():
    async def scenario():
        network = Network(12)
        network.start()
        await until(lambda: all(len(mine) >= 4 for mine in network.neighbours.values()))
        await until(lambda: len(reachable(network.neighbours)) == 12)
        network.stop()
        return network

    network = asyncio.run(scenario())
    assert all(node not in mine and len(mine) <= 5 for node, mine in network.neighbours.items())


def test_the_record_of_a_live_node_replays_into_the_same_actions():
    async def scenario():
        network = Network(6)
        network.start()
        await until(lambda: min(driver.sent_count for driver in network.drivers) > 20)
        network.stop()
        return network

    network = asyncio.run(scenario())
    for log in network.logs.values():
        header, steps = records.read_record(io.BytesIO(log.getvalue()))
        assert header == HEADER
        count, difference = records.replay(
            steps, lambda node, view: make_machine(CYCLON, PARAMETERS, 1, node, view), decoder_of(header)
        )
        assert difference is None
        assert count > 20


def test_a_stopped_node_is_forgotten_by_the_others():
    async def scenario():
        network = Network(8)
        network.start()
        await until(lambda: all(len(mine) >= 4 for mine in network.neighbours.values()))
        network.drivers[7].stop()
        await until(lambda: not any(7 in network.neighbours[node] for node in range(7)))
        network.stop()

    asyncio.run(scenario())


def test_a_frame_that_cannot_be_read_is_counted_and_dropped():
    async def scenario():
        network = Network(1)
        network.start()
        for frame in (
            b"",
            b"\xc1",
            b"hello",
            msgspec.msgpack.encode(["no_such_message", 1]),
            b"\x91" * 5000,
            b"\x92\xa1\xff\x01",
        ):
            assert network.drivers[0].receive(9, [frame], network.drivers[0].make_reader(2)) == (1, 1, None)
        network.stop()
        return network.drivers[0].counts["unreadable frames"]

    assert asyncio.run(scenario()) == 6


def test_kept_connections_open_and_break_at_both_ends():
    told = {0: [], 1: [], 2: []}

    class Quiet:
        part_classes = (*PART_CLASSES, Flood)

        def __init__(self, node):
            self.node = node

        def handle(self, event, now_us):
            told[self.node].append(event)
            if self.node == 0 and isinstance(event, Started):
                return (Connect(Peer(1, address(1))), Connect(Peer(2, address(2))), Connect(Peer(8, address(8))))
            if event == PeerUp(2):
                return (Disconnect(2),)
            return ()

    async def scenario():
        transport = MemoryTransport()
        drivers = [LiveDriver(Quiet(node), node, address(node), transport) for node in range(3)]
        for driver in reversed(drivers):
            driver.start(Started())
        await until(lambda: PeerDown(0) in told[2] and PeerDown(8) in told[0] and PeerUp(0) in told[1])
        drivers[0].stop()
        await until(lambda: PeerDown(0) in told[1])

    asyncio.run(scenario())
    assert told[0] == [Started(), PeerUp(1), PeerUp(2), PeerDown(8), Stopping()]


def test_a_driver_that_was_not_started_takes_no_events():
    driver = LiveDriver(make_machine(CYCLON, PARAMETERS, 1, 0, None), 0, b"", MemoryTransport())
    with pytest.raises(MachineMisuse, match="must be started"):
        driver.give(Stopping())


def test_no_received_bytes_stop_the_driver():
    async def scenario():
        network = Network(1)
        network.start()
        read = network.drivers[0].make_reader(2)
        good = msgspec.msgpack.encode(ShuffleRequest((ViewEntry(5, 0, b"x"), ViewEntry(6, 1, b"y"))))
        for number in range(3_000):
            frame = bytearray(good)
            for change in range(1 + number % 4):
                bits = draw(1, number, 0, change)
                frame[bits % len(frame)] = (bits >> 32) & 0xFF
            network.drivers[0].receive(9, [bytes(frame)], read)
        network.drivers[0].receive(9, [msgspec.msgpack.encode(ShuffleRequest((ViewEntry(7, 0, b"x" * 1_000),)))], read)
        network.stop()
        return network

    network = asyncio.run(scenario())
    assert network.drivers[0].counts["unreadable frames"] > 100
    assert len(network.neighbours[0]) <= 5
    assert 7 not in network.neighbours[0]


def test_a_timer_that_fires_early_reaches_the_machine_at_its_time():
    told = []

    class Ticking:
        part_classes = (*PART_CLASSES, Flood)

        def handle(self, event, now_us):
            told.append(now_us)
            return (SetTimer(now_us + 1_000, ShuffleDue()),) if len(told) < 5 else ()

    async def scenario():
        driver = LiveDriver(Ticking(), 0, b"", MemoryTransport())
        driver.start(Started())
        driver._offset_us += 900  # from now on every timer fires almost a millisecond early
        await until(lambda: len(told) == 5)

    asyncio.run(scenario())
    assert all(later - earlier >= 1_000 for earlier, later in pairwise(told))


def handed(answers, frames, **options):
    """The effects of frames that one read brought: the script, the deliveries, the receipt, the counts."""

    async def scenario():
        script, delivered = Scripted([(), *answers], **options), []
        driver = LiveDriver(script, 1, b"me", script, deliver=delivered.append)
        driver.start(Started())
        receipt = driver.receive(2, frames, driver.make_reader(2))
        await asyncio.sleep(0)
        return script, delivered, receipt, driver.counts

    return asyncio.run(scenario())


def test_the_frames_of_one_read_become_events_in_order_and_of_the_same_time():
    frames = [wire.encode(data(number)) for number in (1, 2, 3)]
    script, _, receipt, counts = handed(
        [], [frames[0], b"\xc1", frames[1], wire.encode(wire.Bye("so long")), frames[2]]
    )
    assert [event.message.sequence for _, event in script.events[1:]] == [1, 2, 3]
    assert len({now_us for now_us, _ in script.events[1:]}) == 1
    assert receipt == (5, 1, "so long")
    assert counts["unreadable frames"] == 1


def test_messages_to_each_node_keep_their_order_when_they_leave_together():
    both, one = (3, 4), (4,)
    answers = [
        [Send(both, data(1)), Deliver(7, b"1", 9, 1, 1, 0)],
        [Send(both, data(2))],
        [Send(one, data(3)), Send(both, data(4)), Deliver(7, b"4", 9, 4, 1, 0)],
        [Send((5,), data(5), (b"there",)), Send(both, data(6))],
    ]
    script, delivered, _, _ = handed(answers, [wire.encode(data(number)) for number in range(4)])
    for node, numbers in {3: [1, 2, 4, 6], 4: [1, 2, 3, 4, 6]}.items():
        assert [message for to, _, message in script.sent if to == node] == [data(one) for one in numbers]
    assert [(to, where) for to, where, _ in script.sent if to == 5] == [(5, b"there")]
    assert [[action.payload for action in actions] for actions in delivered] == [[b"1", b"4"]]


def test_the_machine_learns_of_each_message_that_a_link_refuses():
    both = (3, 4)
    script, _, _, counts = handed(
        [[Send(both, data(1))], [Send(both, data(2))]], [wire.encode(data(8)), wire.encode(data(9))], refuses=(4,)
    )
    refused = [event for _, event in script.events if isinstance(event, Refused)]
    assert refused == [Refused(4, data(1)), Refused(4, data(2))]
    assert counts["refused: peer does not read"] == 2


def test_messages_leave_before_their_link_is_disconnected():
    answers = [[Send((3,), data(1))], [Disconnect(3), Send((4,), data(2))]]
    script, _, _, _ = handed(answers, [wire.encode(data(8)), wire.encode(data(9))])
    assert [(to, what) for to, _, what in script.sent] == [
        (3, data(1)),
        (3, "disconnected"),
        (4, data(2)),
    ]


def test_actions_before_an_event_that_fails_are_carried_out():
    async def scenario():
        def answers():
            yield ()
            yield [Send((3,), data(1)), Deliver(7, b"1", 9, 1, 1, 0)]
            raise MachineMisuse("a machine that breaks")

        script, delivered = Scripted(answers()), []
        driver = LiveDriver(script, 1, b"me", script, deliver=delivered.extend)
        driver.start(Started())
        with pytest.raises(MachineMisuse):
            driver.receive(2, [wire.encode(data(8)), wire.encode(data(9))], driver.make_reader(2))
        return [to for to, _, _ in script.sent], [action.payload for action in delivered]

    assert asyncio.run(scenario()) == ([3], [b"1"])
