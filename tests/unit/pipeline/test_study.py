"""The settings of a study, checked before any work is done."""

import pytest

from gossamer.model.values.errors import InputError
from gossamer.pipeline.study import Study, read_study


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('[[systems]]\nsystem = "spidercats"\n', "did you mean spidercast"),
        ('[[systems]]\nsystem = "gm"\nparameters = {rho = 3}\n', "gm has no parameter 'rho'"),
        ("users = 0\n", "users"),
        ("colour = 3\n", "colour"),
        ("users = \n", "is not TOML"),
        ("nodes = 10\nchurn_nodes = 20\n", "must be at most `nodes`"),
        ("seeds = []\n", "at least one seed"),
    ],
)
def test_a_study_with_bad_settings_is_refused_before_any_work(tmp_path, text, sentence):
    path = tmp_path / "study.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=sentence):
        read_study(path)


def test_the_default_study_runs_every_dissemination_that_asks_for_it():
    assert Study().disseminations == ("flood", "tree", "push-pull")
