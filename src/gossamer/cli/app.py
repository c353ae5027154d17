"""The `gossamer` command: its table of commands, and how errors become sentences and exit codes.

Exit codes: 0 success; 1 a difference or a failure; 2 a wrong flag, file or value; 130 stopped by Ctrl-C.
"""

import errno
import shlex
import sys
import warnings
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
    deploy,
    ingest,
    keys,
    messages,
    node,
    plan,
    profile,
    replay,
    reproduce,
    simulate,
    snapshot,
    status,
    study,
    systems,
    theory,
    torture,
    up,
    what_if,
    workload,
)
from gossamer.cli.console import print_sentence
from gossamer.cli.flag_names import flags_of, name_flags
from gossamer.cli.renamed import replace_old_flags
from gossamer.model.values.errors import CheckFailed, GossamerError, InputError, InputWarning, MissingExtra

STUDY, PLAN, RUN, DATA = "Study", "Plan", "Run", "Data"
# The extra that each command needs; empty for commands of the base install.
COMMAND_EXTRAS: dict[str, str] = {}


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
# The last column is the extra that a command needs; the base install has all that a live node needs.
for _job, _name, _function, _extra in (
    (STUDY, "study", study.study, "all"),
    (STUDY, "sweep", study.sweep, "spark"),
    (STUDY, "reproduce", reproduce.reproduce, "report"),
    (STUDY, "systems", systems.systems, ""),
    (STUDY, "build", build.build, "sim"),
    (STUDY, "simulate", simulate.simulate, "sim"),
    (STUDY, "analyse", analyse.analyse, "spark"),
    (STUDY, "replay", replay.replay, ""),
    (STUDY, "torture", torture.torture, "sim"),
    (PLAN, "plan", plan.plan, "sim"),
    (PLAN, "check", check.check, "sim"),
    (PLAN, "what-if", what_if.what_if, "sim"),
    (PLAN, "theory", theory.app, "sim"),
    (RUN, "node", node.node, ""),
    (RUN, "pub", messages.pub, ""),
    (RUN, "sub", messages.sub, ""),
    (RUN, "status", status.status, ""),
    (RUN, "snapshot", snapshot.snapshot, "sim"),
    (RUN, "up", up.up, "sim"),
    (RUN, "dashboard", dashboard.dashboard, "sim"),
    (RUN, "deploy", deploy.deploy, "sim"),
    (RUN, "keys", keys.app, ""),
    (DATA, "workload", workload.app, "sim"),
    (DATA, "churn", churn.app, "sim"),
    (DATA, "ingest", ingest.ingest, "spark"),
    (DATA, "sample", ingest.sample, "spark"),
    (DATA, "profile", profile.profile, "spark"),
):
    _needs = f"Needs: pip install 'gossamer[{_extra}]'" if _extra else None
    if isinstance(_function, typer.Typer):
        app.add_typer(_function, name=_name, rich_help_panel=_job, epilog=_needs)
    else:
        app.command(_name, rich_help_panel=_job, epilog=_needs)(_function)
    COMMAND_EXTRAS[_name] = _extra


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
    arguments, old_flags = replace_old_flags(sys.argv[1:])
    for warning in old_flags:
        print_sentence(warning)
    _print_input_warnings()
    sys.exit(_run(arguments))


def _print_input_warnings() -> None:
    """Print what is odd about an input as a sentence, like an error, instead of Python's form with a line of code."""
    usual = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if issubclass(category, InputWarning):
            print_sentence(str(message))
        else:
            usual(message, category, *place, **more)

    warnings.simplefilter("always", InputWarning)
    warnings.showwarning = show


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
        # A command that needs Spark and plots needs one install, not two.
        whole = COMMAND_EXTRAS.get(next(iter(arguments), ""), "")
        extra = whole if whole == "all" or (whole and extra == "sim") else extra
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
