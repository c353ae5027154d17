"""`gossamer keys`: make and show the certificates of a cluster."""

from pathlib import Path
from typing import Annotated

import typer

from gossamer.cli.console import print_facts, print_json
from gossamer.cli.options import Json

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

KeysOut = Annotated[Path, typer.Argument(metavar="OUT", help="The folder to write.")]
Replace = Annotated[
    bool, typer.Option("--force", help="Replace existing keys; nodes with the old keys can no longer connect.")
]


@app.callback()
def keys() -> None:
    """Make certificates for TLS, access rules and signatures.

    Example: gossamer keys init authority
    """


@app.command("init")
def init(
    out: KeysOut,
    days: Annotated[int, typer.Option(help="How long the authority is valid.")] = 3650,
    force: Replace = False,
    json: Json = False,
) -> None:
    """Make a cluster's certificate authority.

    With OUT/authority.key anybody can add nodes to the cluster: keep it off the nodes.

    Example: gossamer keys init authority
    """
    from gossamer.live.security.authority import make_authority

    make_authority(out, days, force)
    _show(out, f"made {out}", json)


@app.command("issue")
def issue(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The node's name in access rules.")],
    out: KeysOut,
    authority: Annotated[Path, typer.Option(metavar="FOLDER", help="The output of `gossamer keys init`.")],
    days: Annotated[int, typer.Option(help="How long the certificate is valid.")] = 365,
    force: Replace = False,
    json: Json = False,
) -> None:
    """Make a node's key and certificate.

    The node needs OUT and nothing else. Keep OUT secret.

    Example: gossamer keys issue feed-1 keys/feed-1 --authority authority
    """
    from gossamer.live.security.authority import issue as issue_keys

    issue_keys(authority, name, out, days, force)
    _show(out, f"made {out}", json)


@app.command("show")
def show(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The output of `keys init` or `keys issue`.")],
    json: Json = False,
) -> None:
    """Show the name, id, expiry and any fault of a folder of keys.

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
