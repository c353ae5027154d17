"""Requests and replies, on live nodes in virtual time and, for the node without asyncio, on sockets."""

import asyncio
import threading

import pytest

import gossamer.testing
from gossamer import InputError, NodeStateError, NoReply, Security, SyncNode
from tests.live.conftest import QUICK


async def serve(node, answer, topic="square"):
    """Reply to requests until cancelled."""
    async with node.replies(topic, codec="json") as requests:
        async for request in requests:
            await request.reply(answer(request.payload))


def run(count, scenario, **options):
    """Run a scenario with this many nodes in virtual time."""

    async def started(network):
        nodes = [network.node(**options)]
        await nodes[0].start()
        for _ in range(count - 1):
            nodes.append(network.node(join=nodes[0].address, **options))
            await nodes[-1].start()
        return await scenario(network, nodes)

    return gossamer.testing.run(started, seed=3)


def test_a_request_gets_the_first_reply():
    async def scenario(network, nodes):
        one, other = nodes
        serving = asyncio.create_task(serve(other, lambda number: number**2))
        found = [await one.request("square", number, codec="json") for number in range(5)]
        serving.cancel()
        return [reply.payload for reply in found], {reply.publisher for reply in found}, other.hex_id

    payloads, publishers, replier = run(2, scenario)
    assert payloads == [0, 1, 4, 9, 16]
    assert publishers == {replier}


def test_requests_of_many_nodes_at_once_each_get_their_own_replies():
    async def scenario(network, nodes):
        serving = [asyncio.create_task(serve(node, lambda number: number + 1)) for node in nodes[:2]]
        asked = [nodes[2 + number % 3].request("square", number, codec="json") for number in range(60)]
        replies = await asyncio.gather(*asked)
        for task in serving:
            task.cancel()
        return [reply.payload for reply in replies]

    assert run(5, scenario) == [number + 1 for number in range(60)]


def test_request_all_gathers_one_reply_of_each_node_that_replies():
    async def scenario(network, nodes):
        serving = [asyncio.create_task(serve(node, lambda _, name=node.hex_id: name)) for node in nodes[1:]]
        await nodes[0].request("square", 1, codec="json")
        began = network.now_seconds
        replies = await nodes[0].request_all("square", 1, codec="json", timeout=4)
        seconds = network.now_seconds - began
        some = await nodes[0].request_all("square", 1, codec="json", timeout=4, most=2)
        for task in serving:
            task.cancel()
        return sorted(reply.payload for reply in replies), sorted(node.hex_id for node in nodes[1:]), seconds, len(some)

    replies, repliers, seconds, some = run(6, scenario)
    assert replies == repliers
    assert seconds == pytest.approx(4, abs=0.1)
    assert some == 2


def test_without_a_node_that_replies_nothing_is_sent_and_the_error_says_so_within_three_seconds():
    async def scenario(network, nodes):
        one, other = nodes
        async with other.subscribe("square") as listener:
            began = network.now_seconds
            with pytest.raises(
                NoReply, match="no node that replies on 'square' was found within 3 s; nothing was sent"
            ):
                await one.request("square", b"", timeout=60)
            seconds = network.now_seconds - began
            return seconds, await one.request_all("square", b""), listener.waiting

    assert run(2, scenario) == (pytest.approx(3, abs=0.1), [], 0)


def test_a_node_that_replies_too_late_gives_no_reply_in_time():
    async def scenario(network, nodes):
        one, other = nodes
        async with other.replies("square") as requests:
            with pytest.raises(NoReply, match="within 2 s; a node may have carried the request out"):
                await one.request("square", b"", timeout=2)
            late = await anext(requests)
            await late.reply(b"late")
            with pytest.raises(NodeStateError, match="answered already"):
                await late.reply(b"again")
            asked = asyncio.create_task(one.request("square", b"x"))
            await (await anext(requests)).reply(b"in time")
            return (await asked).payload

    assert run(2, scenario) == b"in time"


def test_a_node_answers_its_own_request():
    async def scenario(network, nodes):
        serving = asyncio.create_task(serve(nodes[0], lambda number: -number))
        await asyncio.sleep(0)
        reply = await nodes[0].request("square", 7, codec="json")
        serving.cancel()
        return reply.payload, reply.hops

    assert run(1, scenario) == (-7, 0)


def test_a_node_that_stops_ends_its_open_requests():
    async def scenario(network, nodes):
        one, other = nodes
        async with other.replies("square") as requests:
            asked = asyncio.create_task(one.request("square", b"", timeout=60))
            await anext(requests)
            await one.stop()
            with pytest.raises(NodeStateError, match="stopped during the call"):
                await asked

    run(2, scenario)


def test_a_message_that_is_no_reply_is_counted_and_dropped():
    async def scenario(network, nodes):
        one, other = nodes
        async with other.replies("square") as requests:
            asked = asyncio.create_task(one.request("square", b""))
            request = await anext(requests)
            await other.publish("square/replies", b"short")
            await request.reply(b"reply")
            return (await asked).payload, one.status().counts["reply not readable"]

    assert run(2, scenario) == (b"reply", 1)


def test_a_secret_of_one_of_the_two_topics_is_refused():
    node = gossamer.Node(system="stan", security=Security(secrets={"square": b"x" * 32}))
    with pytest.raises(InputError, match="give both 'square' and 'square/replies' a secret, or neither"):
        node.replies("square")


def test_requests_work_where_nodes_do_not_disclose_topics():
    async def scenario(network, nodes):
        serving = asyncio.create_task(serve(nodes[1], lambda number: number**2))
        await asyncio.sleep(5)
        reply = await nodes[0].request("square", 3, codec="json", timeout=20)
        serving.cancel()
        return reply.payload

    secrets = {"square": b"x" * 32, "square/replies": b"y" * 32}
    assert run(3, scenario, system="stan", security=Security(secrets=secrets)) == 9


@pytest.mark.parametrize(("timeout", "most"), [(0, None), (-1, None), (1, 0)])
def test_a_wrong_timeout_or_number_is_an_error(timeout, most):
    async def scenario(network, nodes):
        with pytest.raises(InputError, match=r"`timeout`|`most`"):
            await nodes[0].request_all("square", b"", timeout=timeout, most=most)

    run(1, scenario)


def test_a_script_asks_and_replies():
    with SyncNode(settings=QUICK) as one, SyncNode(join=one.address, settings=QUICK) as other:
        with other.replies("square", codec="json") as requests:

            def work():
                for request in requests:
                    request.reply(request.payload**2)

            thread = threading.Thread(target=work)
            thread.start()
            assert one.request("square", 9, codec="json").payload == 81
            assert [reply.payload for reply in one.request_all("square", 2, codec="json", most=1)] == [4]
            requests.close()
            thread.join(10)
            assert not thread.is_alive()
