"""The `gossamer` command: its table of commands, and how errors become sentences and exit codes.

Exit codes: 0 success; 1 a difference or a failure; 2 a wrong flag, file or value; 130 stopped by Ctrl-C.
"""

import errno
import shlex
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from gossamer import __version__
from gossamer.cli import (
    analyse,
    build,
    check,
    churn,
    dashboard,
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
    torture,
    up,
    workload,
)
from gossamer.cli.console import print_sentence
from gossamer.cli.flag_names import flags_of, name_flags
from gossamer.cli.renamed import replace_old_flags
from gossamer.model.values.errors import CheckFailed, GossamerError, InputError, MissingExtra

STUDY, PLAN, RUN, DATA = "Study", "Plan", "Run", "Data"


class GroupedCommands(TyperGroup):
    """Lists the commands by job in `gossamer --help`, in plain text (Typer's own panels need Rich's boxes)."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """One section for each job, in the order in which jobs were registered."""
        width = max(map(len, self.commands))
        jobs: dict[str, list[tuple[str, str]]] = {}
        for name, command in self.commands.items():
            summary = command.get_short_help_str(formatter.width - width - 6)
            jobs.setdefault(getattr(command, "rich_help_panel", None) or "Commands", []).append(
                (name.ljust(width), summary)
            )
        for job, rows in jobs.items():
            with formatter.section(job):
                formatter.write_dl(rows)


app = typer.Typer(
    name="gossamer",
    cls=GroupedCommands,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
for _job, _name, _function in (
    (STUDY, "study", study.study),
    (STUDY, "sweep", study.sweep),
    (STUDY, "reproduce", reproduce.reproduce),
    (STUDY, "systems", systems.systems),
    (STUDY, "build", build.build),
    (STUDY, "simulate", simulate.simulate),
    (STUDY, "analyse", analyse.analyse),
    (STUDY, "replay", replay.replay),
    (STUDY, "torture", torture.torture),
    (PLAN, "plan", plan.plan),
    (PLAN, "check", check.check),
    (PLAN, "theory", theory.app),
    (RUN, "node", node.node),
    (RUN, "pub", messages.pub),
    (RUN, "sub", messages.sub),
    (RUN, "status", status.status),
    (RUN, "up", up.up),
    (RUN, "dashboard", dashboard.dashboard),
    (RUN, "keys", keys.app),
    (DATA, "workload", workload.app),
    (DATA, "churn", churn.app),
    (DATA, "ingest", ingest.ingest),
    (DATA, "sample", ingest.sample),
    (DATA, "profile", profile.profile),
):
    if isinstance(_function, typer.Typer):
        app.add_typer(_function, name=_name, rich_help_panel=_job)
    else:
        app.command(_name, rich_help_panel=_job)(_function)


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
    """Brokerless publish/subscribe on topic-connected overlays: study, plan, run.

    Example: gossamer workload make out/w --nodes 1000 --topics 100 --subscriptions 10 --popularity rss --seed 1
    """


# The extra that installs each optional module.
_EXTRAS = {"numpy": "sim", "numba": "sim", "pyarrow": "sim", "pyspark": "spark", "matplotlib": "report", "scipy": "sim"}

# Errors about a path that the user gave, or its disk (exit code 2); others have exit code 1.
_PATH_ERRORS = {
    errno.EACCES,
    errno.EDQUOT,
    errno.EISDIR,
    errno.ELOOP,
    errno.ENAMETOOLONG,
    errno.ENOENT,
    errno.ENOSPC,
    errno.ENOTDIR,
    errno.EPERM,
    errno.EROFS,
}


def main() -> None:
    """Run a command; every expected error is one sentence on standard error."""
    arguments, warnings = replace_old_flags(sys.argv[1:])
    for warning in warnings:
        print_sentence(warning)
    sys.exit(_run(arguments))


def _run(arguments: list[str]) -> Any:
    """The exit code."""
    try:
        return app(args=arguments, standalone_mode=True)
    except CheckFailed as error:
        return _fail(f"{error}\nThis is a bug in Gossamer. The command that repeats it: {_command()}", 1)
    except GossamerError as error:
        flags = flags_of(typer.main.get_command(app), arguments)
        return _fail(name_flags(str(error), flags), 2 if isinstance(error, InputError | MissingExtra) else 1)
    except ModuleNotFoundError as error:
        extra = _EXTRAS.get((error.name or "").partition(".")[0])
        if extra is None:
            raise
        return _fail(f"this command needs {error.name}; run: pip install 'gossamer[{extra}]'", 2)
    except UnicodeError:
        return _fail("a path or name is not valid UTF-8; rename it", 2)
    except MemoryError:
        return _fail("not enough memory; ask for fewer nodes, topics or subscriptions", 2)
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        return _fail(f"{error.strerror or error}{where}", 2 if error.errno in _PATH_ERRORS else 1)
    except SystemExit as ended:  # Typer raises it on success, on usage errors and on Ctrl-C.
        return _fail("stopped; no partial output is left", 130) if ended.code == 130 else ended.code


def _fail(sentence: str, code: int) -> int:
    print_sentence(sentence)
    return code


def _command() -> str:
    return "gossamer " + shlex.join(sys.argv[1:])
