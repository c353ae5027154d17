"""Whether topics are connected, and the list of a fleet's members."""

import asyncio
import signal
import subprocess

import pytest

from gossamer.live.fleet import network
from gossamer.live.fleet.network import MEMBERS, Fleet, MemberEntry, is_connected, read_members
from gossamer.model.values.errors import GossamerError, InputError


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


def test_an_error_is_not_replaced_when_the_members_do_not_leave_in_time(tmp_path, monkeypatch):
    monkeypatch.setattr(network, "LEAVE_SECONDS", 0.05)
    parents = []

    async def fail():
        async with Fleet(tmp_path, [], lambda text: None) as fleet:
            fleet._parent.wait()
            # A process that does not end by itself.
            fleet._parent = subprocess.Popen(["sleep", "600"], start_new_session=True)
            parents.append(fleet._parent)
            raise GossamerError("member 7 did not answer")

    with pytest.raises(GossamerError, match="member 7 did not answer"):
        asyncio.run(fail())
    assert parents[0].returncode == -signal.SIGKILL
