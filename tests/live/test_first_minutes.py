"""What a new user tries first: mistakes are told at once, and nobody listening is a receipt."""

import asyncio
import logging
import os
import subprocess
import sys
from contextlib import nullcontext, suppress

import pytest

import gossamer
import gossamer.testing
from gossamer import InputError, NodeStateError, SyncNode
from gossamer.cli.app import COMMAND_EXTRAS
from tests.live.conftest import QUICK, take

# The modules of every extra.
HEAVY = ("numpy", "numba", "pyarrow", "pyspark", "pandas", "matplotlib", "scipy")


def test_a_publication_that_nobody_listens_to_gives_a_receipt_that_says_so():
    async def scenario(network):
        async with network.node() as alone:
            began = network.now_seconds
            first = await alone.publish("t", b"x")
            waited = network.now_seconds - began
            again = await alone.publish("t", b"x")
            several = await alone.publish(["u", "v", "w"], b"x")
            async with alone.subscribe("s"):
                held = await alone.publish("s", b"x")
            return [each.nobody for each in (first, again, several, held)], waited, network.now_seconds - began

    nobody, waited, seconds = gossamer.testing.run(scenario)
    assert nobody == [True] * 4
    assert waited == pytest.approx(3, abs=0.1)
    # A second message on the same topic does not wait, and several new topics wait together.
    assert seconds == pytest.approx(6, abs=0.1)


def test_a_message_that_reached_nobody_is_delivered_to_a_subscriber_that_the_node_finds_later():
    async def scenario(network):
        async with network.node() as one, network.node() as other:
            async with other.subscribe("t") as messages:
                receipt = await one.publish("t", b"early")
                async with network.node(join=[one.address, other.address]) as between, between.subscribe("t"):
                    return receipt.nobody, [message.payload for message in await take(messages, 1, 60)]

    assert gossamer.testing.run(scenario) == (True, [b"early"])


def test_a_receipt_that_lists_refusals_does_not_say_nobody():
    assert not gossamer.Receipt("t", 1, 0, 0, (("ab", "slow"),)).nobody
    assert not gossamer.Receipt("t", 1, 1, 0).nobody


@pytest.mark.parametrize("keyword", ["join", "seeds"])
def test_one_address_may_be_given_without_a_list(keyword):
    async def scenario(network):
        async with network.node() as one:
            made = network.node(**{keyword: one.address})
            async with made, one.subscribe("t"):
                return (await made.publish("t", b"x")).queued

    with pytest.deprecated_call() if keyword == "seeds" else nullcontext():
        assert gossamer.testing.run(scenario) == 1


def test_a_subscription_that_was_not_entered_says_so_when_it_is_read():
    async def scenario(network):
        async with network.node() as node:
            with pytest.raises(NodeStateError, match="'t' was not entered; use `async with"):
                await anext(node.subscribe("t"))

    gossamer.testing.run(scenario)
    with SyncNode(settings=QUICK) as node:
        for read in (next, lambda messages: messages.get(timeout=5)):
            with pytest.raises(NodeStateError, match="'t' was not entered"):
                read(node.subscribe("t"))


@pytest.mark.parametrize(
    ("payload", "codec", "sentence"),
    [
        ("text", "bytes", "a payload must be bytes, got str; give a codec, such as codec='json'"),
        (bytearray(b"x"), "bytes", "got bytearray"),
        ({1, 2}, "json", "codec='json' cannot encode this payload: .*set"),
        (object(), "msgpack", "codec='msgpack' cannot encode this payload"),
    ],
)
def test_a_payload_of_the_wrong_type_is_an_error_before_any_wait(payload, codec, sentence):
    async def scenario(network):
        async with network.node() as node:
            with pytest.raises(InputError, match=sentence):
                await node.publish("t", payload, codec=codec)
            return network.now_seconds, node.status().published

    assert gossamer.testing.run(scenario) == (0, 0)


class Failing:
    """A codec whose `decode` raises an error that is no ValueError."""

    encode = staticmethod(bytes)

    def decode(self, payload):
        return {}[payload]


@pytest.mark.parametrize("codec", ["json", "msgpack", Failing()])
def test_a_payload_that_cannot_be_decoded_is_counted_logged_and_skipped(codec, caplog):
    async def scenario(network):
        async with network.node() as one, network.node(join=one.address) as other:
            async with other.subscribe("t", codec=codec) as messages, other.subscribe("t") as raw:
                await one.publish("t", b"\xc1\xff")
                await anext(raw)
                with suppress(TimeoutError):
                    async with asyncio.timeout(1):
                        await anext(messages)
                return messages.unreadable, other.status().counts["payload not readable by the codec"]

    with caplog.at_level(logging.WARNING):
        assert gossamer.testing.run(scenario) == (1, 1)
    assert [record.message for record in caplog.records if "cannot decode its payload" in record.message]


def test_dir_lists_the_public_names_and_nothing_else():
    names = [name for name in dir(gossamer) if not name.startswith("__") or name == "__version__"]
    assert names == sorted([*gossamer.__all__, "plugin", "testing"])
    assert all(hasattr(gossamer, name) for name in names)


def in_base_install(*arguments):
    """Run a command where only the base dependencies can be imported."""
    code = (
        "import sys\n"
        f"sys.modules.update(dict.fromkeys({HEAVY!r}))\n"
        "from gossamer.cli.app import main\n"
        "sys.argv[0] = 'gossamer'\n"
        "main()\n"
    )
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ, timeout=60)


@pytest.mark.parametrize(
    ("command", "extra"),
    [
        ("study", "all"),
        ("reproduce spidercast --quick", "report"),
        ("workload make out/w --nodes 9 --topics 3 --subscriptions 1 --seed 1", "sim"),
        ("ingest edges raw.txt out", "spark"),
        ("up --seconds 1", "sim"),
    ],
)
def test_the_base_install_names_the_one_extra_that_a_command_needs(command, extra):
    done = in_base_install(*command.split())
    assert done.returncode == 2
    assert done.stderr.endswith(f"run: pip install 'gossamer[{extra}]'\n")
    assert done.stderr.count("\n") == 1
    assert COMMAND_EXTRAS[command.split()[0]] == extra
    assert f"Needs: pip install 'gossamer[{extra}]'" in in_base_install(command.split()[0], "--help").stdout


def test_the_base_install_runs_the_commands_of_live_nodes():
    done = in_base_install("pub", "t", "x", "--join", "127.0.0.1:1", "--timeout", "0.1")
    assert done.returncode == 1
    assert "the message reached nobody" in done.stderr


def test_a_receipt_of_a_command_says_that_nobody_took_the_message():
    done = in_base_install("pub", "t", "x", "--join", "127.0.0.1:1", "--timeout", "0.1", "--json")
    assert done.returncode == 1
    assert '"queued":0,"sent":0' in done.stdout
