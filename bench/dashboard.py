"""The dashboard's page in Chromium with software rendering: first paint, and frames a second with 2,000 nodes and 20,000 links.

Needs Chromium (`make browser`). Half of the links join nodes that are near on a ring, half are random.
"""

import asyncio
import random
import shutil
import time
from typing import Any

from bench.report import show
from gossamer.protocols.telemetry import AnyRecord, InterestChanged, LinkChanged, NodeStarted
from gossamer.web.recorded import RecordedRun
from gossamer.web.server import Dashboard

SIZES = ((20, 70), (500, 2_500), (2_000, 20_000))
TOPICS, FOLLOWED = 200, 10
SECONDS = 8
FLAGS = ("--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-background-networking")
# Turns the camera in every frame.
TURN = """() => { const camera = gossamer.panes[0].picture.sigma.getCamera();
  const turn = () => { camera.setState({angle: performance.now() / 4000}); requestAnimationFrame(turn); }; turn(); }"""
# Lets the layout go on for ever.
GO_ON = """() => { const {picture, nodes} = gossamer.panes[0]; const names = nodes.map(node => node[0]);
  const links = picture.graph.mapEdges((edge, data, one, other) => [one, other]);
  setInterval(() => picture.worker.postMessage({version: picture.version, nodes: names, links}), 1000); }"""
PAINT = "() => performance.getEntriesByName('first-contentful-paint')[0].startTime"


def run() -> None:
    """Measure and print."""
    rows = [asyncio.run(_measure(*size)) for size in SIZES]
    columns = ["nodes", "links", "first frame ms", "first paint ms", "frames/s, nodes move", "links drawn"]
    show("The dashboard in software rendering", [*columns, "frames/s, camera turns", "links drawn"], rows)


def _records(nodes: int, links: int) -> list[AnyRecord]:
    chance = random.Random(1)
    records: list[AnyRecord] = []
    for node in range(nodes):
        records.append(NodeStarted(0, node))
        records += [InterestChanged(0, node, topic, 3) for topic in chance.sample(range(TOPICS), FOLLOWED)]
    pairs: set[tuple[int, int]] = set()
    while len(pairs) < links:
        one = chance.randrange(nodes)
        other = (one + chance.randrange(1, min(40, nodes) if len(pairs) % 2 else nodes)) % nodes
        pairs.add((min(one, other), max(one, other)))
    return records + [LinkChanged(1, one, other, True) for one, other in sorted(pairs)]


async def _measure(nodes: int, links: int) -> list[Any]:
    from playwright.async_api import async_playwright

    run = RecordedRun("bench", _records(nodes, links), is_live=False)
    began = time.monotonic()
    run.frame(1)
    first = 1000 * (time.monotonic() - began)
    dashboard = Dashboard([run])
    url = await dashboard.listen("127.0.0.1:0")
    async with async_playwright() as started:
        browser = await started.chromium.launch(executable_path=shutil.which("chromium"), args=list(FLAGS))
        page = await browser.new_page(viewport={"width": 1280, "height": 800})
        await page.goto(url)
        await page.wait_for_function("() => gossamer.panes[0]?.frame")
        paint = await page.evaluate(PAINT)
        await page.evaluate("() => { const time = document.getElementById('time'); time.value = 1000; }")
        await page.evaluate("() => document.getElementById('time').dispatchEvent(new Event('input'))")
        await page.wait_for_function("count => gossamer.panes[0].picture.graph.size === count", arg=links)
        await page.evaluate(GO_ON)
        # The number of links adapts to the machine first.
        await asyncio.sleep(SECONDS / 2)
        moving = await _frames(page)
        await page.evaluate(TURN)
        await asyncio.sleep(SECONDS / 2)
        turning = await _frames(page)
        await browser.close()
    await dashboard.close()
    return [f"{nodes:,}", f"{links:,}", f"{first:.0f}", f"{paint:.0f}", *moving, *turning]


async def _frames(page: Any) -> list[str]:
    """Frames a second over some seconds, and how many links are drawn while the picture moves."""
    await page.evaluate("() => { gossamer.panes[0].picture.frames = 0; }")
    began = time.monotonic()
    await asyncio.sleep(SECONDS)
    picture = "gossamer.panes[0].picture"
    frames, drawn = await page.evaluate(
        f"() => [{picture}.frames, Math.min({picture}.movingLinks, {picture}.graph.size)]"
    )
    return [f"{frames / (time.monotonic() - began):.0f}", f"{drawn:,}"]
