"""The dashboard's server: the token, other origins, wrong requests, and a fleet that it shows and changes."""

import asyncio
import json
import re
import signal
import subprocess
import sys

import pytest

from gossamer import InputError, Node
from gossamer.live.fleet.member import MemberSettings
from gossamer.live.fleet.network import Fleet
from gossamer.web.server import Dashboard
from gossamer.web.showing import show_fleet, show_nodes
from tests.live.conftest import QUICK
from tests.live.test_http import ask
from tests.waiting import until


class Still:
    """A network that never changes."""

    title = "still"

    def frame(self, at_us, **wanted):
        return {"at_us": at_us, **wanted}


def served(scenario, **options):
    """Run a scenario with a dashboard's address and token."""

    async def run():
        dashboard = Dashboard([Still()], **options)
        url = await dashboard.listen("127.0.0.1:0")
        try:
            address, _, token = url.removeprefix("http://").partition("/#")
            return await scenario(address, token)
        finally:
            await dashboard.close()

    return asyncio.run(run())


async def request(address, path, token="", body=None, **headers):
    lines = [f"{'GET' if body is None else 'POST'} {path} HTTP/1.1", f"Host: {address}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if token:
        lines.append(f"Authorization: Bearer {token}")
    content = b"" if body is None else json.dumps(body).encode()
    lines.append(f"Content-Length: {len(content)}")
    head, answer = await ask(address, "\r\n".join(lines).encode() + b"\r\n\r\n" + content)
    return int(head.split(" ")[1]), head, answer


@pytest.mark.parametrize("path", ["/api/about", "/api/frame", "/api/report", "/api/control", "/api/nothing"])
def test_without_the_right_token_nothing_but_the_page_is_answered(path):
    async def scenario(address, token):
        return [
            await request(address, path, given, body) for given in ("", token + "x", token[:-1]) for body in (None, {})
        ]

    for status, _, answer in served(scenario):
        assert status == 401
        assert b"the token is wrong" in answer


def test_the_page_and_its_files_forbid_everything_from_other_hosts():
    async def scenario(address, token):
        return [
            await request(address, path) for path in ("/", "/page.js", "/page.css", "/vendor-graph.js", "/layout.js")
        ]

    for status, head, answer in served(scenario):
        assert status == 200
        assert "default-src 'none'; script-src 'self'" in head
        assert "frame-ancestors 'none'" in head
        assert "Access-Control-Allow" not in head
        # A namespace is a name, not an address.
        assert not re.findall(rb"""(?:src|href|import|from|fetch\()\s*=?\s*["'](?:https?:)?//""", answer)


def test_a_page_of_another_origin_can_neither_read_nor_act_even_with_the_token():
    async def scenario(address, token):
        own, other = f"http://{address}", "http://127.0.0.1:1"
        asked = [
            ("/api/frame", None, other),
            ("/api/control", {}, other),
            ("/api/frame", None, own),
            ("/api/frame", None, "null"),
        ]
        return [await request(address, path, token, body, Origin=origin) for path, body, origin in asked]

    answers = served(scenario)
    assert [status for status, _, _ in answers] == [403, 403, 200, 403]
    assert not any("Access-Control-Allow" in head for _, head, _ in answers)


def test_wrong_requests_get_one_sentence():
    async def scenario(address, token):
        asked = [
            ("/api/frame?run=1", None),
            ("/api/frame?at_us=x", None),
            ("/api/control", {"action": "add"}),
            ("/api/frame", {}),
        ]
        return [await request(address, path, token, body) for path, body in asked]

    wrong_run, wrong_number, no_controls, wrong_method = served(scenario)
    assert (wrong_run[0], wrong_run[2]) == (400, b'{"error":"there is no run 1"}')
    assert b"at_us must be a whole number" in wrong_number[2]
    assert b"can be watched" in no_controls[2]
    assert wrong_method[0] == 405


def test_the_wishes_of_the_page_reach_the_network():
    async def scenario(address, token):
        return await request(
            address, "/api/frame?at_us=7&topic=a%20b&message=m&version=3&after_us=4&after_happening=5", token
        )

    assert json.loads(served(scenario)[2]) == {
        "at_us": 7,
        "topic": "a b",
        "message": "m",
        "version": 3,
        "after_us": 4,
        "after_happening": 5,
    }


def test_a_port_that_is_taken_and_an_address_that_others_reach_are_refused():
    async def scenario(address, token):
        with pytest.raises(InputError, match=f"cannot serve the dashboard on {address}: address already in use"):
            await Dashboard([]).listen(address)
        with pytest.raises(InputError, match="the token would cross the network in the clear"):
            await Dashboard([]).listen("0.0.0.0:0")

    served(scenario)


def settings(folder, count):
    return [
        MemberSettings(
            index=index,
            topics=(0, 1),
            rates=(2.0, 0.0),
            join=(),
            folder=str(folder),
            seed=1,
            payload_bytes=16,
            system="spidercast",
            settings=QUICK,
            dissemination=None,
            dissemination_settings={},
            record=False,
            logs=False,
        )
        for index in range(count)
    ]


def test_a_fleet_is_shown_and_changed(tmp_path):
    async def run():
        async with Fleet(tmp_path, settings(tmp_path, 4), lambda text: None) as fleet:
            await fleet.start()
            await fleet.tell("publish")
            async with show_fleet(fleet, "127.0.0.1:0") as (url, controls):
                address, _, token = url.removeprefix("http://").partition("/#")

                async def frame(**wanted):
                    query = "&".join(f"{name}={value}" for name, value in wanted.items())
                    return json.loads((await request(address, f"/api/frame?{query}", token))[2])

                async def order(**content):
                    return await request(address, "/api/control", token, content)

                async def nodes():
                    return {node[0]: node[3] for node in (await frame())["nodes"]}

                await _check_life(frame, order, nodes)
                await _check_refusals(order)
                assert controls.done == 6

    asyncio.run(run())


async def _check_life(frame, order, nodes):
    async def is_complete():
        rows = (await frame())["topics"]
        return len(rows) == 2 and rows[0]["expected"] and all(row["components"] == 1 for row in rows) and rows

    rows = await until(is_complete)
    assert [row["subscribers"] for row in rows] == [4, 4]
    assert set(await nodes()) == {"n0", "n1", "n2", "n3"}
    assert json.loads((await order(action="add"))[2]) == {"done": "node n4 joins the network"}

    async def has(name):
        return (await nodes()).get(name)

    assert await until(lambda: has("n4")) == ["topic/0", "topic/1"]
    assert (await order(action="follow", node="n4", topics=["topic/1", "news"]))[0] == 200

    async def follows_news():
        return await has("n4") == ["news", "topic/1"]

    await until(follows_news)
    assert (await order(action="publish", node="n1", topic="topic/1", text="hello"))[0] == 200

    async def message():
        return next((row for row in (await frame(topic="topic/1"))["messages"] if row["arrived"] == 4), None)

    found = await until(message)
    assert found["publisher"] == "n1"
    way = (await frame(message=found["name"]))["message"]
    assert {copy[1] for copy in way["copies"] if not copy[3]} == {"n0", "n2", "n3", "n4"}
    assert (await order(action="stop", node="n4"))[0] == 200
    assert (await order(action="kill", node="n3"))[0] == 200

    async def are_gone():
        return set(await nodes()) == {"n0", "n1", "n2"}

    await until(are_gone)
    killed = json.loads((await order(action="kill", share=0.3))[2])["done"]
    assert re.fullmatch(r"killed 1: n[012]", killed)


async def _check_refusals(order):
    wrong = [
        {"action": "heal"},
        {"action": "stop", "node": "n4"},
        {"action": "follow"},
        {"action": "kill", "share": 7},
        {"action": "kill", "nodes": 3},
        {"action": "explode"},
        {"action": "publish", "node": "n0"},
    ]
    for content in wrong:
        status, _, answer = await order(**content)
        assert status == 400
        assert json.loads(answer)["error"]


def test_nodes_that_run_elsewhere_are_shown_with_their_neighbours():
    async def run():
        async with Node(settings=QUICK) as one, Node(join=[one.address], settings=QUICK) as other:
            async with one.subscribe("prices"), other.subscribe("prices"):
                await one.ready("prices")
                from gossamer.live.operations.status_server import serve_status

                server = await serve_status(one, "127.0.0.1:0")
                async with show_nodes([server.address], "127.0.0.1:0") as url:
                    address, _, token = url.removeprefix("http://").partition("/#")
                    frame = json.loads((await request(address, "/api/frame", token))[2])
                await server.close()
                return one, other, frame

    one, other, frame = asyncio.run(run())
    assert [node[0] for node in frame["nodes"]] == [one.hex_id, other.hex_id]
    assert frame["links"] in ([0, 1], [1, 0])


def test_the_command_shows_a_demonstration_until_it_is_stopped(tmp_path):
    command = [sys.executable, "-m", "gossamer", "dashboard", "--no-browser", "--nodes", "3", "--topics", "2"]
    with subprocess.Popen(
        [*command, "--subscriptions", "2"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path
    ) as running:
        url = running.stdout.readline().strip()
        address, _, token = url.removeprefix("http://").partition("/#")
        status, _, answer = asyncio.run(request(address, "/api/about", token))
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=60)
    assert (status, json.loads(answer)["controls"]) == (200, True)
    assert running.returncode == 0, errors
    assert "3 nodes run on this machine" in errors


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["a", "b", "c"], "one run, or two side by side; got 3"),
        (["a", "--live", "127.0.0.1:1"], "give runs or --live, not both"),
        (["nowhere"], "nowhere is no folder"),
        (["--live", "nonsense"], "--live must be HOST:PORT"),
        (["--system", "planned"], "planned needs a plan"),
        (["--listen", "0.0.0.0:0", "--live", "127.0.0.1:1"], "--insecure"),
    ],
)
def test_wrong_arguments_are_refused_in_one_sentence(gossamer, arguments, sentence):
    code, _, errors = gossamer("dashboard", "--no-browser", *arguments)
    assert code == 2
    assert sentence in errors
    assert len(errors.strip().splitlines()) == 1
