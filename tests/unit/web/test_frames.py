"""Frames: completeness, ways of messages, events, and what a page that has the newest version gets."""

import pytest

from gossamer.protocols.telemetry import (
    ControlSent,
    CopyReceived,
    InterestChanged,
    LinkChanged,
    MessageDelivered,
    MessagePublished,
    MessagesLost,
    NodeLeft,
    NodeStarted,
)
from gossamer.web.frames import SETTLE_US, WINDOW_US, FrameMaker
from gossamer.web.scene import Scene

S = 1_000_000


@pytest.fixture
def scene():
    """Nodes 0, 1 and 2 in a row follow topic 5; node 3 publishes on it."""
    scene = Scene("n{}".format, "t{}".format)
    for node in range(4):
        scene.apply(NodeStarted(0, node), 0)
        scene.apply(InterestChanged(0, node, 5, 1 if node < 3 else 2), 0)
    for one, other in ((0, 1), (1, 2), (3, 0)):
        scene.apply(LinkChanged(0, one, other, True), 0)
    return scene


def tell(scene, *records):
    for record in records:
        scene.apply(record, record.at_us)


def test_completeness_counts_followers_that_are_present_and_messages_that_had_time(scene):
    frames = FrameMaker(scene)
    tell(
        scene,
        MessagePublished(S, 3, 5, 70),
        MessageDelivered(S, 0, 5, 3, 70, 1, S),
        MessageDelivered(S, 1, 5, 3, 70, 2, S),
    )
    assert (frames.frame()["topics"][0]["expected"], frames.frame()["topics"][0]["messages"]) == (0, 0)
    scene.now_us = S + SETTLE_US
    [topic] = frames.frame()["topics"]
    assert topic == {
        "name": "t5",
        "subscribers": 3,
        "components": 1,
        "diameter": 3,
        "is_exact": True,
        "messages": 1,
        "expected": 3,
        "arrived": 2,
    }
    scene.apply(NodeLeft(4 * S, 2), 4 * S)
    [topic] = frames.frame()["topics"]
    assert (topic["expected"], topic["arrived"], topic["subscribers"]) == (2, 2, 2)
    scene.now_us = S + WINDOW_US + 1
    assert frames.frame()["topics"][0]["messages"] == 0


def test_a_message_is_followed_hop_by_hop_with_the_reason_of_each_needless_copy(scene):
    tell(
        scene,
        MessagePublished(S, 3, 5, 70),
        CopyReceived(S + 10, 0, 3, 5, 3, 70, 0, ""),
        MessageDelivered(S + 10, 0, 5, 3, 70, 1, S),
        CopyReceived(S + 40, 0, 1, 5, 3, 70, 2, "a copy came before"),
        CopyReceived(S + 20, 1, 0, 5, 3, 70, 1, ""),
    )
    frame = FrameMaker(scene).frame(message="n3/70")
    assert frame["message"] == {
        "name": "n3/70",
        "topic": "t5",
        "publisher": "n3",
        "missing": ["n1", "n2"],
        "copies": [["n3", "n0", 10, ""], ["n0", "n1", 20, ""], ["n1", "n0", 40, "a copy came before"]],
    }
    assert [(row["name"], row["arrived"], row["copies"], row["needless"]) for row in frame["messages"]] == [
        ("n3/70", 1, 3, 1)
    ]
    assert FrameMaker(scene).frame(message="n3/71")["message"] is None


def test_a_chosen_topic_lights_its_followers_its_other_holders_and_its_links(scene):
    lit = FrameMaker(scene).frame(topic="t5")["lit"]
    assert lit["followers"] == ["n0", "n1", "n2"]
    assert lit["nodes"] == ["n0", "n1", "n2", "n3"]
    assert sorted(zip(lit["links"][::2], lit["links"][1::2], strict=True)) == [("n0", "n1"), ("n0", "n3"), ("n1", "n2")]
    assert FrameMaker(scene).frame(topic="t6")["lit"] is None


def test_a_page_with_the_newest_version_gets_no_nodes_and_links_again(scene):
    frames = FrameMaker(scene)
    first = frames.frame()
    assert [node[:3] for node in first["nodes"]] == [["n0", 1, 2], ["n1", 1, 2], ["n2", 1, 1], ["n3", 1, 1]]
    assert first["links"] == [0, 1, 1, 2, 0, 3]
    assert "nodes" not in frames.frame(version=first["version"])
    scene.apply(NodeLeft(S, 2), S)
    assert len(frames.frame(version=first["version"])["nodes"]) == 3


def test_topics_that_fall_apart_and_mend_happen_and_are_told_once(scene):
    frames = FrameMaker(scene)
    last = frames.frame()["happenings"][-1][0]
    tell(scene, LinkChanged(S, 0, 1, False), MessagesLost(S, 2, 5, 3, 7, 10))
    happened = frames.frame(after_happening=last)["happenings"]
    assert [event[2] for event in happened] == [
        "link n0 - n1 down",
        "node n2 gave up on 2 messages of n3 on t5",
        "t5 fell into 2 components",
    ]
    scene.apply(LinkChanged(2 * S, 1, 0, True), 2 * S)
    assert [event[2] for event in frames.frame(after_happening=happened[-1][0])["happenings"]] == [
        "link n1 - n0 up",
        "t5 is connected",
    ]


def test_speeds_are_those_of_the_last_seconds(scene):
    frames = FrameMaker(scene)
    for second in range(1, 21):
        scene.apply(ControlSent(second * S, 0, "Heartbeat", 2 if second < 10 else 6), second * S)
        scene.published += 3
        frames.note_totals()
    speeds = frames.frame()["speeds"]
    assert speeds["published"] == 3
    assert speeds["control"] == {"Heartbeat": 6}


def test_latencies_are_counted_by_powers_of_two(scene):
    tell(scene, MessagePublished(S, 3, 5, 70))
    for node, latency in enumerate((1, 1000, -5)):
        tell(scene, MessageDelivered(S + latency, node, 5, 3, 70, 1, S))
    counts = FrameMaker(scene).frame()["latencies"]
    assert {bits: count for bits, count in enumerate(counts) if count} == {0: 1, 1: 1, 10: 1}
