"""Errors of commands: one sentence, an exit code, and no partial output."""

import os
import signal
import subprocess
import sys

import pytest

from tests.unit.conftest import MAKE, files

BAD = {
    "unknown system": (("build", "cylon", "w", "o", "--seed", 1), "no system 'cylon'; there are: cyclon"),
    "unknown parameter": (("build", "cyclon", "w", "o", "--seed", 1, "--set", "vew=1"), "no parameter 'vew'"),
    "parameter out of range": (("build", "cyclon", "w", "o", "--seed", 1, "--set", "view_size=0"), "view_size is '0'"),
    "parameter without value": (("build", "cyclon", "w", "o", "--seed", 1, "--set", "view_size"), "NAME=VALUE"),
    "unknown popularity": ((*MAKE[:2], "o", *MAKE[3:], "--popularity", "zip"), "no popularity 'zip'; there are: rss"),
    "more subscriptions than topics": (
        ("workload", "make", "o", "--nodes", 5, "--topics", 4, "--subscriptions", 9, "--seed", 1),
        "at most the number of topics (4), got 9",
    ),
    "no nodes": (
        ("workload", "make", "o", "--nodes", 0, "--topics", 4, "--subscriptions", 2, "--seed", 1),
        "nodes must lie",
    ),
    "negative topics": (
        ("workload", "make", "o", "--nodes", 5, "--topics", -4, "--subscriptions", 2, "--seed", 1),
        "topics must lie",
    ),
    "no subscriptions": (
        ("workload", "make", "o", "--nodes", 5, "--topics", 4, "--subscriptions", 0, "--seed", 1),
        "at least 1",
    ),
    "missing flag": (("workload", "make", "o", "--nodes", 5, "--seed", 1), "needs --topics"),
    "meaningless flag": (
        ("workload", "make", "o", "--kind", "friends", "--nodes", 50, "--topics", 9, "--seed", 1),
        "--topics has no meaning for a workload of kind friends",
    ),
    "negative seed": (("build", "cyclon", "w", "o", "--seed", -1), "--seed"),
    "output exists": (MAKE, "w exists; choose another folder, or --force"),
    "no workload": (("build", "cyclon", "nowhere", "o", "--seed", 1), "nowhere is not a folder"),
    "no overlay": (("check", "nowhere.parquet", "w"), "there is no nowhere.parquet"),
    "no record": (("replay", "nowhere.bin"), "no record at nowhere.bin"),
    "a file that is no record": (("replay", "w/manifest.json"), "record"),
    "loss of five": (("simulate", "cyclon", "w", "o", "--seed", 1, "--loss", 5), "did you mean 0.05?"),
    "bad latency": (("simulate", "cyclon", "w", "o", "--seed", 1, "--latency", "fast"), "latency must be"),
    "bad until": (("simulate", "cyclon", "w", "o", "--seed", 1, "--until", "later"), "--until must be"),
    "no time": (("simulate", "cyclon", "w", "o", "--seed", 1, "--until", "0s"), "--until must be longer than 0"),
    "bad partition": (("simulate", "cyclon", "w", "o", "--seed", 1, "--partition", "10s"), "FROM-UNTIL:SHARE"),
    "dissemination that the system cannot run": (
        ("simulate", "cyclon", "w", "o", "--seed", 1, "--dissemination", "flood"),
        "carries no",
    ),
    "recovery without a dissemination": (
        ("simulate", "spidercast", "w", "o", "--seed", 1, "--recovery"),
        "recovery needs a dissemination",
    ),
    "recovery on a system without it": (
        ("simulate", "unstructured", "w", "o", "--seed", 1, "--dissemination", "gossip", "--recovery"),
        "unstructured has no recovery",
    ),
    "a parameter of recovery without recovery": (
        ("simulate", "spidercast", "w", "o", "--seed", 1, "--set", "recovery.history=5"),
        "give --recovery too",
    ),
    "an unknown parameter of recovery": (
        (
            "simulate",
            "spidercast",
            "w",
            "o",
            "--seed",
            1,
            "--dissemination",
            "tree",
            "--recovery",
            "--set",
            "recovery.histroy=5",
        ),
        "did you mean history?",
    ),
    "events without a dissemination": (
        ("simulate", "cyclon", "w", "o", "--seed", 1, "--events", 5),
        "5 messages need a dissemination to carry them",
    ),
    "events and rate": (("simulate", "cyclon", "w", "o", "--seed", 1, "--events", 5, "--rate", 2), "not both"),
    "no churn table": (("simulate", "cyclon", "w", "o", "--seed", 1, "--churn", "nowhere"), "there is no nowhere"),
    "churn without nodes": (
        ("churn", "make", "o", "--on", "exp:3s", "--off", "exp:3s", "--seed", 1),
        "give either --nodes or --workload",
    ),
    "churn with a bad law": (
        ("churn", "make", "o", "--nodes", 3, "--on", "gauss:3s", "--off", "exp:3s", "--seed", 1),
        "--on must be",
    ),
    "churn with bad crashes": (
        ("churn", "make", "o", "--nodes", 3, "--on", "exp:3s", "--off", "exp:3s", "--crashes", 7, "--seed", 1),
        "between 0 and 1",
    ),
    "subscriptions that are no number": (
        ("workload", "make", "o", "--nodes", 5, "--topics", 4, "--subscriptions", "\u00b2", "--seed", 1),
        "subscriptions must be",
    ),
    "endless subscriptions": (
        ("workload", "make", "o", "--nodes", 5, "--topics", 4, "--subscriptions", "9" * 5000, "--seed", 1),
        "subscriptions must be",
    ),
    "too many friends": (
        ("workload", "make", "o", "--kind", "friends", "--nodes", 10**20, "--seed", 1),
        "must lie between",
    ),
    "too much churn": (
        ("churn", "make", "o", "--nodes", 99999999999, "--on", "exp:3s", "--off", "exp:3s", "--seed", 1),
        "must lie between",
    ),
    "an endless period": (
        ("build", "cyclon", "w", "o", "--seed", 1, "--set", "period_us=18446744073709551615"),
        "period_us is",
    ),
    "an endless rate": (("simulate", "cyclon", "w", "o", "--seed", 1, "--rate", "inf"), "--rate must be above 0"),
    "deep output of a run that fails": (
        ("simulate", "cyclon", "w", "deep/er/o", "--seed", 1, "--latency", "fast"),
        "latency must be",
    ),
    "output over the input": (("build", "cyclon", "w", "w", "--seed", 1, "--force"), "is or contains the input"),
    "output around the input": (("build", "cyclon", "w", ".", "--seed", 1, "--force"), "is or contains the input"),
    "a name that is too long": (("build", "cyclon", "w", "x" * 300, "--seed", 1), "too long"),
    "unwritable": (("build", "cyclon", "w", "w/manifest.json/o", "--seed", 1), "cannot write"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_gets_one_sentence_exit_code_2_and_leaves_no_output(gossamer, workload, tmp_path, name):
    arguments, sentence = BAD[name]
    code, out, err = gossamer(*arguments)
    assert code == 2, err
    assert sentence in err
    assert "Traceback" not in err
    assert out == ""
    assert files(tmp_path) == ["w"]


@pytest.mark.parametrize("library", ["numpy", "pyarrow", "numba"])
def test_a_missing_extra_is_one_sentence_with_the_pip_command(workload, tmp_path, library):
    code = f"import sys; sys.modules[{library!r}] = None; from gossamer.cli.app import main; main()"
    command = [sys.executable, "-c", code, "build", "cyclon", "w", "o", "--seed", "1"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == f"gossamer: this command needs {library}; run: pip install 'gossamer[sim]'\n"


def test_a_check_that_fails_prints_the_command_that_repeats_it(gossamer, workload, monkeypatch):
    from gossamer.model.values.errors import CheckFailed
    from gossamer.simulator import execute

    def fail(*_, **__):
        raise CheckFailed("node 3 delivered twice")

    monkeypatch.setattr(execute, "execute", fail)
    code, _, err = gossamer("simulate", "cyclon", "w", "o", "--seed", 9)
    assert code == 1
    assert "gossamer simulate cyclon w o --seed 9" in err


def test_an_interrupted_build_leaves_no_output_and_can_be_repeated(workload, tmp_path):
    command = [sys.executable, "-m", "gossamer", "build", "cyclon", "w", "o", "--seed", "1", "--cycles", "3000000"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    assert "cycles" in process.stderr.readline()  # the build is running
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "no partial output is left" in err
    assert files(tmp_path) == ["w"]
    again = subprocess.run([*command[:-1], "20"], cwd=tmp_path, capture_output=True, check=False, env=os.environ)
    assert again.returncode == 0
