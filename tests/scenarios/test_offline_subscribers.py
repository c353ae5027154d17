"""Live nodes with a history on disk, in virtual time: a node that was away gets what it missed, once and in order."""

import asyncio
import logging
import sqlite3

import pytest

import gossamer.testing
from gossamer import DiskHistory, Security
from gossamer.live.history.disk import HistoryDisk
from gossamer.model.values.errors import InputError

TOPIC = "prices"
HOUR = 3_600.0


class Net:
    """Nodes that are started again under the same identity and with the same folder."""

    def __init__(self, network, folder, **options):
        self.network, self.folder, self.options = network, folder, options
        self.first = None
        self.payloads, self.tasks = {}, {}

    async def start(self, name, has_history=True, reads=True, **options):
        """Start a node that follows the topic; what its reader gets is in `payloads`."""
        history = {"history": DiskHistory(self.folder / name, **self.options)} if has_history else {}
        join = [] if self.first is None else [self.first.address]
        node = self.network.node(join=join, identity_file=self.folder / f"{name}.id", **history)
        await node.start()
        self.first = self.first or node
        subscription = await node.subscribe(TOPIC, **options).__aenter__()
        if reads:
            self.tasks[name] = asyncio.create_task(self.read(name, subscription))
        return node, subscription

    async def read(self, name, subscription):
        async for message in subscription:
            self.payloads.setdefault(name, []).append(message.payload)

    async def crash(self, name, node):
        self.tasks.pop(name).cancel()
        await self.network.crash(node)


async def publish(node, numbers, pause=0.01):
    for number in numbers:
        await node.publish(TOPIC, b"%d" % number)
        await asyncio.sleep(pause)


def expected(*numbers):
    return [b"%d" % number for number in numbers]


def with_net(scenario, folder, seed=1, **options):
    gossamer.testing.run(lambda network: scenario(Net(network, folder, **options)), seed=seed)


@pytest.mark.parametrize("crashes", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["crash", "clean stop"])
def test_a_node_that_was_away_for_hours_gets_what_it_missed_once_and_in_order(tmp_path, crashes):
    async def scenario(net):
        holder, _ = await net.start("holder")
        away, _ = await net.start("away")
        await away.ready(TOPIC, timeout=60)
        await publish(holder, range(20))
        await asyncio.sleep(5)
        await (net.crash("away", away) if crashes else away.stop())
        # More than memory holds: 8,192 messages of a topic.
        await publish(holder, range(20, 9_020), pause=0)
        await asyncio.sleep(HOUR)
        again, mine = await net.start("away", slow="block")
        await asyncio.sleep(60)
        await publish(holder, range(9_020, 9_030))
        await asyncio.sleep(30)
        assert net.payloads["away"] == expected(*range(9_030))
        assert not mine.gaps
        await again.stop()

    with_net(scenario, tmp_path)


def test_a_publisher_that_returns_serves_its_own_messages_from_its_disk(tmp_path):
    async def scenario(net):
        relay, _ = await net.start("relay", has_history=False)
        publisher, _ = await net.start("publisher")
        away, _ = await net.start("away")
        await away.ready(TOPIC, timeout=60)
        await publish(publisher, range(5))
        await asyncio.sleep(5)
        await net.crash("away", away)
        await publish(publisher, range(5, 50))
        await asyncio.sleep(5)
        await publisher.stop()
        await relay.stop()
        net.first = None
        publisher, _ = await net.start("publisher")
        await net.start("away")
        await asyncio.sleep(60)
        assert net.payloads["away"] == expected(*range(50))

    with_net(scenario, tmp_path)


def test_messages_that_a_reader_had_not_taken_before_a_crash_come_from_the_nodes_own_disk(tmp_path):
    async def scenario(net):
        holder, _ = await net.start("holder", has_history=False)
        node, mine = await net.start("node", reads=False)
        await node.ready(TOPIC, timeout=60)
        await publish(holder, range(30))
        await asyncio.sleep(5)
        assert [(await anext(mine)).payload for _ in range(10)] == expected(*range(10))
        await net.network.crash(node)
        await holder.stop()
        net.first = None
        await net.start("node")
        await asyncio.sleep(30)
        assert net.payloads["node"] == expected(*range(10, 30))

    with_net(scenario, tmp_path)


def test_a_topic_that_is_closed_and_opened_again_continues_where_its_reader_stopped(tmp_path):
    async def scenario(net):
        holder, _ = await net.start("holder")
        node, mine = await net.start("node")
        await node.ready(TOPIC, timeout=60)
        await publish(holder, range(5))
        await asyncio.sleep(5)
        mine.close()
        await publish(holder, range(5, 10))
        await asyncio.sleep(5)
        async with node.subscribe(TOPIC) as again:
            await asyncio.sleep(30)
            assert [(await anext(again)).payload for _ in range(again.waiting)] == expected(*range(5, 10))

    with_net(scenario, tmp_path)


def test_a_new_node_gets_the_past_only_if_it_asks_for_it(tmp_path):
    async def scenario(net):
        holder, _ = await net.start("holder")
        await net.start("other")
        await holder.ready(TOPIC, timeout=60)
        await publish(holder, range(10))
        await asyncio.sleep(1_000)
        await publish(holder, range(10, 20))
        await asyncio.sleep(60)
        await net.start("new")
        await net.start("last minutes", has_history=False, since=300)
        await net.start("whole past", since=24 * HOUR)
        await asyncio.sleep(60)
        assert "new" not in net.payloads
        assert net.payloads["last minutes"] == expected(*range(10, 20))
        assert net.payloads["whole past"] == expected(*range(20))

    with_net(scenario, tmp_path)


def test_ages_hold_between_nodes_whose_clocks_differ_by_days(tmp_path):
    async def scenario(network):
        def node(name, days, **options):
            history = DiskHistory(tmp_path / name)
            options |= {"identity_file": tmp_path / f"{name}.id", "history": history}
            return network.node(clock_offset_seconds=days * 24 * HOUR, **options)

        payloads = []
        async with node("holder", 20) as holder, holder.publisher(TOPIC):
            for number in range(3):
                async with node("away", -20, join=[holder.address]) as away, away.subscribe(TOPIC) as mine:
                    await away.ready(TOPIC, timeout=60)
                    await asyncio.sleep(30)
                    payloads += [(await anext(mine)).payload for _ in range(mine.waiting)]
                await publish(holder, [number])
                await asyncio.sleep(600)
            async with node("new", 0, join=[holder.address]) as new, new.subscribe(TOPIC, since=900) as mine:
                await asyncio.sleep(30)
                assert [(await anext(mine)).payload for _ in range(mine.waiting)] == expected(2)
        assert payloads == expected(0, 1)

    gossamer.testing.run(scenario, seed=3)


def test_signed_messages_are_proved_after_they_were_on_a_disk(tmp_path):
    async def scenario(network):
        def node(name, **options):
            options |= {"identity_file": tmp_path / f"{name}.id", "history": DiskHistory(tmp_path / name)}
            return network.node(security=Security(signatures="strict"), **options)

        async with node("publisher") as publisher, node("holder", join=[publisher.address]) as holder:
            async with holder.subscribe(TOPIC), publisher.publisher(TOPIC):
                away = node("away", join=[holder.address])
                await away.start()
                async with away.subscribe(TOPIC):
                    await away.ready(TOPIC, timeout=60)
                await away.stop()
                # Bursts, whose messages prove themselves together.
                await asyncio.gather(*(publisher.publish(TOPIC, b"%d" % number) for number in range(300)))
                await asyncio.sleep(60)
                await publisher.stop()
                async with node("away", join=[holder.address]) as again, again.subscribe(TOPIC) as mine:
                    await asyncio.sleep(60)
                    assert [(await anext(mine)).payload for _ in range(mine.waiting)] == expected(*range(300))

    gossamer.testing.run(scenario, seed=4)


# A disk that cannot be used.


def damage_messages(folder):
    (folder / "messages.sqlite").write_bytes(b"damaged" * 10_000)


def cut_messages(folder):
    content = (folder / "messages.sqlite").read_bytes()
    (folder / "messages.sqlite").write_bytes(content[: len(content) // 2])


def change_version(folder):
    with sqlite3.connect(folder / "messages.sqlite") as database:
        database.execute("PRAGMA user_version = 99")
    database.close()


def damage_positions(folder):
    (folder / "positions").write_bytes(b"damaged" * 100)


@pytest.mark.parametrize("harm", [damage_messages, cut_messages, change_version, damage_positions])
def test_a_history_that_is_damaged_or_of_another_version_is_said_in_one_sentence_and_the_node_goes_on(
    tmp_path, caplog, harm
):
    async def scenario(net):
        holder, _ = await net.start("holder", has_history=False)
        node, _ = await net.start("node")
        await node.ready(TOPIC, timeout=60)
        await publish(holder, range(200))
        await asyncio.sleep(5)
        await node.stop()
        harm(tmp_path / "node")
        with caplog.at_level(logging.ERROR, "gossamer.live"):
            again, _ = await net.start("node")
            await again.ready(TOPIC, timeout=60)
            await publish(holder, range(200, 205))
            await asyncio.sleep(30)
        said = [record.getMessage() for record in caplog.records if "history" in record.getMessage()]
        assert len(said) == 1
        assert "the node goes on without it" in said[0]
        assert net.payloads["node"] == expected(*range(205))

    with_net(scenario, tmp_path)


def test_a_full_disk_is_said_in_one_sentence_and_the_node_goes_on(tmp_path, caplog, monkeypatch):
    def full(self, kept, now_us):
        raise sqlite3.OperationalError("database or disk is full")

    async def scenario(net):
        holder, _ = await net.start("holder", has_history=False)
        node, _ = await net.start("node")
        await node.ready(TOPIC, timeout=60)
        await publish(holder, range(5))
        await asyncio.sleep(5)
        monkeypatch.setattr(HistoryDisk, "write", full)
        await publish(holder, range(5, 30), pause=0.5)
        await asyncio.sleep(5)
        said = [record.getMessage() for record in caplog.records if "history" in record.getMessage()]
        assert said == [
            f"the history in {tmp_path / 'node'} cannot be used (database or disk is full); the node goes on without it; "
            "delete the folder to begin a new one"
        ]
        assert net.payloads["node"] == expected(*range(30))
        assert node.status().counts["history stopped"] == 1

    with_net(scenario, tmp_path)


def test_a_history_needs_an_identity_a_folder_and_recovery(tmp_path):
    with pytest.raises(InputError, match="give `keys` or `identity_file`"):
        gossamer.Node(history=DiskHistory(tmp_path))
    with pytest.raises(InputError, match="needs recovery"):
        gossamer.Node(system="gossip", history=DiskHistory(tmp_path), identity_file=tmp_path / "id")
    with pytest.raises(InputError, match="at least 1,048,576 bytes"):
        DiskHistory(tmp_path, size_bytes=1_000)
    with pytest.raises(InputError, match="above 0"):
        DiskHistory(tmp_path, age_seconds=0)
    (tmp_path / "file").write_text("")

    async def scenario(network):
        history = DiskHistory(tmp_path / "file" / "below")
        with pytest.raises(InputError, match="cannot make the folder of the history"):
            await network.node(history=history, identity_file=tmp_path / "id").start()

    gossamer.testing.run(scenario)


def test_since_and_last_together_are_refused():
    with pytest.raises(InputError, match="give one of them"):
        gossamer.Node().subscribe(TOPIC, since=1, last=1)
