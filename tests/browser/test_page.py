"""The dashboard's page in a real browser."""

from contextlib import asynccontextmanager

import pytest

from gossamer.live.fleet.network import Fleet
from gossamer.protocols.telemetry import (
    CopyReceived,
    InterestChanged,
    LinkChanged,
    MessageDelivered,
    MessagePublished,
    NodeStarted,
)
from gossamer.web.recorded import RecordedRun
from gossamer.web.server import Dashboard
from gossamer.web.showing import show_fleet
from tests.browser.conftest import in_background
from tests.live.test_dashboard import settings

S = 1_000_000
NODES = 12


def run_of(title, step):
    """A ring of nodes, and from the fifth second links between nodes `step` apart; even nodes follow topic 2, all topic 1."""
    records = [NodeStarted(0, node) for node in range(NODES)]
    for node in range(NODES):
        records.append(InterestChanged(0, node, 1, 3))
        records += [InterestChanged(0, node, 2, 3)] if node % 2 == 0 else []
        records.append(LinkChanged(S, node, (node + 1) % NODES, True))
        records.append(LinkChanged(5 * S, node, (node + step) % NODES, True))
    records.append(MessagePublished(6 * S, 0, 2, 77))
    for node in range(2, NODES, 2):
        records.append(CopyReceived(6 * S + node, node, node - 2, 2, 0, 77, node // 2 - 1, ""))
        records.append(MessageDelivered(6 * S + node, node, 2, 0, 77, node // 2, 6 * S))
    records.append(CopyReceived(6 * S + 20, 2, 4, 2, 0, 77, 2, "a copy came before"))
    records.append(LinkChanged(10 * S, 0, 6, True))
    return RecordedRun(title, records, is_live=False)


@asynccontextmanager
async def shown(*runs, **options):
    dashboard = Dashboard(runs, **options)
    yield await dashboard.listen("127.0.0.1:0")
    await dashboard.close()


@pytest.fixture
def url():
    """The address of a dashboard with one run."""
    with in_background(shown(run_of("one", 2))) as url:
        yield url


def go_to(page, second):
    """Move the slider."""
    page.evaluate(
        "share => { const time = document.getElementById('time'); time.value = 1000 * share;"
        " time.dispatchEvent(new Event('input')); }",
        second / 10,
    )
    page.wait_for_function("second => Math.abs(gossamer.panes.at(-1).frame.at_us / 1e6 - second) < 0.02", arg=second)


def topic_row(page, name):
    return page.locator("#topics tbody tr", has=page.get_by_role("button", name=name, exact=True))


def test_the_picture_has_the_nodes_and_links_of_the_moment_and_the_tables_have_the_numbers_of_the_api(open_page, url):
    page = open_page(url)
    page.wait_for_selector("#topics tbody tr")
    sizes = "() => [gossamer.panes[0].picture.graph.order, gossamer.panes[0].picture.graph.size]"
    assert page.evaluate(sizes) == [12, 0]
    go_to(page, 3)
    assert page.evaluate(sizes) == [12, 12]
    go_to(page, 9)
    assert page.evaluate(sizes) == [12, 24]
    frame = page.evaluate("() => gossamer.panes[0].frame")
    for row in frame["topics"]:
        cells = topic_row(page, row["name"]).locator("td").all_inner_texts()
        complete = "100%" if row["arrived"] == row["expected"] > 0 else ""
        assert cells[1:] == [str(row["subscribers"]), str(row["components"]), str(row["diameter"]), complete]
    assert {row["name"]: (row["components"], row["arrived"]) for row in frame["topics"]} == {
        "topic 1": (1, 0),
        "topic 2": (1, 5),
    }
    assert "12 nodes · 24 links · 2 of 2 topics connected" in page.inner_text(".pane p")
    assert "link 0 - 2 up" in page.inner_text("#happenings")
    go_to(page, 3)
    assert page.evaluate(sizes) == [12, 12]
    assert "link 0 - 2 up" not in page.inner_text("#happenings")
    assert topic_row(page, "topic 2").locator("td.bad").inner_text() == "6"
    # The address bar does not keep the token.
    assert "#" not in page.url


def test_choosing_a_topic_lights_exactly_its_subscribers_and_escape_chooses_nothing(open_page, url):
    page = open_page(url)
    page.wait_for_selector("#topics tbody tr")
    go_to(page, 9)
    # By keyboard: the row's button has the focus, and keeps it while the table is filled anew.
    page.get_by_role("button", name="topic 2", exact=True).focus()
    page.keyboard.press("Enter")
    page.wait_for_function("() => gossamer.panes[0].picture.lit")
    color = """wanted => { const {picture} = gossamer.panes[0];
      return picture.graph.nodes().filter(node => picture.sigma.getNodeDisplayData(node).color === picture.colors[wanted]); }"""
    assert page.evaluate(color, "lit") == [str(node) for node in range(0, 12, 2)]
    assert page.evaluate(color, "link") == [str(node) for node in range(1, 12, 2)]
    links = """() => { const {picture} = gossamer.panes[0];
      return picture.graph.edges().filter(edge => picture.sigma.getEdgeDisplayData(edge).color === picture.colors.lit).length; }"""
    assert page.evaluate(links) == 6
    assert page.evaluate("() => document.activeElement.dataset.name") == "topic 2"
    page.keyboard.press("Escape")
    page.wait_for_function("() => !gossamer.panes[0].picture.lit")
    assert not page.evaluate(color, "lit")


def test_the_way_of_a_message_is_shown_hop_by_hop(open_page, url):
    page = open_page(url)
    page.wait_for_selector("#topics tbody tr")
    go_to(page, 9)
    page.locator("#messages tbody button").first.click()
    page.wait_for_selector("#hops tbody tr")
    rows = [row.split("\t") for row in page.locator("#hops tbody tr").all_inner_texts()]
    assert [row[1:3] for row in rows[:2]] == [["0", "2"], ["2", "4"]]
    assert rows[-1][3] == "a copy came before"
    assert page.evaluate("() => gossamer.panes[0].picture.flights.length") == 6
    page.wait_for_function("() => gossamer.panes[0].picture.flights.length === 0")


def test_a_run_plays_and_pauses_by_the_space_bar(open_page, url):
    page = open_page(url)
    page.wait_for_selector("#topics tbody tr")
    page.keyboard.press("Space")
    page.wait_for_function("() => gossamer.panes[0].frame.at_us > 500000")
    page.keyboard.press("Space")
    assert page.get_attribute("#play", "aria-pressed") == "false"


def test_two_runs_stand_side_by_side_at_the_same_time(open_page):
    with in_background(shown(run_of("one", 2), run_of("other", 3))) as url:
        page = open_page(url)
        page.wait_for_selector("#topics tbody tr")
        go_to(page, 9)
        boxes = [box.bounding_box() for box in page.locator(".pane").all()]
        assert boxes[0]["y"] == boxes[1]["y"]
        assert boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"]
        assert page.locator(".pane h2").all_inner_texts() == ["one", "other"]
        assert page.evaluate("() => gossamer.panes.map(pane => pane.picture.graph.size)") == [24, 24]
        assert page.evaluate("() => gossamer.panes.map(pane => pane.frame.topics[1].components)") == [1, 6]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_everything_without_scrolling_sideways(open_page, url, scheme):
    phone = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True, "color_scheme": scheme}
    page = open_page(url, **phone)
    page.wait_for_selector("#topics tbody tr")
    assert page.evaluate("() => document.documentElement.scrollWidth") == 390
    back = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    assert (back == "rgb(20, 24, 27)") == (scheme == "dark")
    page.get_by_role("button", name="topic 1", exact=True).tap()
    page.wait_for_function("() => gossamer.panes[0].picture.lit")


def test_a_wrong_token_is_one_sentence_and_the_right_one_opens_the_page(open_page, url):
    address, _, token = url.partition("#")
    page = open_page(address + "#wrong", allowed="401")
    page.wait_for_selector("#ask-token:not([hidden])")
    assert page.inner_text("#status") == "the token is wrong: use the address that gossamer dashboard printed"
    page.fill("#token", token)
    page.keyboard.press("Enter")
    page.wait_for_selector("#topics tbody tr")


def test_a_page_of_another_origin_can_neither_read_nor_act(browser, url):
    address, _, token = url.partition("#")
    with in_background(shown(run_of("other", 3))) as elsewhere:
        page = browser.new_context().new_page()
        page.goto(elsewhere.replace("127.0.0.1", "localhost"))
        tried = """async ([address, token]) => {
          const found = [];
          for (const options of [{}, {headers: {Authorization: `Bearer ${token}`}}, {method: "POST", mode: "no-cors"}]) {
            try { const answer = await fetch(address + "api/frame", options); found.push(await answer.text()); }
            catch (error) { found.push("refused"); }
          }
          return found; }"""
        assert page.evaluate(tried, [address, token]) == ["refused"] * 3
        page.context.close()


def test_the_report_of_a_study_is_shown(open_page, tmp_path):
    (tmp_path / "report.html").write_text("<style>h1 {color: rgb(1, 2, 3)}</style><h1>Which overlay?</h1>")
    with in_background(shown(report=tmp_path / "report.html")) as url:
        page = open_page(url)
        title = page.frame_locator("#report").locator("h1")
        assert title.inner_text() == "Which overlay?"
        assert title.evaluate("node => getComputedStyle(node).color") == "rgb(1, 2, 3)"


@asynccontextmanager
async def fleet_shown(folder):
    async with Fleet(folder, settings(folder, 6), lambda text: None) as fleet:
        await fleet.start()
        await fleet.tell("publish")
        async with show_fleet(fleet, "127.0.0.1:0") as (url, _):
            yield url


def test_killing_nodes_shows_the_gap_and_the_mending(open_page, tmp_path):
    with in_background(fleet_shown(tmp_path)) as url:
        page = open_page(url)
        is_whole = """count => { const {frame, picture} = gossamer.panes[0] ?? {};
          return frame && frame.counts.nodes === count && picture.graph.order === count && frame.topics.length === 2
            && frame.topics.every(topic => topic.components === 1 && topic.subscribers === count); }"""
        page.wait_for_function(is_whole, arg=6)
        page.get_by_role("button", name="Kill 20%").click()
        page.wait_for_function("() => document.getElementById('answer').textContent.startsWith('killed 1: ')")
        gone = page.inner_text("#answer").removeprefix("killed 1: ")
        page.wait_for_function(is_whole, arg=5)
        assert f"node {gone} is gone" in page.inner_text("#happenings")
        page.wait_for_function("() => gossamer.panes[0].frame.copies.length > 0")
        page.get_by_role("button", name="Add a node").click()
        page.wait_for_function(is_whole, arg=6)
        page.get_by_role("button", name="Heal").wait_for()
        assert page.get_by_role("button", name="Heal").is_disabled()
        # Before the server goes: the page would complain.
        page.context.close()
