"""`gossamer reproduce` without a name."""

import json


def test_without_a_name_the_exhibits_are_listed(gossamer, tmp_path):
    code, out, _ = gossamer("reproduce", "--json")
    assert code == 0
    assert "spidercast/fig12" in {exhibit["name"] for exhibit in json.loads(out)}
    assert gossamer("reproduce", "list", "--json")[1] == out
    assert "spidercast/fig12" in gossamer("reproduce")[1]
    assert not list(tmp_path.iterdir())
