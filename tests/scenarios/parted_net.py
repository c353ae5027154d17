"""Live nodes in virtual time that are cut into two halves for a while: when are the halves one overlay again?

`python -m tests.scenarios.parted_net apart_seconds=150 loss=0.02 late=4 seed=1` writes what it measured.
"""

import asyncio
import json
import random
import sys
from dataclasses import asdict, dataclass

import gossamer.testing
from gossamer.live.transport.virtual import RETRANSMIT_SECONDS
from gossamer.protocols.contract.actions import Deliver, Observe
from gossamer.protocols.contract.events import MessageReceived
from gossamer.protocols.contract.facts import Lost
from gossamer.protocols.contract.messages import Burst, Data

# A message that arrives through the dissemination within this time came live; with loss TCP may send it again three times.
LIVE_SECONDS, LIVE_SECONDS_WITH_LOSS = 0.3, 1.5
# A message counts for nodes that started this long before it was published, and if it is this old at the end.
SETTLED_SECONDS = 5


@dataclass(frozen=True)
class Parting:
    """What to run. Every node follows `followed` of the topics, and all of them publish `rate` messages a second."""

    nodes: int = 16
    topics: int = 30
    followed: int = 12
    rate: float = 16.0
    system: str = "spidercast"
    settle_seconds: float = 30.0
    apart_seconds: float = 150.0
    watch_seconds: float = 40.0
    loss: float = 0.0
    # The number of nodes on the first side; 0: half of them.
    first_side: int = 0
    # Nodes that start in the middle of the partition, on both sides in turn.
    late: int = 0
    # Nodes join through the very first node ("first"), through the first node of their own side ("own"), or through the
    # first nodes of both sides ("both"). With "own", the first node of the second side crashes during the partition if
    # `crash_contact`: it is the only node that was told of a node on the other side.
    contacts: str = "first"
    crash_contact: bool = False


@dataclass
class Healing:
    """What was measured. `contact`: seconds from the end of the partition to the first message between the halves; the other
    times are seconds after it.
    """

    contact: float
    # Until the overlay of every topic is connected, and stays so.
    connected: float | None
    # Until all messages arrive live, and until all are also delivered live.
    live: float
    delivered_live: float
    # Until the last message of the partition was delivered on the other side, and how many deliveries that were.
    filled_until: float
    filled: int
    # Deliveries that never happened, and reports of lost messages after the partition.
    missing: int
    reports: int
    links: float


class Tap:
    """Stands between a driver and its machine, and notes what arrives and what is delivered."""

    def __init__(self, net, place, machine):
        self._net, self._place, self._machine = net, place, machine

    def __getattr__(self, name):
        return getattr(self._machine, name)

    def handle(self, event, now_us):
        if type(event) is MessageReceived:
            self._net.on_message(self._place, event)
        actions = self._machine.handle(event, now_us)
        for action in actions:
            if type(action) is Deliver:
                self._net.note(self._net.delivered, action, self._place)
            elif type(action) is Observe and type(action.fact) is Lost and self._net.healed is not None:
                self._net.reports += 1
        return actions


class PartedNet:
    """A network of live nodes with steady publications and a record of every arrival."""

    def __init__(self, network, parting, seed):
        self.network, self.parting = network, parting
        self.random = random.Random(seed)
        self.first_side = parting.first_side or parting.nodes // 2
        # By place: the node, its side, its topics, when it started. A crashed node has no topics.
        self.nodes, self.side, self.topics_of, self.started = [], [], [], []
        self.places = {}
        # (publisher, sequence) -> (time, topic), and place -> time of the first copy and of the delivery.
        self.published, self.arrived, self.delivered = {}, {}, {}
        self.reports = 0
        self.healed = self.contact = self.connected = None
        self.tasks = []

    @property
    def now(self):
        return self.network.now_seconds

    def note(self, table, message, place):
        table.setdefault((message.publisher, message.sequence), {}).setdefault(place, self.now)

    def on_message(self, place, event):
        if (
            self.healed is not None
            and self.contact is None
            and self.side[self.places[event.sender]] != self.side[place]
        ):
            self.contact = self.now
        messages = event.message.messages if isinstance(event.message, Burst) else (event.message,)
        for data in messages:
            if isinstance(data, Data):
                self.note(self.arrived, data, place)

    async def run(self):
        parting = self.parting
        for place in range(parting.nodes):
            await self.start(int(place >= self.first_side))
            await asyncio.sleep(0.1)
        self.tasks.append(asyncio.create_task(self.publish()))
        await asyncio.sleep(parting.settle_seconds + 30 * self.random.random())
        self.part()
        await asyncio.sleep(parting.apart_seconds / 2)
        if parting.crash_contact:
            self.topics_of[self.first_side] = []
            await self.network.crash(self.nodes[self.first_side])
        for number in range(parting.late):
            await self.start(number % 2)
            self.part()
        await asyncio.sleep(parting.apart_seconds / 2)
        self.network.heal()
        self.healed = self.now
        self.tasks.append(asyncio.create_task(self.watch()))
        await asyncio.sleep(parting.watch_seconds)
        for task in self.tasks:
            task.cancel()
        return self.result()

    async def start(self, side):
        place = len(self.nodes)
        join = [self.nodes[each].address for each in self.contacts_of(place, side)]
        node = self.network.node(join=join, system=self.parting.system)
        self.nodes.append(node)
        self.side.append(side)
        self.places[node.id] = place
        self.started.append(self.now)
        names = [f"t{number}" for number in self.random.sample(range(self.parting.topics), self.parting.followed)]
        self.topics_of.append(names)
        await node.start()
        driver = node._running.driver
        driver._machine = Tap(self, place, driver._machine)
        for name in names:
            await node.subscribe(name).__aenter__()

    def contacts_of(self, place, side):
        first = self.first_side if side and place != self.first_side else 0
        chosen = {"first": (0,), "own": (first,), "both": (0, self.first_side)}[self.parting.contacts]
        return [each for each in chosen if each < place]

    def part(self):
        sides = ([], [])
        for node, side in zip(self.nodes, self.side, strict=True):
            sides[side].append(node)
        self.network.partition(*sides)

    async def publish(self):
        while True:
            await asyncio.sleep(1 / self.parting.rate)
            place = self.random.choice([place for place, names in enumerate(self.topics_of) if names])
            node, topic = self.nodes[place], self.random.choice(self.topics_of[place])
            receipt = await node.publish(topic, bytes(100))
            self.published[node.id, receipt.sequence] = (self.now, topic)

    async def watch(self):
        while True:
            await asyncio.sleep(0.25)
            if any(self.components(f"t{number}") > 1 for number in range(self.parting.topics)):
                self.connected = None
            elif self.connected is None:
                self.connected = self.now

    def components(self, topic):
        """The number of components of a topic's overlay."""
        left = {place for place, names in enumerate(self.topics_of) if topic in names}
        count = 0
        while left:
            count += 1
            reached = [left.pop()]
            for place in reached:
                found = left & {self.places[int(peer, 16)] for peer in self.nodes[place].peers(topic)}
                left -= found
                reached += found
        return count

    def result(self):
        contact = float("inf") if self.contact is None else self.contact
        live = delivered_live = filled_until = contact
        live_seconds = LIVE_SECONDS_WITH_LOSS if self.parting.loss else LIVE_SECONDS
        filled = missing = 0
        for name, place, at in self.due():
            arrived = self.arrived.get(name, {}).get(place, float("inf"))
            delivered = self.delivered.get(name, {}).get(place, float("inf"))
            if at >= contact and arrived - at > live_seconds:
                live = max(live, at)
            if at >= contact and delivered - at > live_seconds:
                delivered_live = max(delivered_live, at)
            if delivered == float("inf"):
                missing += 1
            elif at < self.healed - 1 and delivered >= self.healed:
                filled += 1
                filled_until = max(filled_until, delivered)
        running = [node for node, names in zip(self.nodes, self.topics_of, strict=True) if names]
        return Healing(
            contact - self.healed,
            None if self.connected is None else self.connected - contact,
            live - contact,
            delivered_live - contact,
            filled_until - contact,
            filled,
            missing,
            self.reports,
            sum(link.kept for node in running for link in node.status().links) / len(running),
        )

    def due(self):
        """Every delivery that should happen, as (message, place, time of publication)."""
        for name, (at, topic) in self.published.items():
            if not self.topics_of[self.places[name[0]]] and not self.delivered.get(name):
                # Its publisher had no neighbour on the topic before it crashed, so no other node has the message.
                continue
            for place, names in enumerate(self.topics_of):
                is_other = topic in names and place != self.places[name[0]]
                if is_other and self.started[place] + SETTLED_SECONDS < at < self.now - SETTLED_SECONDS:
                    yield name, place, at


def measure(parting, seed):
    """Run one parting in virtual time."""

    async def scenario(network):
        net = PartedNet(network, parting, seed)
        if parting.loss:
            network.delay_seconds = lossy(network.delay_seconds, parting.loss, net.random)
        return await net.run()

    return gossamer.testing.run(scenario, seed=seed)


def lossy(delay_seconds, loss, draws):
    """Latencies of chunks of bytes that TCP sends again when they are lost, each time after twice the time."""

    def with_loss(connection, chunk):
        seconds, wait = delay_seconds(connection, chunk), RETRANSMIT_SECONDS
        while draws.random() < loss:
            seconds, wait = seconds + wait, 2 * wait
        return seconds

    return with_loss


if __name__ == "__main__":
    given = dict(argument.split("=") for argument in sys.argv[1:])
    chosen_seed = int(given.pop("seed", "1"))
    kinds = {name: type(value) for name, value in asdict(Parting()).items()}
    values = {name: kinds[name](json.loads(text) if kinds[name] is bool else text) for name, text in given.items()}
    result = asdict(measure(Parting(**values), chosen_seed))
    sys.stdout.write(json.dumps({name: round(value or 0, 1) for name, value in result.items()}) + "\n")
