"""`gossamer keys`: the certificates of a cluster."""

from pathlib import Path
from typing import Annotated

import typer

from gossamer.cli.console import print_facts, print_json
from gossamer.cli.options import Json

app = typer.Typer(help="Certificates for the nodes of a cluster.", no_args_is_help=True, rich_markup_mode=None)

Folder = Annotated[Path, typer.Argument(metavar="FOLDER")]
Replace = Annotated[
    bool, typer.Option("--force", help="Replace keys that are there; who holds the old ones is shut out.")
]


@app.callback()
def keys() -> None:
    """Certificates for the nodes of a cluster: TLS, names for access rules, signatures.

    Example: gossamer keys init authority
    """


@app.command("init")
def init(
    folder: Folder,
    days: Annotated[int, typer.Option(help="How long the authority lasts.")] = 3650,
    force: Replace = False,
    json: Json = False,
) -> None:
    """Make a cluster's authority. Whoever holds FOLDER/authority.key decides who is in: keep it off the nodes.

    Example: gossamer keys init authority
    """
    from gossamer.live.security.authority import make_authority

    make_authority(folder, days, force)
    _show(folder, f"made {folder}", json)


@app.command("issue")
def issue(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The node's name, of which access rules speak.")],
    authority: Annotated[Path, typer.Option(metavar="FOLDER", help="The folder of `gossamer keys init`.")],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where to write what the node needs.")],
    days: Annotated[int, typer.Option(help="How long the certificate lasts.")] = 365,
    force: Replace = False,
    json: Json = False,
) -> None:
    """Make a node's key and certificate: OUT is all that the node needs, and nobody else should have it.

    Example: gossamer keys issue feed-1 --authority authority --out keys/feed-1
    """
    from gossamer.live.security.authority import issue as issue_keys

    issue_keys(authority, name, out, days, force)
    _show(out, f"made {out}", json)


@app.command("show")
def show(folder: Folder, json: Json = False) -> None:
    """Say what a folder of keys holds: name, id, when it expires, and what is wrong with it if anything is.

    Example: gossamer keys show keys/feed-1
    """
    _show(folder, str(folder), json)


def _show(folder: Path, title: str, json: bool) -> None:
    from dataclasses import asdict

    from gossamer.live.security.keys import show as read

    facts = asdict(read(folder))
    if json:
        print_json(facts)
    else:
        print_facts(title, {**facts, "fault": facts["fault"] or "none"})
