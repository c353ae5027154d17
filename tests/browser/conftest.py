"""A real browser for tests: Debian's Chromium, driven by Playwright. Tests are skipped where one of them is missing."""

import asyncio
import shutil
import threading
from contextlib import contextmanager

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
# WebGL in software; no requests of the browser's own.
FLAGS = ("--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-background-networking")


# One for each test: while Playwright runs, a loop of its own runs in this thread, and other tests could not start theirs.
@pytest.fixture
def browser():
    """A running browser."""
    if CHROMIUM is None:
        pytest.skip("there is no Chromium on this machine; `make browser` installs it")
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed; `make setup` installs it"
    )
    with playwright.sync_playwright() as started:
        running = started.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield running
        running.close()


@pytest.fixture
def open_page(browser):
    """A function that opens an address; afterwards nothing may have gone wrong in any page, or have left this machine."""
    contexts, faults = [], []

    def open_page(url, allowed="nothing", **options):
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(30_000)
        page.on("console", lambda message: note(message.text, message.type in ("error", "warning")))
        page.on("pageerror", lambda error: note(str(error)))
        page.on("request", lambda asked: note(asked.url, not is_own(asked.url, url)))

        def note(text, is_fault=True):
            if is_fault and allowed not in text:
                faults.append(text)

        page.goto(url)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not faults


def is_own(asked, url):
    """Whether a request goes to the dashboard itself."""
    return asked.startswith((url.partition("#")[0], "blob:", "data:"))


@contextmanager
def in_background(showing):
    """The value of an asynchronous context that stays open in a loop of another thread."""
    loop, ready, found = asyncio.new_event_loop(), threading.Event(), []

    async def run():
        async with showing as value:
            found.append((value, asyncio.Event()))
            ready.set()
            await found[0][1].wait()

    def work():
        try:
            loop.run_until_complete(run())
        finally:
            ready.set()
            loop.close()

    thread = threading.Thread(target=work)
    thread.start()
    ready.wait(60)
    try:
        yield found[0][0]
    finally:
        if found:
            loop.call_soon_threadsafe(found[0][1].set)
        thread.join(60)
