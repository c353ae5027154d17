"""The live driver over the in-memory transport: the same machines in real time."""

import asyncio
import io
from itertools import pairwise

import msgspec
import pytest

from gossamer.live.transport import wire
from gossamer.live.transport.driver import LiveDriver
from gossamer.live.transport.memory import MemoryTransport
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
    Publish,
    PublishBurst,
    Refused,
    Started,
    Stopping,
)
from gossamer.protocols.contract.facts import NeighbourDown, NeighbourUp
from gossamer.protocols.contract.messages import BURST_MAX, Data, Peer
from gossamer.protocols.contract.system import read_parameters
from gossamer.protocols.dissemination.flood import Flood
from gossamer.protocols.dissemination.tree import TreeBurst
from gossamer.protocols.membership.cyclon import ShuffleDue, ShuffleRequest
from gossamer.protocols.membership.cyclon_view import ViewEntry
from gossamer.systems import decoder_of, find_system, make_machine
from tests.decoding import PART_CLASSES
from tests.waiting import until

CYCLON = find_system("cyclon")
PARAMETERS = read_parameters(CYCLON, {"view_size": 5, "shuffle_length": 3, "period_us": 2_000})
HEADER = records.Header(system="cyclon", parameters=msgspec.to_builtins(PARAMETERS), seed=1)


class Network:
    """Some live nodes in this process, with their neighbours as they state them."""

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
        return LiveDriver(machine, node, address(node), self.transport, watch, (self.logs[node], HEADER))

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


def test_live_nodes_join_through_one_seed_and_fill_their_views():
    async def scenario():
        network = Network(12)
        network.start()
        await until(lambda: all(len(mine) >= 4 for mine in network.neighbours.values()))
        await until(lambda: len(reachable(network.neighbours)) == 12)
        network.stop()
        return network

    network = asyncio.run(scenario())
    assert all(node not in mine and len(mine) <= 5 for node, mine in network.neighbours.items())


def test_what_a_live_node_was_told_replays_into_the_same_actions():
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
            assert network.drivers[0].receive(9, [frame]) == ([frame], 1)
        network.stop()
        return network.drivers[0].counts["unreadable frames"]

    assert asyncio.run(scenario()) == 6


def test_kept_connections_come_up_at_both_ends_and_break_at_both_ends():
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


def test_whatever_bytes_come_the_driver_lives():
    async def scenario():
        network = Network(1)
        network.start()
        good = msgspec.msgpack.encode(ShuffleRequest((ViewEntry(5, 0, b"x"), ViewEntry(6, 1, b"y"))))
        for number in range(3_000):
            frame = bytearray(good)
            for change in range(1 + number % 4):
                bits = draw(1, number, 0, change)
                frame[bits % len(frame)] = (bits >> 32) & 0xFF
            network.drivers[0].receive(9, [bytes(frame)])
        network.drivers[0].receive(9, [msgspec.msgpack.encode(ShuffleRequest((ViewEntry(7, 0, b"x" * 1_000),)))])
        network.stop()
        return network

    network = asyncio.run(scenario())
    assert network.drivers[0].counts["unreadable frames"] > 100
    assert len(network.neighbours[0]) <= 5
    assert 7 not in network.neighbours[0]


def test_a_clock_that_wakes_early_does_not_silence_a_node():
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


class Scripted:
    """A machine that answers with what the test says, and a transport that keeps what is sent."""

    part_classes = (*PART_CLASSES, Flood)

    def __init__(self, answers, refuses=()):
        self.answers = iter(answers)
        self.refuses = refuses
        self.events = []
        self.sent = []
        # Whether something waits to leave.
        self.gathers = True

    def handle(self, event, now_us):
        self.events.append((now_us, event))
        return next(self.answers, ())

    def send(self, sender, node, address, frames, patient=True):
        self.sent += [(node, address, frame) for frame in frames]
        return "peer does not read" if node in self.refuses else None

    def is_gathering(self, nodes):
        return self.gathers

    def disconnect(self, driver, node):
        self.sent.append((node, b"", "disconnected"))

    def open(self, driver):
        pass

    close = open


def data(number):
    return Data(7, 9, number, 0, 0, b"%d" % number)


def handed(answers, frames, **options):
    """What comes of frames that one read brought: the script, deliveries, frames that were bad."""

    async def scenario():
        script, delivered = Scripted([(), *answers], **options), []
        driver = LiveDriver(script, 1, b"me", script, deliver=delivered.append)
        driver.start(Started())
        bad = driver.receive(2, frames)
        await asyncio.sleep(0)
        return script, delivered, bad, driver.counts

    return asyncio.run(scenario())


def test_what_one_read_brings_is_handed_over_in_its_order_at_one_time():
    frames = [wire.encode(data(number)) for number in (1, 2, 3)]
    script, _, bad, counts = handed([], [frames[0], b"\xc1", frames[1], wire.encode(wire.Bye("so long")), frames[2]])
    assert [event.message.sequence for _, event in script.events[1:]] == [1, 2, 3]
    assert len({now_us for now_us, _ in script.events[1:]}) == 1
    assert bad == ([b"\xc1", wire.encode(wire.Bye("so long"))], 5)
    assert counts["unreadable frames"] == 1


def test_what_goes_to_each_node_keeps_its_order_however_it_is_gathered():
    both, one = (3, 4), (4,)
    answers = [
        [Send(both, data(1)), Deliver(7, b"1", 9, 1, 1, 0)],
        [Send(both, data(2))],
        [Send(one, data(3)), Send(both, data(4)), Deliver(7, b"4", 9, 4, 1, 0)],
        [Send((5,), data(5), (b"there",)), Send(both, data(6))],
    ]
    script, delivered, _, _ = handed(answers, [wire.encode(data(number)) for number in range(4)])
    for node, numbers in {3: [1, 2, 4, 6], 4: [1, 2, 3, 4, 6]}.items():
        assert [frame for to, _, frame in script.sent if to == node] == [wire.frame(data(one)) for one in numbers]
    assert [(to, where) for to, where, _ in script.sent if to == 5] == [(5, b"there")]
    assert [[action.payload for action in actions] for actions in delivered] == [[b"1", b"4"]]


def test_each_message_that_a_link_refuses_is_told_to_the_machine():
    both = (3, 4)
    script, _, _, counts = handed(
        [[Send(both, data(1))], [Send(both, data(2))]], [wire.encode(data(8)), wire.encode(data(9))], refuses=(4,)
    )
    refused = [event for _, event in script.events if isinstance(event, Refused)]
    assert refused == [Refused(4, data(1)), Refused(4, data(2))]
    assert counts["refused: peer does not read"] == 2


def test_what_was_said_before_a_link_is_let_go_of_still_goes_over_it():
    answers = [[Send((3,), data(1))], [Disconnect(3), Send((4,), data(2))]]
    script, _, _, _ = handed(answers, [wire.encode(data(8)), wire.encode(data(9))])
    assert [(to, what) for to, _, what in script.sent] == [
        (3, wire.frame(data(1))),
        (3, "disconnected"),
        (4, wire.frame(data(2))),
    ]


def test_what_was_done_before_an_event_that_fails_is_carried_out():
    async def scenario():
        def answers():
            yield ()
            yield [Send((3,), data(1)), Deliver(7, b"1", 9, 1, 1, 0)]
            raise MachineMisuse("a machine that breaks")

        script, delivered = Scripted(answers()), []
        driver = LiveDriver(script, 1, b"me", script, deliver=delivered.extend)
        driver.start(Started())
        with pytest.raises(MachineMisuse):
            driver.receive(2, [wire.encode(data(8)), wire.encode(data(9))])
        return [to for to, _, _ in script.sent], [action.payload for action in delivered]

    assert asyncio.run(scenario()) == ([3], [b"1"])


class Publishing:
    """A driver that gathers, above a machine that sends what is published to one node, or to nobody."""

    part_classes = (*PART_CLASSES, Flood)

    def __init__(self, to=(3,), burst_bytes=1_000_000, **options):
        self.script = Scripted([], **options)
        self.script.handle = self.handle
        self.to = to
        self.events = []
        self.driver = LiveDriver(self.script, 1, b"me", self.script, burst_bytes=burst_bytes)
        self.driver.start(Started())

    def handle(self, event, now_us):
        self.events.append((now_us, event))
        return (Send(self.to, data(event.sequence)),) if isinstance(event, Publish) and self.to else ()

    def publish(self, topic=7, payload=b"x"):
        """Publish as a node does; says whether the message was gathered."""
        given = len(self.events)
        tally = self.driver.publish(topic, payload, sequence=self.driver.next_sequence())
        return tally.queued == list(self.to) and not any(
            isinstance(event, Publish) and event.payload == payload for _, event in self.events[given:]
        )

    def told(self):
        """What the machine was told, but that it started: topics and payloads."""
        return [
            (event.topic, [event.payload] if isinstance(event, Publish) else [payload for _, payload in event.items])
            for _, event in self.events[1:]
            if isinstance(event, Publish | PublishBurst)
        ]


def publishing(act, **options):
    async def scenario():
        node = Publishing(**options)
        act(node)
        return node

    return asyncio.run(scenario())


def test_what_is_published_behind_a_message_that_waits_to_leave_goes_to_the_machine_as_one():
    def act(node):
        assert [node.publish(payload=b"%d" % number) for number in range(4)] == [False, True, True, True]
        assert node.told() == [(7, [b"0"])]
        node.driver.flush()
        node.driver.flush()

    node = publishing(act)
    assert node.told() == [(7, [b"0"]), (7, [b"1", b"2", b"3"])]
    (_, (_, first), (now_us, burst)) = node.events
    assert burst.sequence == first.sequence + 1
    assert [at_us for at_us, _ in burst.items] == sorted(at_us for at_us, _ in burst.items)
    assert burst.items[-1][0] <= now_us


def test_a_message_on_another_topic_and_any_other_event_come_after_what_was_gathered():
    def act(node):
        node.publish(payload=b"0")
        assert node.publish(payload=b"1")
        assert not node.publish(topic=8, payload=b"2")
        assert node.publish(topic=8, payload=b"3")
        assert not node.publish(payload=b"4")
        assert node.publish(payload=b"5")
        node.driver.peer_up(4)
        assert not node.publish(payload=b"6")
        assert node.publish(payload=b"7")
        node.driver.stop()

    node = publishing(act)
    topics = (7, 7, 8, 8, 7, 7, 7, 7)
    assert node.told() == [(topic, [b"%d" % number]) for number, topic in enumerate(topics)]
    kinds = [type(event) for _, event in node.events]
    assert kinds.index(PeerUp) == 7
    assert kinds[-1] is Stopping
    sequences = [event.sequence for _, event in node.events if hasattr(event, "sequence")]
    assert sequences == list(range(sequences[0], sequences[0] + 8))


def test_a_message_goes_by_itself_where_nothing_waits_nobody_gets_it_or_it_was_refused():
    def idle(node):
        node.script.gathers = False
        assert not any([node.publish(), node.publish()])

    def two(node):
        assert not any([node.publish(), node.publish()])

    assert len(publishing(idle).told()) == 2
    assert len(publishing(two, to=()).told()) == 2
    assert len(publishing(two, refuses=(3,)).told()) == 2


def test_no_more_is_gathered_than_a_burst_may_hold():
    def many(node):
        node.publish()
        assert [node.publish() for _ in range(BURST_MAX + 1)] == [True] * BURST_MAX + [False]

    def long(node):
        node.publish()
        assert node.publish(payload=bytes(40_000))
        assert not node.publish(payload=bytes(40_000))
        assert node.publish(payload=b"short")

    def little(node):
        node.publish()
        while node.publish(payload=b"x" * 100):
            pass

    assert [len(payloads) for _, payloads in publishing(many).told()] == [1, BURST_MAX, 1]
    burst = publishing(little, burst_bytes=2_000).events[-2][1]
    frame = wire.frame(TreeBurst(2**64 - 1, 2**64 - 1, burst.sequence, 2**31, burst.items, burst.sequence))
    assert 1_800 < len(frame) <= 2_000, "a burst of so many messages is a frame that may be sent"
    assert [len(payloads) for _, payloads in publishing(long).told()] == [1, 1, 1]
