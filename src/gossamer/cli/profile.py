"""`gossamer profile`: statistics of a graph or workload, and of a sample beside it."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gossamer.cli.console import print_json, working
from gossamer.cli.options import Conf, DriverMemory, Force, Json, Master, Out, Remote, manifest
from gossamer.cli.results import show_metrics

if TYPE_CHECKING:
    from gossamer.pipeline.profile import Profile


def profile(
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="The output of `gossamer ingest`, `sample` or `workload`.")
    ],
    out: Out,
    sample: Annotated[str | None, typer.Option(metavar="FOLDER", help="A sample of DATA, to compare with it.")] = None,
    master: Master = None,
    remote: Remote = None,
    driver_memory: DriverMemory = None,
    conf: Conf = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Describe a graph or workload, and compare a sample with it.

    Sizes, popularity, degree distributions, the power law of the tail with its error, and how similar interests are
    (up to 20,000 nodes, because it compares all pairs). Writes OUT/profile.json, spreads.parquet (data, spread, value,
    count, share of at least the value), profile.svg and profile.png.

    Example: gossamer profile out/graph out/profile --sample out/friends
    """
    from gossamer.analysis.profile import draw_profile
    from gossamer.model.tables.folders import output_folder, write_json, write_manifest
    from gossamer.model.tables.schemas import write_table
    from gossamer.pipeline.profile import profile_folder, spread_columns
    from gossamer.pipeline.session import spark_session
    from gossamer.pipeline.storage import check_local, exists, fingerprint, read_place

    started = time.monotonic()
    folders = {"data": read_place(data), **({"sample": read_place(sample)} if sample is not None else {})}
    local = [folder for folder in folders.values() if isinstance(folder, Path)]
    check_local(out, force, local)
    with (
        spark_session(master, remote, driver_memory, conf or ()) as spark,
        working("profiling"),
        output_folder(out, force, local) as folder,
    ):
        found = {name: profile_folder(spark, path) for name, path in folders.items()}
        figures: dict[str, Any] = {name: each.figures() for name, each in found.items()}
        write_json(folder / "profile.json", figures)
        rows = {"spreads": write_table("spreads", folder / "spreads.parquet", spread_columns(found))}
        draw_profile(_curves(found, figures), [folder / "profile.svg", folder / "profile.png"])
        tables = {
            f"{name}/{file.name}": fingerprint(spark, file)
            for name, path in folders.items()
            for file in (path / "edges.parquet", path / "interests.parquet")
            if exists(spark, file)
        }
        write_manifest(folder, manifest("profile", None, started, tables, rows))
    if json:
        print_json(figures)
        return
    for name, path in folders.items():
        show_metrics(f"{path} ({name})", figures[name], json)
        for spread in found[name].spreads:
            if figures[name][spread].get("power_law_is_at_edge"):
                typer.echo(edge_sentence(f"{spread} ({name})", figures[name][spread]))
    typer.echo(f"The picture is {out / 'profile.png'}")


def edge_sentence(name: str, figures: dict[str, Any]) -> str:
    """The warning for a power law whose exponent is at the edge of the search range."""
    return (
        f"{name}: the exponent {figures['power_law_exponent']:.2f} is at the edge of the search range, so it is not an "
        "estimate; the tail does not follow a power law of this range."
    )


def _curves(found: "dict[str, Profile]", figures: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The curves to draw, by distribution and then by data set."""
    curves: dict[str, dict[str, Any]] = {}
    for data, each in found.items():
        for name, spread in each.spreads.items():
            fit = figures[data][name]
            is_fitted = "power_law_exponent" in fit and not fit["power_law_is_at_edge"]
            tail = (fit["power_law_exponent"], fit["power_law_begins"]) if is_fitted else None
            curves.setdefault(name, {})[data] = (spread.values, spread.share_above(), tail)
    return curves
