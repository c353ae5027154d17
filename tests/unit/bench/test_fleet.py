"""The fleet benchmark counts what it claims to count."""

import asyncio
import json
import os
import socket

import pytest
from bench import fleet
from bench.fleet_counters import (
    TICKS,
    busy_seconds,
    connection_counts,
    cpu_seconds,
    established_inodes,
    interface_bytes,
    mark,
    memory_field,
)
from bench.fleet_member import HEAD, Driver, Traffic

from gossamer.live.fleet.count import count_messages, read_log
from gossamer.live.fleet.member import DELIVERED, PUBLISHED, log_path


class Lines:
    """A socket's file on which some commands wait."""

    def __init__(self, *commands):
        self.commands = [json.dumps(command).encode() + b"\n" for command in commands]
        self.answers = []

    def readline(self):
        return self.commands.pop(0) if self.commands else b""

    def write(self, line):
        self.answers.append(json.loads(line))

    def flush(self):
        pass


def settings(folder, **more):
    values = {"index": 0, "topics": [3, 7], "rates": [0.0, 100.0], "join": [], "folder": str(folder)}
    return {**values, "seed": 1, "payload_bytes": 100, **more}


def serve(traffic, published):
    async def publish(topic, payload):
        published.append((topic, payload))

    async def in_thread(work):
        return work()

    async def sleep(seconds):
        await asyncio.sleep(0)

    asyncio.run(traffic.serve(Driver("here", publish, sleep, in_thread)))


def test_a_member_publishes_at_its_rates_and_logs_every_message(tmp_path):
    lines, published = Lines({"do": "publish", "seconds": 0.5}, {"do": "end"}), []
    serve(Traffic(settings(tmp_path), lines), published)
    assert {topic for topic, _ in published} == {7}
    assert [len(payload) for _, payload in published] == [100] * len(published)
    assert [HEAD.unpack_from(payload) for _, payload in published] == [(0, n + 1, 0) for n in range(len(published))]
    assert len(published) in (50, 51)
    log = list(read_log(log_path(tmp_path, 0)))
    assert [entry[:4] for entry in log] == [(PUBLISHED, 7, 0, n + 1) for n in range(len(published))]
    assert lines.answers == [{"pid": os.getpid(), "address": "here"}, {"published": len(published)}, {}]


def test_a_member_counts_deliveries_and_probes_but_not_its_own_messages(tmp_path):
    lines = Lines({"do": "counts"}, {"do": "end"})
    traffic = Traffic(settings(tmp_path), lines)
    for publisher, number, probe in ((1, 5, 0), (1, 6, 2), (1, 6, 2), (2, 6, 2), (0, 1, 2)):
        traffic.deliver(7, HEAD.pack(publisher, number, probe) + bytes(84))
    serve(traffic, [])
    assert lines.answers[1] == {"delivered": 4, "probes": {"2": 2}}
    assert [entry[:4] for entry in read_log(log_path(tmp_path, 0))] == [
        (DELIVERED, 7, 1, 5),
        (DELIVERED, 7, 1, 6),
        (DELIVERED, 7, 1, 6),
        (DELIVERED, 7, 2, 6),
    ]


def test_a_message_that_one_member_lacks_is_missing_in_its_phase(tmp_path):
    published = []
    sender = Traffic(settings(tmp_path), Lines({"do": "probe", "round": 1, "topics": [7]}, {"do": "end"}))
    serve(sender, published)
    for index, arrived in ((1, published), (2, [])):
        follower = Traffic(settings(tmp_path, index=index), Lines({"do": "end"}))
        for topic, payload in arrived:
            follower.deliver(topic, payload)
        serve(follower, [])
    found = count_messages(tmp_path, [[7]] * 3, {0: 0, 1: 1, 2: 2}, (), [("start", 0), ("steady", 1 << 63)])
    assert [(phase.expected, phase.missing) for phase in found.phases] == [(2, 1), (0, 0)]


def test_topics_and_their_followers_share_the_rate_equally():
    interests = [[1, 2], [1, 3], [1, 3]]
    assert fleet.find_followers(interests) == {1: [0, 1, 2], 3: [1, 2]}
    rates = fleet.share_rate(interests, 60)
    assert rates == [[10.0, 0.0], [10.0, 15.0], [10.0, 15.0]]
    assert sum(map(sum, rates)) == 60


def test_cpu_time_is_read_behind_a_name_with_spaces_and_parentheses():
    stat = "12 (a) b (c) S " + " ".join(str(number) for number in range(4, 40))
    assert cpu_seconds(stat) == (14 + 15) / TICKS


def test_cpu_time_of_the_machine_leaves_out_idle_and_waiting():
    assert busy_seconds("cpu  1 2 3 1000 1000 4 5 6 0 0\ncpu0 9\n") == 15 / TICKS


def test_bytes_on_loopback_are_those_that_it_sent():
    dev = "Inter-|   Receive\n face |bytes\n  eth0: 1 2 3 4 5 6 7 8 9 10\n    lo: 100 2 0 0 0 0 0 0 200 2 0 0 0 0 0 0\n"
    assert interface_bytes(dev, "lo") == 200


def test_only_established_sockets_count_as_connections():
    head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
    row = "   {}: 0100007F:1F90 0100007F:A000 {} 00000000:00000000 00:00000000 00000000     0        0 {} 1 0 20\n"
    assert established_inodes(head + row.format(0, "0A", 11) + row.format(1, "01", 12)) == {12}


def test_both_ends_of_a_connection_count_at_their_process():
    before = connection_counts([os.getpid()])[0]
    with socket.create_server(("127.0.0.1", 0)) as server:
        with socket.create_connection(server.getsockname()), server.accept()[0]:
            assert connection_counts([os.getpid()]) == [before + 2]


def test_bytes_that_a_process_sends_are_in_the_difference_of_two_marks():
    with socket.create_server(("127.0.0.1", 0)) as server:
        with socket.create_connection(server.getsockname()) as one, server.accept()[0] as other:
            first = mark([os.getpid()])
            one.sendall(bytes(100_000))
            read = 0
            while read < 100_000:
                read += len(other.recv(65_536))
            second = mark([os.getpid()])
    assert second.loopback_bytes - first.loopback_bytes >= 100_000
    assert second.machine_seconds >= first.machine_seconds


def test_memory_is_read_in_bytes():
    rollup = "55e0-7ffd ---p 00000000 00:00 0 [rollup]\nRss:   1200 kB\nPss:    300 kB\nPss_Dirty:  7 kB\n"
    assert (memory_field(rollup, "Rss"), memory_field(rollup, "Pss")) == (1200 * 1024, 300 * 1024)


def test_flags_choose_the_fleets():
    chosen = fleet._read(["--nodes", "10,50", "--rate", "300", "--contenders", "gossamer,zenoh", "--busy"])
    assert (chosen.nodes, chosen.rate, chosen.contenders) == ([10, 50], [300], ["gossamer", "zenoh"])
    assert chosen.busy == os.cpu_count()
    assert fleet._read([]).busy == 0
    with pytest.raises(SystemExit):
        fleet._read(["--contenders", "kafka"])
