"""Whether topics are connected, and the list of a fleet's members."""

import pytest

from gossamer.live.fleet.network import MEMBERS, MemberEntry, is_connected, read_members
from gossamer.model.values.errors import InputError


def test_a_topic_is_connected_by_links_that_both_ends_know():
    assert is_connected({"a": {"b"}, "b": {"a", "c"}, "c": {"b"}})
    assert not is_connected({"a": {"b"}, "b": {"a"}, "c": set()})
    assert not is_connected({"a": {"b"}, "b": {"a"}, "c": {"b"}})


def test_the_list_of_members_is_read_and_a_missing_or_damaged_one_is_refused(tmp_path):
    with pytest.raises(InputError, match="no network runs in"):
        read_members(tmp_path)
    (tmp_path / MEMBERS).write_text('[{"index": 0, "pid": 5, "node": "a", "address": "b:1", "metrics": "c:2"}]')
    assert read_members(tmp_path) == [MemberEntry(0, 5, "a", "b:1", "c:2")]
    (tmp_path / MEMBERS).write_text("[{")
    with pytest.raises(InputError, match=r"members\.json is damaged"):
        read_members(tmp_path)
