"""Stages of a study: finished stages are skipped, stages with failures are repeated and reported."""

import pytest
import typer

from gossamer.cli.study import _show
from gossamer.model.values.run import Run, WorkloadLaw
from gossamer.pipeline.stages import Stages
from gossamer.pipeline.study_results import WantedRun, failure_sentences
from gossamer.pipeline.sweep import Failure


def run_stage(folder, failures):
    """Run one stage; returns the stages and whether the work was carried out."""
    calls = []

    def work(path):
        calls.append(path)
        failed = [f"gm (build, seed {seed}) failed: out of memory" for seed in range(failures)]
        return {"results": 3, "failures": failures, "failed": failed}

    stages = Stages(folder, lambda text: None, None, folder)
    stages.run("results", {"runs": 3}, work)
    return stages, bool(calls)


def test_a_stage_with_failures_is_repeated_until_it_has_none(tmp_path):
    assert run_stage(tmp_path, failures=2)[1]
    assert run_stage(tmp_path, failures=1)[1]
    stages, carried_out = run_stage(tmp_path, failures=0)
    assert carried_out
    assert stages.done["results"]["is_finished"]
    assert not run_stage(tmp_path, failures=0)[1]


@pytest.mark.parametrize("json", [False, True])
def test_failed_runs_are_named_and_the_exit_code_is_1(tmp_path, capsys, json):
    stages, _ = run_stage(tmp_path, failures=2)
    with pytest.raises(typer.Exit) as ended:
        _show(stages, json, {"results": "out"}, "The tables are in out")
    assert ended.value.exit_code == 1
    assert "gm (build, seed 1) failed: out of memory" in capsys.readouterr().err


def test_a_study_without_failures_ends_normally(tmp_path, capsys):
    stages, _ = run_stage(tmp_path, failures=0)
    _show(stages, False, {}, "The tables are in out")
    assert capsys.readouterr().out == "3 runs done, 0 failed. The tables are in out\n"


def test_a_failed_run_is_named_by_label_kind_and_seed():
    law = WorkloadLaw(nodes=20, topics=3, subscriptions="2", popularity="rss")
    runs = [Run(system="gm", seed=seed, workload=law) for seed in (1, 2)]
    failures = [Failure(runs[1], "it crashed")]
    wanted = [WantedRun("greedy", "build", 1, run) for run in runs]
    assert failure_sentences(wanted, failures) == ["greedy (build, seed 2) failed: it crashed"]
    again = [WantedRun("greedy", "build", 2, run) for run in runs]
    assert failure_sentences(again, failures) == ["greedy (build, seed 2, sample 2) failed: it crashed"]
