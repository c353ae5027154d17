"""A history on disk, with sockets and processes: a node that is killed and started again."""

import asyncio
import subprocess
import sys

from gossamer import DiskHistory, Node
from tests.live.conftest import QUICK
from tests.waiting import until

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
            for number in range(1, 12_000):
                await holder.publish(TOPIC, b"%d" % number)
            for count in (100, 5_000, 11_997):
                await killed_at(tmp_path, holder.address, count)
            return taken(tmp_path)

    numbers = asyncio.run(scenario())
    assert numbers == sorted(set(numbers))
    # Each of the four kills may have hit a message between its way out of the queue and the file.
    assert len(set(range(numbers[-1] + 1)) - set(numbers)) <= 4
