"""One process of the run: it follows topics, publishes, opens and closes topics by its plan, and writes a journal.

`python -m tests.live.chaos.member FOLDER INDEX LIFE` reads `run.json` in the folder. The identity file of an index is the
same in each life.
"""

import asyncio
import json
import signal
import sys
import time
from contextlib import AsyncExitStack
from pathlib import Path

from gossamer import Node
from gossamer.live.operations.logs import log_to
from tests.live.chaos import journal, schedule
from tests.live.chaos.journal import Journal
from tests.live.chaos.schedule import Draws, TopicPlan

# How often a member looks for new gaps.
LOOK_SECONDS = 0.2


class Member:
    """One node, its readers and its traffic."""

    def __init__(self, folder: Path, index: int, life: int) -> None:
        run = json.loads((folder / "run.json").read_text())
        self._seed, self._seconds, self._began = run["seed"], run["seconds"], run["began"]
        self._index, self._life = index, life
        addresses = run["addresses"]
        self._journal = Journal(folder / f"{index:02d}-{life:02d}.journal")
        self._node = Node(
            addresses[index],
            [address for address in addresses[:6] if address != addresses[index]],
            identity_file=folder / f"{index:02d}.identity",
        )
        self._publishable: dict[str, int] = {}
        self._order = 0
        self._subscriptions = 0

    async def run(self) -> None:
        """Run until SIGTERM."""
        stop = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
        async with self._node:
            self._journal.write(journal.STARTED, self._node.hex_id)
            works = [self._publish()]
            readers = []
            for plan in schedule.topic_plans(self._seed, self._index, self._seconds):
                works.append(self._keep_publisher(plan))
                readers.append(asyncio.create_task(self._keep_subscription(plan, stop)))
            tasks = [asyncio.create_task(work) for work in works]
            await stop.wait()
            for task in tasks:
                task.cancel()
            for topic in list(self._publishable):
                self._journal.write(journal.CLOSING, topic)
            await asyncio.gather(*readers)
            counts = self._node.status().counts
        self._journal.write(journal.STOPPED, counts)

    # Topics.

    async def _keep_publisher(self, plan: TopicPlan) -> None:
        name = f"topic/{plan.topic}"
        for begin, end in plan.publisher:
            if self._now() < end:
                await self._wait_until(begin)
                async with self._node.publisher(name):
                    self._open(name)
                    await self._wait_until(end)
                    self._close(name)

    async def _keep_subscription(self, plan: TopicPlan, stop: asyncio.Event) -> None:
        name = f"topic/{plan.topic}"
        stopping = asyncio.create_task(stop.wait())
        for begin, end in plan.subscribed:
            if self._now() >= end:
                continue
            await asyncio.wait((stopping,), timeout=max(begin - self._now(), 0))
            if stop.is_set():
                return
            async with AsyncExitStack() as opened:
                options = {"queue": schedule.SLOW_QUEUE} if plan.slow else {}
                subscription = await opened.enter_async_context(self._node.subscribe(name, **options))
                self._subscriptions += 1
                reader = Reader(self._journal, name, self._subscriptions, subscription)
                self._journal.write(journal.SUBSCRIBED, name, reader.number)
                self._open(name)
                slow = [(self._began + first, self._began + last) for first, last in plan.slow]
                reading = asyncio.create_task(reader.read(slow, Draws(self._seed, self._index, "slow")))
                looking = asyncio.create_task(reader.look())
                timeout = None if end == float("inf") else max(end - self._now(), 0)
                await asyncio.wait((stopping,), timeout=timeout)
                self._close(name)
                self._journal.write(journal.UNSUBSCRIBING, name, reader.number)
            # The messages that have arrived are still read.
            await reading
            looking.cancel()
            reader.note_gaps()

    def _open(self, name: str) -> None:
        self._publishable[name] = self._publishable.get(name, 0) + 1
        self._journal.write(journal.OPENED, name)

    def _close(self, name: str) -> None:
        self._publishable[name] -= 1
        if not self._publishable[name]:
            del self._publishable[name]
            self._journal.write(journal.CLOSING, name)

    # Traffic.

    async def _publish(self) -> None:
        draws = Draws(self._seed, self._index * 1_000 + self._life, "traffic")
        while self._now() < self._seconds:
            await asyncio.sleep(draws.between(0, 2 / schedule.RATE))
            # Some messages are published one right after another.
            for _ in range(1 + (draws.bits() % 8 == 0) * 3):
                if self._publishable and 0 < self._now() < self._seconds:
                    await self._publish_on(draws.choice(sorted(self._publishable)))

    async def _publish_on(self, topic: str) -> None:
        self._order += 1
        order, before = self._life * 1_000_000 + self._order, time.monotonic()
        peers = self._node.peers(topic)
        receipt = await self._node.publish(topic, json.dumps([order, before]).encode())
        queued = peers if receipt.queued else []
        self._journal.write(journal.PUBLISHED, topic, receipt.sequence, order, queued, before)

    # Time.

    def _now(self) -> float:
        return time.monotonic() - self._began

    async def _wait_until(self, at: float) -> None:
        if at == float("inf"):
            await asyncio.Event().wait()
        await asyncio.sleep(max(at - self._now(), 0))


class Reader:
    """Reads one subscription and writes its messages and gaps into the journal."""

    def __init__(self, lines: Journal, topic: str, number: int, subscription) -> None:
        self.number = number
        self._journal = lines
        self._topic = topic
        self._subscription = subscription
        self._last_gap = None

    async def read(self, slow: list[schedule.Interval], draws: Draws) -> None:
        """Read until the subscription is closed; in the intervals `slow` each message takes seconds."""
        async for message in self._subscription:
            # A gap is reported before the message after it.
            self.note_gaps()
            fields = (self._topic, self.number, message.publisher, message.sequence)
            self._journal.write(journal.DELIVERED, *fields, *json.loads(message.payload))
            now = time.monotonic()
            if any(first <= now < last for first, last in slow):
                seconds = draws.between(0.5, 3)
                self._journal.write(journal.SLOW, self._topic, now + seconds)
                await asyncio.sleep(seconds)

    async def look(self) -> None:
        """Write new gaps into the journal while no message is read."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            self.note_gaps()

    def note_gaps(self) -> None:
        new = []
        for gap in reversed(self._subscription.gaps):
            if gap is self._last_gap:
                break
            new.append(gap)
        for gap in reversed(new):
            self._last_gap = gap
            self._journal.write(journal.GAP, self._topic, self.number, gap.publisher, gap.after, gap.before)


if __name__ == "__main__":
    log_to(sys.stderr, "text")
    asyncio.run(Member(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])).run())
