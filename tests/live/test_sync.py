"""The node without asyncio: threads, timeouts, closing."""

import asyncio
import signal
import subprocess
import sys
import threading

import pytest

from gossamer import InputError, NodeStateError, SyncNode
from tests.live.conftest import QUICK
from tests.waiting import until_now


@pytest.fixture
def pair():
    before = threading.active_count()
    with SyncNode(settings=QUICK) as one, SyncNode(join=[one.address], settings=QUICK) as other:
        yield one, other
    assert threading.active_count() == before


def test_a_script_publishes_and_reads(pair):
    one, other = pair
    with other.subscribe("t", codec="json") as messages:
        receipt = one.publish("t", {"price": 1.07}, codec="json")
        message = messages.get(timeout=10)
    assert message.payload == {"price": 1.07}
    assert (message.publisher, message.sequence) == (one.hex_id, receipt.sequence)
    assert one.status().published == 1
    assert one.address != other.address


def test_a_reader_iterates_until_its_subscription_ends(pair):
    one, other = pair
    with other.subscribe("t") as messages:
        other.ready("t", peers=0)
        for number in range(1000):
            one.publish("t", b"%d" % number)
        found = []
        for message in messages:
            found.append(int(message.payload))
            if len(found) == 1000:
                messages.close()
    assert found == list(range(1000))
    with pytest.raises(NodeStateError, match="has ended"):
        messages.get(timeout=5)


def test_get_raises_a_timeout_error_when_no_message_arrives(pair):
    with pair[0].subscribe("t") as messages, pytest.raises(TimeoutError, match=r"no message on 't' within 0\.05 s"):
        messages.get(timeout=0.05)


def test_the_messages_that_a_slow_reader_drops_are_counted(pair):
    one, other = pair
    with other.subscribe("t", slow="drop", queue=10) as messages:
        one.publish("t", b"first")
        messages.get(timeout=10)
        for number in range(2000):
            one.publish("t", b"%d" % number)
        found = [messages.get(timeout=10)]
        while int(found[-1].payload) != 1999:
            found.append(messages.get(timeout=10))
        assert len(found) + messages.dropped == 2000
        assert messages.dropped > 0


def test_closing_from_another_thread_ends_a_reader(pair):
    one, _ = pair
    with one.subscribe("t") as messages:

        def close_a_waiting_reader():
            until_now(lambda: messages._changed._waiters)
            one.close()

        closing = threading.Thread(target=close_a_waiting_reader)
        closing.start()
        assert list(messages) == []
        closing.join()
    one.close()
    with pytest.raises(NodeStateError, match="is not running"):
        one.publish("t", b"")


def test_a_sync_node_works_inside_a_running_event_loop():
    async def notebook():
        with SyncNode() as node:
            return node.status().address == node.address

    assert asyncio.run(notebook())


def test_a_node_that_cannot_start_leaves_no_thread():
    before = threading.active_count()
    with SyncNode() as one, pytest.raises(InputError, match="in use"), SyncNode(one.address):
        pass
    assert threading.active_count() == before
    with pytest.raises(NodeStateError, match="is not running"):
        SyncNode().status()


CTRL_C = """
import gossamer
with gossamer.SyncNode() as node, node.subscribe("t") as messages:
    try:
        print("waits", flush=True)
        next(messages)
    except KeyboardInterrupt:
        print("stopped", flush=True)
"""


def test_ctrl_c_ends_a_script_that_waits():
    with subprocess.Popen([sys.executable, "-c", CTRL_C], stdout=subprocess.PIPE, text=True) as script:
        assert script.stdout.readline() == "waits\n"
        script.send_signal(signal.SIGINT)
        assert script.stdout.read() == "stopped\n"
        assert script.wait(20) == 0
