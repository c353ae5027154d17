"""Errors of the library name fields; commands print their flags instead."""

import pytest
import typer

from gossamer.cli import app as cli
from gossamer.cli.flag_names import flags_of, name_flags
from gossamer.model.values.errors import GossamerError, InputError

ROOT = typer.main.get_command(cli.app)


@pytest.mark.parametrize(
    ("command", "field", "flag"),
    [
        ("simulate", "until_us", "--until"),
        ("simulate", "event_count", "--events"),
        ("simulate", "dissemination_parameters", "--set"),
        ("build", "engine", "--engine"),
        ("build", "cycle_limit", "--cycles"),
        ("plan", "degree_budget", "--degree-budget"),
        ("node", "join", "--join"),
        ("node", "prints", "--print"),
        ("keys issue", "days", "--days"),
        ("sample", "seeds", "--starts"),
    ],
)
def test_the_fields_of_a_command_have_the_flags_of_its_options(command, field, flag):
    assert flags_of(ROOT, [*command.split(), "more"])[field] == flag


def test_positional_arguments_and_flags_of_other_commands_are_no_flags():
    assert "system" not in flags_of(ROOT, ["build"])
    assert "until_us" not in flags_of(ROOT, ["build"])
    assert "seeds" not in flags_of(ROOT, ["node"])
    assert flags_of(ROOT, ["no-such-command"]).keys() <= {"version", "help", "install_completion", "show_completion"}


FLAGS = {
    "until_us": "--until",
    "engine": "--engine",
    "join": "--join",
    "loss": "--loss",
    "insecure": "--insecure",
    "degree_budget": "--degree-budget",
}


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("`until_us` is missing", "--until is missing"),
        ("a run without until_us is a build", "a run without --until is a build"),
        ("cyclon has no kernel; use engine='event'", "cyclon has no kernel; use --engine event"),
        ('use engine="event"', "use --engine event"),
        ("say insecure=True where the network is trusted", "say --insecure where the network is trusted"),
        ("`security.insecure` must be true", "--insecure must be true"),
        ("loss must lie between 0 and 1, got 5", "--loss must lie between 0 and 1, got 5"),
        ("a loss of 5 is too much; loss must be below 1", "a loss of 5 is too much; --loss must be below 1"),
        ("degree_budget forbids links", "--degree-budget forbids links"),
        ("--loss must lie between 0 and 1", "--loss must lie between 0 and 1"),
        ("nodes that join through `join`", "nodes that join through --join"),
        ("there is no file out/until_us.parquet", "there is no file out/until_us.parquet"),
        ("`period_us` is '0'", "`period_us` is '0'"),
    ],
)
def test_fields_become_flags_and_other_words_stay(sentence, expected):
    assert name_flags(sentence, FLAGS) == expected


@pytest.mark.parametrize(("error", "code"), [(InputError, 2), (GossamerError, 1)])
def test_an_error_of_a_command_is_printed_with_flags(gossamer, workload, monkeypatch, error, code):
    from gossamer.simulator import execute

    def fail(*_, **__):
        raise error("cyclon has no kernel; use engine='event'")

    monkeypatch.setattr(execute, "execute", fail)
    assert gossamer("build", "cyclon", "w", "o", "--seed", 1) == (
        code,
        "",
        "gossamer: cyclon has no kernel; use --engine event\n",
    )
