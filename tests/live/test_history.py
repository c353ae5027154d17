"""A history on disk, with sockets and processes: a node that is killed and started again."""

import asyncio
import subprocess
import sys

import pytest

from gossamer import DiskHistory, InputError, Node, SyncNode
from tests.live.conftest import QUICK
from tests.waiting import until, until_now

TOPIC = "prices"
# Takes messages, and writes each to a file at once; the process is killed at any moment.
READER = """
import asyncio, os, sys
from gossamer import DiskHistory, Node
folder, address, settings = sys.argv[1], sys.argv[2], eval(sys.argv[3])

async def main():
    out = os.open(folder + "/taken", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    history = DiskHistory(folder + "/history")
    async with Node(join=[address], settings=settings, identity_file=folder + "/id", history=history) as node:
        async with node.subscribe("prices", slow="block") as messages:
            async for message in messages:
                os.write(out, message.payload + b"\\n")

asyncio.run(main())
"""


def taken(folder):
    path = folder / "taken"
    return [int(line) for line in path.read_bytes().split()] if path.exists() else []


async def killed_at(folder, address, count):
    """Run the reader until it has taken this many messages, then kill it."""
    command = [sys.executable, "-c", READER, str(folder), address, repr(QUICK)]
    with subprocess.Popen(command) as process:
        try:
            await until(lambda: len(taken(folder)) >= count, seconds=60)
        finally:
            process.kill()


def test_a_node_that_is_killed_while_it_catches_up_repeats_nothing_and_misses_only_what_it_had_in_hand(tmp_path):
    async def scenario():
        history = {"identity_file": tmp_path / "holder.id", "history": DiskHistory(tmp_path / "holder")}
        async with Node(settings=QUICK, **history) as holder, holder.publisher(TOPIC):
            first = asyncio.create_task(killed_at(tmp_path, holder.address, 1))
            await holder.ready(TOPIC, timeout=60)
            await holder.publish(TOPIC, b"0")
            await first
            for number in range(1, 9_000):
                await holder.publish(TOPIC, b"%d" % number)
            for count in (3_000, 8_998):
                await killed_at(tmp_path, holder.address, count)
            return taken(tmp_path)

    numbers = asyncio.run(scenario())
    assert numbers == sorted(set(numbers))
    # Each of the three kills may have hit a message between its way out of the queue and the file.
    assert len(set(range(numbers[-1] + 1)) - set(numbers)) <= 3


def test_a_reader_without_asyncio_continues_behind_the_last_message_that_it_took(tmp_path):
    options = {"settings": QUICK, "identity_file": tmp_path / "id", "history": DiskHistory(tmp_path / "past")}
    with SyncNode(settings=QUICK) as publisher:
        with SyncNode(join=[publisher.address], **options) as node, node.subscribe(TOPIC) as messages:
            for number in range(10):
                publisher.publish(TOPIC, b"%d" % number)
            assert [messages.get(timeout=20).payload for _ in range(4)] == [b"0", b"1", b"2", b"3"]
            # All of them have left the queue of the node, and wait in the reader's thread.
            until_now(lambda: node.status().delivered == 10)
    with SyncNode(**options) as again, again.subscribe(TOPIC) as messages:
        assert [messages.get(timeout=20).payload for _ in range(6)] == [b"%d" % number for number in range(4, 10)]


def test_a_node_whose_record_cannot_be_written_lets_its_history_go(tmp_path):
    async def scenario():
        options = {"identity_file": tmp_path / "id", "history": DiskHistory(tmp_path / "past")}
        with pytest.raises(InputError, match="cannot write the record"):
            await Node(record=tmp_path / "no" / "folder", **options).start()
        async with Node(**options):
            pass

    asyncio.run(scenario())
