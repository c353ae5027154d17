"""Puts a dashboard together and keeps it running: for a fleet of this process, for live nodes, or for runs that are over."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from gossamer.live.fleet.network import Fleet
from gossamer.model.values.errors import InputError
from gossamer.web.controls import FleetControls
from gossamer.web.live_network import LiveNetwork
from gossamer.web.recorded import Progress, read_run
from gossamer.web.server import Dashboard

REPORT = "report.html"


@asynccontextmanager
async def show_fleet(fleet: Fleet, listen: str, insecure: bool = False) -> AsyncIterator[tuple[str, FleetControls]]:
    """The dashboard of a fleet whose members run, with controls; gives the address of its page."""
    controls = FleetControls(fleet)
    network = LiveNetwork(controls.addresses, controls.names)
    async with _serve(Dashboard([network], controls), [network], listen, insecure) as url:
        yield url, controls


@asynccontextmanager
async def show_nodes(addresses: Sequence[str], listen: str, insecure: bool = False) -> AsyncIterator[str]:
    """The dashboard of live nodes that serve their status at these addresses, without controls."""
    network = LiveNetwork(lambda: list(addresses))
    async with _serve(Dashboard([network]), [network], listen, insecure) as url:
        yield url


@asynccontextmanager
async def show_runs(folders: Sequence[Path], listen: str, insecure: bool, progress: Progress) -> AsyncIterator[str]:
    """The dashboard of one run, of two side by side, or of the report of a study."""
    report = next((folder / REPORT for folder in folders if (folder / REPORT).is_file()), None)
    runs = [] if report is not None else [read_run(folder, progress) for folder in folders]
    if report is not None and len(folders) > 1:
        raise InputError(f"{report.parent} is a study; show it alone, or give two runs")
    async with _serve(Dashboard(runs, None, report), [], listen, insecure) as url:
        yield url


@asynccontextmanager
async def _serve(
    dashboard: Dashboard, networks: Sequence[LiveNetwork], listen: str, insecure: bool
) -> AsyncIterator[str]:
    url = await dashboard.listen(listen, insecure)
    for network in networks:
        await network.ask()
    asking = [asyncio.ensure_future(network.run()) for network in networks]
    try:
        yield url
    finally:
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
        await dashboard.close()
