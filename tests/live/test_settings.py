"""Settings files, logs, and what stands in deploy/."""

import configparser
import io
import json
import logging
import shlex
import tomllib
from pathlib import Path

import pytest

from gossamer import InputError, Limits
from gossamer.live.api.stacks import find_stack
from gossamer.live.operations.logs import Seldom, log_to
from gossamer.live.operations.settings import node_settings, read_settings_file

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"


def settings(tmp_path, text):
    path = tmp_path / "node.toml"
    path.write_text(text)
    return node_settings(read_settings_file(path), "node.toml")


def test_a_file_says_all_that_a_node_can_be_told(tmp_path):
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
        ("zzz = 1", "has no setting 'zzz'; there are: listen, advertise"),
        ("[limits]\nframe_bytes = 0", "limits.frame_bytes"),
        ('follow = "t"', "Expected `array`, got `str`"),
        ("[secrets]\nprices = 5", "Expected `str`"),
        ('[secrets]\nprices.eur = "key"', "Expected `str`"),
        ("listen = ", "is not TOML"),
    ],
)
def test_a_wrong_setting_is_one_sentence(tmp_path, text, sentence):
    with pytest.raises(InputError) as refused:
        settings(tmp_path, text)
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_settings_file_that_is_not_there_is_said():
    with pytest.raises(InputError, match=r"no settings file at nowhere\.toml"):
        read_settings_file(Path("nowhere.toml"))


def test_the_deployed_settings_are_good():
    found = node_settings(read_settings_file(DEPLOY / "node.toml"), "node.toml")
    assert found.keys is not None
    assert not found.insecure
    find_stack(found.system, found.settings, found.dissemination)


def test_the_deployed_service_starts_a_node_and_stops_it_in_good_order():
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read(DEPLOY / "gossamer-node.service")
    command = shlex.split(unit["Service"]["ExecStart"])
    assert command[1:3] == ["node", "--config"]
    assert unit["Service"]["KillSignal"] == "SIGTERM"
    assert unit["Service"]["RestartPreventExitStatus"] == "2"


def test_the_container_has_the_base_install_and_no_root():
    lines = (DEPLOY / "Containerfile").read_text().splitlines()
    (install,) = [line for line in lines if "pip install" in line]
    assert install.endswith(" /source")
    assert any(line.startswith("USER ") and line != "USER root" for line in lines)
    (entry,) = [line for line in lines if line.startswith("ENTRYPOINT ")]
    assert json.loads(entry.partition(" ")[2])[-1] == "node"
    assert tomllib.loads((DEPLOY.parent / "pyproject.toml").read_text())["project"]["scripts"]["gossamer"]


@pytest.fixture
def logged():
    logger = logging.getLogger("gossamer.live")
    stream = io.StringIO()
    handlers = []

    def begin(shape):
        handlers.append(log_to(stream, shape))
        return logger, stream

    before = logger.level, logger.propagate
    yield begin
    for handler in handlers:
        logger.removeHandler(handler)
    logger.level, logger.propagate = before


def test_a_json_log_has_facts_as_fields(logged):
    logger, stream = logged("json")
    logger.warning("cannot reach %s", "a:1", extra={"facts": {"address": "a:1", "tries": 3}})
    entry = json.loads(stream.getvalue())
    assert (entry["level"], entry["message"], entry["address"], entry["tries"]) == (
        "warning",
        "cannot reach a:1",
        "a:1",
        3,
    )
    assert entry["at"].endswith("Z")


def test_a_text_log_has_an_error_s_trace(logged):
    logger, stream = logged("text")
    try:
        raise ValueError("no good")
    except ValueError:
        logger.exception("a validator failed")
    assert "error a validator failed\n" in stream.getvalue()
    assert "ValueError: no good" in stream.getvalue()


def test_the_same_line_is_said_seldom_and_then_how_often_it_was_left_out():
    seldom = Seldom(seconds=10)

    def passes(text, at):
        record = logging.LogRecord("x", logging.INFO, "", 0, text, (), None)
        record.created = at
        return seldom.filter(record), getattr(record, "left_out", None)

    assert passes("a", 100) == (True, 0)
    assert passes("a", 105) == (False, None)
    assert passes("b", 105) == (True, 0)
    assert passes("a", 111) == (True, 1)
    for number in range(5_000):
        passes(str(number), 112)
    assert len(seldom._said) <= 1_000


def test_a_secret_is_what_its_file_beside_the_settings_has_without_the_end_of_its_line(tmp_path, monkeypatch):
    (tmp_path / "key").write_bytes(b" \x0bkey\t\r\n")
    made = {}
    monkeypatch.setattr("gossamer.live.operations.settings.Node", lambda *_, **options: made.update(options))
    settings(tmp_path, 'system = "stan"\n[secrets]\n"prices/eur" = "key"\n').node()
    assert made["security"].secrets == {"prices/eur": b" \x0bkey\t"}
