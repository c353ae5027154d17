"""Settings files, and the files in deploy/."""

import configparser
import json
import shlex
import tomllib
from pathlib import Path

import pytest

from gossamer import InputError, Limits
from gossamer.live.api.stacks import find_stack
from gossamer.live.operations.settings import node_settings, read_settings_file

DEPLOY = Path(__file__).resolve().parents[4] / "deploy"


def settings(tmp_path, text):
    path = tmp_path / "node.toml"
    path.write_text(text)
    return node_settings(read_settings_file(path), "node.toml")


def test_a_file_changes_only_the_settings_that_it_names(tmp_path):
    found = settings(
        tmp_path,
        'listen = "127.0.0.1:7400"\njoin = ["a:1"]\nfollow = ["t"]\nkeys = "k"\n'
        "[settings]\ngreedy_coverage = 2\n[limits]\nframe_bytes = 99\n",
    )
    assert (found.listen, found.join, found.follow) == ("127.0.0.1:7400", ("a:1",), ("t",))
    assert found.keys == str(tmp_path / "k")
    assert found.limits == Limits(frame_bytes=99)
    assert found.settings == {"greedy_coverage": 2}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('lisen = "x"', "has no setting 'lisen'; did you mean 'listen'?"),
        ("[limits]\nframe_byte = 1", "has no setting 'frame_byte'; did you mean 'frame_bytes'?"),
        ("zzz = 1", "has no setting 'zzz'; the settings are: listen, advertise"),
        ("[limits]\nframe_bytes = 0", "limits.frame_bytes"),
        ('follow = "t"', "Expected `array`, got `str`"),
        ("[secrets]\nprices = 5", "Expected `str`"),
        ('[secrets]\nprices.eur = "key"', "Expected `str`"),
        ("listen = ", "is not TOML"),
    ],
)
def test_a_wrong_setting_is_reported_in_one_sentence(tmp_path, text, sentence):
    with pytest.raises(InputError) as refused:
        settings(tmp_path, text)
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_missing_settings_file_is_reported():
    with pytest.raises(InputError, match=r"no settings file at nowhere\.toml"):
        read_settings_file(Path("nowhere.toml"))


def test_the_settings_in_deploy_are_valid():
    found = node_settings(read_settings_file(DEPLOY / "node.toml"), "node.toml")
    assert found.keys is not None
    assert not found.insecure
    find_stack(found.system, found.settings, found.dissemination)


def test_the_service_in_deploy_starts_a_node_and_stops_it_with_sigterm():
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read(DEPLOY / "gossamer-node.service")
    command = shlex.split(unit["Service"]["ExecStart"])
    assert command[1:3] == ["node", "--config"]
    assert unit["Service"]["KillSignal"] == "SIGTERM"
    assert unit["Service"]["RestartPreventExitStatus"] == "2"


def test_the_container_in_deploy_has_the_base_install_and_does_not_run_as_root():
    lines = (DEPLOY / "Containerfile").read_text().splitlines()
    (install,) = [line for line in lines if "pip install" in line]
    assert install.endswith(" /source")
    assert any(line.startswith("USER ") and line != "USER root" for line in lines)
    (entry,) = [line for line in lines if line.startswith("ENTRYPOINT ")]
    assert json.loads(entry.partition(" ")[2])[-1] == "node"
    assert tomllib.loads((DEPLOY.parent / "pyproject.toml").read_text())["project"]["scripts"]["gossamer"]


def test_a_secret_is_read_from_its_file_without_the_line_end(tmp_path, monkeypatch):
    (tmp_path / "key").write_bytes(b" \x0bkey\t\r\n")
    made = {}
    monkeypatch.setattr("gossamer.live.operations.settings.Node", lambda *_, **options: made.update(options))
    settings(tmp_path, 'system = "stan"\n[secrets]\n"prices/eur" = "key"\n').node()
    assert made["security"].secrets == {"prices/eur": b" \x0bkey\t"}
