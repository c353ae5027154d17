"""`gossamer dashboard`: show a network in the browser."""

import asyncio
import tempfile
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gossamer.cli.console import progress_bar
from gossamer.cli.live_options import SystemName
from gossamer.cli.options import SEED_MAX
from gossamer.cli.up import Say, fleet_interests, fleet_settings
from gossamer.model.values.errors import InputError

if TYPE_CHECKING:
    from gossamer.live.fleet.member import MemberSettings

LISTEN = "127.0.0.1:0"


def dashboard(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[RUN]...",
            help="One or two output folders of simulate, build or up --record, or that of a study; none: a demonstration.",
        ),
    ] = None,
    live: Annotated[
        list[str] | None,
        typer.Option("--live", metavar="HOST:PORT", help="The --metrics address of a running node; repeatable."),
    ] = None,
    listen: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Where to serve the page; port 0: a free one.")
    ] = LISTEN,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Listen beyond 127.0.0.1. Only for networks that you trust.")
    ] = False,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the page's address and open nothing.")
    ] = False,
    nodes: Annotated[int, typer.Option(min=2, max=200, help="Demonstration: node processes.")] = 20,
    topics: Annotated[int, typer.Option(min=1, help="Demonstration: topics in total.")] = 12,
    subscriptions: Annotated[
        str, typer.Option(metavar="S|a:b", help="Demonstration: topics that each node follows.")
    ] = "4",
    rate: Annotated[float, typer.Option(min=0, max=10_000, help="Demonstration: messages a second.")] = 4.0,
    seed: Annotated[int, typer.Option(metavar="N", min=0, max=SEED_MAX, help="Demonstration: seed of interests.")] = 1,
    system: SystemName = None,
) -> None:
    """Show a network in the browser, live or recorded.

    It shows running nodes, a run that is over, or a demonstration. Without arguments it starts a network of 20 nodes, which you can change in the page: kill nodes, cut the network in two,
    and watch it mend. Ctrl-C ends it. The page's address contains a token, without which the dashboard answers nobody.

    Example: gossamer dashboard
    """
    if runs and live:
        raise InputError("give runs or --live, not both")
    if runs and len(runs) > 2:
        raise InputError(f"the dashboard shows one run, or two side by side; got {len(runs)}")
    from gossamer.live.transport.addresses import split_address

    split_address(listen, "--listen")
    urls = [address.removeprefix("http://").partition("/")[0] for address in live or ()]
    for address in urls:
        split_address(address, "--live")
    where = {"listen": listen, "insecure": insecure}
    if runs or live:
        asyncio.run(_show(runs or [], urls, not no_browser, where))
        return
    with tempfile.TemporaryDirectory(prefix="gossamer-dashboard-") as folder:
        settings = fleet_settings(
            Path(folder),
            fleet_interests(nodes, topics, subscriptions, "rss", seed),
            rate,
            seed,
            payload_bytes=100,
            system=_system(system),
            settings={},
            dissemination=None,
            dissemination_settings={},
            record=False,
            logs=False,
        )
        asyncio.run(_demonstrate(Path(folder), settings, not no_browser, where))


def _system(name: str | None) -> str:
    from gossamer.live.api.stacks import find_stack
    from gossamer.live.operations.settings import NodeSettings

    name = name or NodeSettings().system
    if find_stack(name).takes_plan:
        raise InputError(
            f"{name} needs a plan; start its nodes with `gossamer node`, and give their --metrics to --live"
        )
    return name


async def _show(runs: Sequence[Path], live: Sequence[str], opens: bool, where: dict[str, Any]) -> None:
    from gossamer.live.operations.signals import asked_to_stop
    from gossamer.web.showing import show_nodes, show_runs

    with asked_to_stop() as asked, progress_bar() as progress:
        showing = show_nodes(live, **where) if live else show_runs(runs, **where, progress=progress)
        async with showing as url:
            announce(url, opens)
            await asked.wait()


async def _demonstrate(folder: Path, settings: "Sequence[MemberSettings]", opens: bool, where: dict[str, Any]) -> None:
    from gossamer.live.fleet.network import Fleet
    from gossamer.live.operations.signals import asked_to_stop
    from gossamer.web.showing import show_fleet

    with asked_to_stop() as asked:
        async with AsyncExitStack() as open_things:
            fleet = await open_things.enter_async_context(Fleet(folder, settings, Say()))
            await fleet.start()
            await fleet.tell("publish")
            url, _ = await open_things.enter_async_context(show_fleet(fleet, **where))
            typer.echo(f"{len(settings)} nodes run on this machine; Ctrl-C ends them", err=True)
            announce(url, opens)
            await asked.wait()


def announce(url: str, opens: bool) -> None:
    """Print the page's address, and open it in a browser."""
    typer.echo(url)
    if opens:
        import webbrowser

        webbrowser.open(url)
