"""`gossamer keys`: make an authority, issue keys, show them."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from gossamer.live.security.authority import issue, make_authority
from gossamer.live.security.keys import Keys


def test_the_commands_make_keys_that_load(gossamer, tmp_path):
    assert gossamer("keys", "init", "authority")[0] == 0
    code, out, _ = gossamer("keys", "issue", "feed-1", "keys/feed-1", "--authority", "authority", "--json")
    assert code == 0
    made = json.loads(out)
    keys = Keys.load(tmp_path / "keys" / "feed-1")
    assert (made["kind"], made["name"], made["id"], made["fault"]) == ("node", "feed-1", f"{keys.node:016x}", None)
    assert made["days_left"] == 364
    assert json.loads(gossamer("keys", "show", "keys/feed-1", "--json")[1]) == made
    assert "feed-1" in gossamer("keys", "show", "keys/feed-1")[1]
    shown = json.loads(gossamer("keys", "show", "authority", "--json")[1])
    assert (shown["kind"], shown["fault"]) == ("authority", None)


def test_show_says_why_keys_are_not_valid(gossamer, tmp_path):
    year_ago = datetime.now(UTC) - timedelta(days=365)
    make_authority(tmp_path / "authority", now=year_ago)
    issue(tmp_path / "authority", "old", tmp_path / "old", days=30, now=year_ago)
    shown = json.loads(gossamer("keys", "show", tmp_path / "old", "--json")[1])
    assert shown["days_left"] == 0
    assert shown["fault"].startswith("the certificate expired on")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("issue", "a", "out", "--authority", "nowhere"), "there is no file nowhere/authority.key"),
        (("issue", "a b", "out", "--authority", "authority"), "a node's name must be"),
        (("issue", "a", "out", "--authority", "authority", "--days", "0"), "must lie between 1 and 36,500"),
        (("issue", "a", "file", "--authority", "authority"), "file is not a folder"),
        (("init", "authority"), "exists; choose another folder"),
        (("init", "new", "--days", "999999"), "must lie between 1 and 36,500"),
        (("show", "nowhere"), "there is no folder nowhere"),
        (("show", "."), "there is no file authority.crt"),
    ],
)
def test_a_bad_flag_is_one_sentence_and_exit_code_2(gossamer, tmp_path, arguments, sentence):
    assert gossamer("keys", "init", "authority")[0] == 0
    (tmp_path / "file").write_text("")
    code, _, err = gossamer("keys", *arguments)
    assert code == 2
    assert sentence in err
    assert err.count("\n") == 1
    assert not (tmp_path / "out").exists()
