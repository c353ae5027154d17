"""Old flags and settings still work and print one warning each."""

import json

import pytest

from gossamer.cli.live_options import settings_of
from gossamer.cli.renamed import RENAMED_FLAGS, replace_old_flags, replace_old_settings

CASES = {
    "node --seed a:1 --seed=b:2 --follow t": (
        "node --join a:1 --join b:2 --follow t",
        ["--seed is deprecated; use --join a:1 --join b:2"],
    ),
    "pub t x --seed a:1": ("pub t x --join a:1", ["--seed is deprecated; use --join a:1"]),
    "sub t --seed a:1": ("sub t --join a:1", ["--seed is deprecated; use --join a:1"]),
    "simulate u w o --seed 1 --dissemination gossip --with gamma=0.3": (
        "simulate u w o --seed 1 --dissemination gossip --set gossip.gamma=0.3",
        ["--with is deprecated; use --set gossip.gamma=0.3"],
    ),
    "node --dissemination=gossip --with=gamma=0.3": (
        "node --dissemination=gossip --set gossip.gamma=0.3",
        ["--with is deprecated; use --set gossip.gamma=0.3"],
    ),
    "node --with gamma=0.3": (
        "node --set dissemination.gamma=0.3",
        ["--with is deprecated; use --set dissemination.gamma=0.3"],
    ),
    "simulate s w o --seed 1 --recovery --recovery-with history=9": (
        "simulate s w o --seed 1 --recovery --set recovery.history=9",
        ["--recovery-with is deprecated; use --set recovery.history=9"],
    ),
    "sample g o --nodes 9 --seed 1 --seeds 2": (
        "sample g o --nodes 9 --seed 1 --starts 2",
        ["--seeds is deprecated; use --starts 2"],
    ),
    "keys issue --out keys/a a --authority ca": (
        "keys issue a --authority ca keys/a",
        ["--out is deprecated; give keys/a as the last argument without a flag"],
    ),
}


@pytest.mark.parametrize("old", CASES)
def test_an_old_flag_becomes_the_new_one_with_one_warning(old):
    new, warnings = CASES[old]
    assert replace_old_flags(old.split()) == (new.split(), warnings)


def test_every_renamed_flag_has_a_case():
    seen = {(command, flag.old) for flag in RENAMED_FLAGS for command in flag.commands}
    tested = {
        (command, flag.old)
        for flag in RENAMED_FLAGS
        for command in flag.commands
        for old in CASES
        if old.startswith(f"{command} ") and f" {flag.old}" in old
    }
    # `pub` and `sub` share the flags of `node`.
    assert seen - tested == {("pub", "--with"), ("sub", "--with")}


@pytest.mark.parametrize(
    "arguments",
    [
        "up --seed 1",
        "build cyclon w o --seed 1",
        "sample g o --nodes 9 --seed 1",
        "study --out o",
        "pub t -- --seed",
        "keys show keys/a",
        "",
    ],
)
def test_other_command_lines_stay_as_they_are(arguments):
    assert replace_old_flags(arguments.split()) == (arguments.split(), [])


def test_an_old_flag_without_its_value_is_reported_under_its_new_name(gossamer):
    code, _, err = gossamer("node", "--seed")
    assert code == 2
    assert "'--join' requires an argument" in err


def test_an_old_command_line_runs_and_prints_its_warning_on_standard_error(gossamer, workload):
    flags = ("--dissemination", "gossip", "--with", "gamma=0.5", "--events", 3, "--until", "9s", "--json")
    code, out, err = gossamer("simulate", "unstructured", "w", "o", "--seed", 1, *flags)
    assert code == 0
    assert json.loads(out)["dissemination_parameters"]["gamma"] == 0.5
    assert err == "gossamer: --with is deprecated; use --set gossip.gamma=0.5\n"


def test_a_settings_file_may_still_say_seeds_and_gets_a_warning(tmp_path, capsys):
    path = tmp_path / "node.toml"
    path.write_text('seeds = ["127.0.0.1:7400"]\n')
    assert settings_of(path, None, None).join == ("127.0.0.1:7400",)
    assert capsys.readouterr().err == f"gossamer: {path}: the setting seeds is deprecated; use join\n"
    path.write_text('join = ["127.0.0.1:7400"]\n')
    assert settings_of(path, None, None).join == ("127.0.0.1:7400",)
    assert capsys.readouterr().err == ""


def test_a_settings_file_with_both_keys_takes_the_new_one():
    replaced, warnings = replace_old_settings({"seeds": ["a:1"], "join": ["b:2"], "listen": "c:3"}, "node.toml")
    assert replaced == {"join": ["b:2"], "listen": "c:3"}
    assert len(warnings) == 1
