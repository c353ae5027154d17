"""Whether topics are connected, and the list of a fleet's members."""

import asyncio
import signal
import subprocess
from itertools import pairwise
from types import SimpleNamespace

import pytest

from gossamer.live.fleet import network
from gossamer.live.fleet.member import MemberHello
from gossamer.live.fleet.network import MEMBERS, STARTING_MAX, Fleet, MemberEntry, is_connected, read_members
from gossamer.live.transport.virtual import VirtualLoop
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


class StartingMember:
    """A member that takes a second to start; `open` are the members that are starting."""

    is_alive = True

    def __init__(self, index, starting, most):
        self.settings = SimpleNamespace(index=index)
        self._starting, self._most = starting, most

    async def start(self, join):
        self._starting.add(self)
        self._most.append(len(self._starting))
        await asyncio.sleep(1)
        self._starting.discard(self)
        self.hello = MemberHello(1, f"{self.settings.index}", f"host:{self.settings.index}", "host:0")
        return self.hello


def test_members_start_some_at_a_time(tmp_path):
    most = []
    fleet, starting = Fleet(tmp_path, [], lambda text: None), set()
    fleet.members = [StartingMember(index, starting, most) for index in range(3 + 4 * STARTING_MAX)]
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(fleet.start())
    assert max(most) == STARTING_MAX
    assert len(read_members(tmp_path)) == len(fleet.members)


def test_looking_whether_topics_are_connected_takes_at_most_half_of_the_time(tmp_path, monkeypatch):
    looks = []

    async def look(fleet):
        looks.append(asyncio.get_running_loop().time())
        await asyncio.sleep(2)
        return 0, 1

    monkeypatch.setattr(Fleet, "_connected_topics", look)
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        assert not runner.run(Fleet(tmp_path, [], lambda text: None).connected(20))
    assert [after - before for before, after in pairwise(looks)] == [4.0] * 5
