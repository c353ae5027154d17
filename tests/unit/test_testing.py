"""`gossamer.testing`: real nodes in memory and virtual time."""

import asyncio
import time

import pytest

import gossamer
from gossamer.testing import run

# Long enough that a test which really waited would show it.
HOUR = 3_600.0


def test_virtual_time_passes_without_waiting():
    async def scenario(network):
        await asyncio.sleep(HOUR)
        return network.now_seconds

    began = time.monotonic()
    assert run(scenario) == pytest.approx(HOUR)
    assert time.monotonic() - began < HOUR / 100


async def exchange(network):
    """Three nodes, one message; what each received, when, and the identities."""
    async with (
        network.node() as one,
        network.node(join=[one.address]) as two,
        network.node(join=[one.address]) as three,
    ):
        async with two.subscribe("t") as second, three.subscribe("t") as third, one.publisher("t") as publisher:
            await one.ready("t", peers=2)
            await publisher.publish(b"hello")
            got = [(await anext(messages)).payload for messages in (second, third)]
            return got, network.now_seconds, [node.hex_id for node in (one, two, three)]


def test_nodes_find_each_other_and_messages_arrive():
    assert run(exchange)[0] == [b"hello", b"hello"]


def test_one_seed_decides_identities_and_times_and_another_seed_decides_others():
    assert run(exchange, seed=5) == run(exchange, seed=5)
    assert run(exchange, seed=5)[1:] != run(exchange, seed=6)[1:]


def test_a_longer_latency_takes_longer():
    assert run(exchange, latency_us=(200_000, 200_000))[1] > run(exchange, latency_us=(1_000, 1_000))[1]


def test_messages_published_in_a_partition_arrive_after_it_in_their_order():
    async def scenario(network):
        async with network.node() as one, network.node(join=[one.address]) as two:
            async with two.subscribe("t") as messages, one.publisher("t") as publisher:
                await one.ready("t")
                network.partition([one], [two])
                for number in range(5):
                    await publisher.publish(b"%d" % number)
                await asyncio.sleep(1)
                held_back = messages.waiting
                network.heal()
                return held_back, [(await anext(messages)).payload for _ in range(5)]

    assert run(scenario) == (0, [b"0", b"1", b"2", b"3", b"4"])


class Received(asyncio.Protocol):
    def __init__(self):
        self.data, self.lost = b"", False

    def data_received(self, data):
        self.data += data

    def connection_lost(self, error):
        self.lost = True


async def connect(network):
    """A connection between the endpoints of two nodes; returns the nodes, the dialling end and both protocols."""
    nodes = network.node(), network.node()
    ends = Received(), Received()
    port = network.listen(nodes[1]._environment, lambda: ends[1], 0)
    transport, _ = await network.dial(nodes[0]._environment, lambda: ends[0], port)
    return nodes, transport, ends


@pytest.mark.parametrize(("apart", "after"), [(1, 0.4), (30, 21), (150, 54.6)])
def test_bytes_that_a_partition_held_back_arrive_when_tcp_sends_them_again(apart, after):
    async def scenario(network):
        (one, two), transport, (_, other) = await connect(network)
        network.partition([one], [two])
        transport.write(b"held back")
        await asyncio.sleep(apart)
        network.heal()
        healed = network.now_seconds
        transport.write(b", in order")
        while not other.data:
            await asyncio.sleep(0.01)
        assert other.data == b"held back, in order"
        return network.now_seconds - healed

    assert run(scenario) == pytest.approx(after, abs=0.05)


def test_an_end_that_aborts_in_a_partition_answers_later_bytes_with_a_reset():
    async def scenario(network):
        (one, two), transport, (mine, other) = await connect(network)
        network.partition([one], [two])
        transport.abort()
        await asyncio.sleep(1)
        assert (mine.lost, other.lost) == (True, False)
        network.heal()
        await asyncio.sleep(100)
        assert not other.lost, "nothing was sent"
        network._connections[0].ends[1].write(b"are you there?")
        await asyncio.sleep(1)
        assert other.lost

    run(scenario)


def test_a_connection_that_is_dialled_in_a_partition_opens_after_it():
    async def scenario(network):
        one, two = network.node(), network.node()
        port = network.listen(two._environment, Received, 0)
        network.partition([one], [two])
        dial = asyncio.create_task(network.dial(one._environment, Received, port))
        await asyncio.sleep(5)
        assert not dial.done()
        network.heal()
        await asyncio.sleep(4)
        assert dial.done()

    run(scenario)


def test_links_come_back_after_all_connections_were_reset():
    async def scenario(network):
        async with network.node() as one, network.node(join=[one.address]) as two:
            async with two.subscribe("t") as messages, one.publisher("t") as publisher:
                await one.ready("t")
                broken = network.break_connections()
                await asyncio.sleep(10)
                await publisher.publish(b"again")
                return broken > 0, (await anext(messages)).payload

    assert run(scenario) == (True, b"again")


def test_a_crashed_node_sends_no_goodbye():
    async def scenario(network):
        async with (
            network.node() as one,
            network.node(join=[one.address]) as two,
            two.subscribe("t"),
            one.subscribe("t"),
        ):
            await one.ready("t")
            before = len(one.status().links)
            await network.crash(two)
            await asyncio.sleep(10)
            return before, len(one.status().links), two.is_running

    assert run(scenario) == (1, 0, False)


def test_a_scenario_that_waits_for_ever_is_an_error_and_not_a_hang():
    async def scenario(network):
        await asyncio.get_running_loop().create_future()

    with pytest.raises(gossamer.MachineMisuse, match="would never end"):
        run(scenario)


@pytest.mark.parametrize("latency_us", [(5, 1), (-1, 1)])
def test_a_wrong_latency_is_refused(latency_us):
    with pytest.raises(gossamer.InputError, match="latency_us must be"):
        run(exchange, latency_us=latency_us)


def test_keys_are_refused_because_there_is_no_tls(tmp_path):
    from gossamer.live.security.authority import issue, make_authority

    make_authority(tmp_path / "authority")
    issue(tmp_path / "authority", "one", tmp_path / "one")

    async def scenario(network):
        async with network.node(security=gossamer.Security(keys=tmp_path / "one")):
            pass

    with pytest.raises(gossamer.InputError, match="carries no TLS"):
        run(scenario)


def test_the_checkers_are_there_for_simulations():
    assert gossamer.testing.all_checkers()
