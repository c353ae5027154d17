"""The `gossamer` command: its table of commands, and how errors become sentences and exit codes.

Exit codes: 0 done; 1 something differs or failed; 2 a flag, file or value is wrong; 130 stopped by Ctrl-C.
"""

import errno
import shlex
import sys
from typing import Annotated

import typer

from gossamer import __version__
from gossamer.cli import (
    analyse,
    build,
    check,
    churn,
    ingest,
    keys,
    messages,
    node,
    plan,
    profile,
    replay,
    reproduce,
    simulate,
    status,
    study,
    systems,
    theory,
    up,
    workload,
)
from gossamer.cli.console import print_sentence
from gossamer.cli.renamed import replace_old_flags
from gossamer.model.values.errors import CheckFailed, GossamerError, InputError, MissingExtra

app = typer.Typer(
    name="gossamer",
    help="Brokerless publish/subscribe on topic-connected overlays: study, plan, run.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.add_typer(workload.app, name="workload")
app.add_typer(churn.app, name="churn")
app.add_typer(theory.app, name="theory")
app.add_typer(keys.app, name="keys")
app.command("ingest")(ingest.ingest)
app.command("sample")(ingest.sample)
app.command("profile")(profile.profile)
app.command("build")(build.build)
app.command("plan")(plan.plan)
app.command("simulate")(simulate.simulate)
app.command("check")(check.check)
app.command("analyse")(analyse.analyse)
app.command("replay")(replay.replay)
app.command("systems")(systems.systems)
app.command("study")(study.study)
app.command("sweep")(study.sweep)
app.command("reproduce")(reproduce.reproduce)
app.command("node")(node.node)
app.command("pub")(messages.pub)
app.command("sub")(messages.sub)
app.command("up")(up.up)
app.command("status")(status.status)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Study, plan and run topic-connected overlays.

    Example: gossamer workload make out/w --nodes 1000 --topics 100 --subscriptions 10 --popularity rss --seed 1
    """


# The modules that an extra brings; a command that misses one says which extra to install.
_EXTRAS = {"numpy": "sim", "numba": "sim", "pyarrow": "sim", "pyspark": "spark", "matplotlib": "report", "scipy": "sim"}

# What the system says of a path that the user gave; a full disk is nobody's mistake.
_USERS_MISTAKE = {
    errno.EACCES,
    errno.EISDIR,
    errno.ELOOP,
    errno.ENAMETOOLONG,
    errno.ENOENT,
    errno.ENOTDIR,
    errno.EPERM,
    errno.EROFS,
}


def main() -> None:
    """Run a command; every expected error is one sentence on standard error."""
    arguments, warnings = replace_old_flags(sys.argv[1:])
    for warning in warnings:
        print_sentence(warning)
    try:
        code = app(args=arguments, standalone_mode=True)
    except InputError as error:
        code = _say(str(error), 2)
    except MissingExtra as error:
        code = _say(str(error), 2)
    except CheckFailed as error:
        code = _say(f"{error}\nThis is a bug in Gossamer. The command that repeats it: {_command()}", 1)
    except GossamerError as error:
        code = _say(str(error), 1)
    except ModuleNotFoundError as error:
        extra = _EXTRAS.get((error.name or "").partition(".")[0])
        if extra is None:
            raise
        code = _say(f"this command needs {error.name}; run: pip install 'gossamer[{extra}]'", 2)
    except UnicodeError:
        code = _say("a path or name is not valid UTF-8; rename it", 2)
    except MemoryError:
        code = _say("this does not fit in memory; ask for fewer nodes, topics or subscriptions", 2)
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        code = _say(f"{error.strerror or error}{where}", 2 if error.errno in _USERS_MISTAKE else 1)
    except SystemExit as ended:  # Typer's own: done, a usage error, or Ctrl-C
        code = _say("stopped; nothing half-written is left", 130) if ended.code == 130 else ended.code
    sys.exit(code)


def _say(sentence: str, code: int) -> int:
    typer.echo(f"gossamer: {sentence}", err=True)
    return code


def _command() -> str:
    return "gossamer " + shlex.join(sys.argv[1:])
