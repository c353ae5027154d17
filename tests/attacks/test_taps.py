"""Someone who reads the bytes of connections without TLS."""

from collections import Counter

import msgspec
import pytest

from gossamer import Security, testing
from gossamer.live.transport.labels import TopicLabels, on_topic
from gossamer.live.transport.queues import SendQueue
from gossamer.model.values.ids import Role, identity
from gossamer.protocols.contract.events import Subscribe, Unsubscribe
from gossamer.protocols.contract.forms import TAGS
from gossamer.protocols.contract.messages import Data
from gossamer.protocols.delivery.announcements import Announce, MessageRun
from gossamer.protocols.delivery.recovery.messages import Answer
from gossamer.protocols.dissemination.tree_messages import Graft, TreeData
from gossamer.systems.stan.messages import Hold, Probe


def tapped(monkeypatch, topics, secrets):
    """All bytes that three nodes send behind their greetings while each follows and publishes on these topics."""
    frames = []
    taken = SendQueue.take

    def tap(queue):
        frames.append(taken(queue))
        return frames[-1]

    monkeypatch.setattr(SendQueue, "take", tap)

    async def scenario(network):
        stan = {"system": "stan", "security": Security(secrets=secrets)}
        async with network.node(**stan) as one, network.node(join=[one.address], **stan) as two:
            async with network.node(join=[one.address], **stan) as three:
                opened = [(node, node.subscribe(topic)) for node in (one, two, three) for topic in topics]
                for _, subscription in opened:
                    await subscription.__aenter__()
                for topic in topics:
                    await one.ready(topic)
                    await one.publish(topic, b"x")
                got = [await anext(subscription) for node, subscription in opened if node is not one]
                for _, subscription in opened:
                    await subscription.__aexit__(None, None, None)
                return len(got)

    assert testing.run(scenario, seed=1) == 2 * len(topics)
    assert len(b"".join(frames)) > 1_000
    return frames


@pytest.mark.parametrize("secret", [b"", b"between us"])
def test_no_topic_id_is_on_the_wire(monkeypatch, secret):
    topics = ["prices/eur", "prices/usd"]
    ids = []
    noted = TopicLabels.note

    def note(self, event):
        ids.append(event.topic)
        noted(self, event)

    monkeypatch.setattr(TopicLabels, "note", note)
    content = b"".join(tapped(monkeypatch, topics, dict.fromkeys(topics, secret) if secret else {}))
    assert len(set(ids)) == 2
    for topic in ids:
        assert topic.to_bytes(8, "big") not in content
    for name in topics:
        assert name.encode() not in content
        assert identity(name.encode()).to_bytes(8, "big") not in content


def test_no_number_stands_for_a_topic_on_the_wire(monkeypatch):
    content = b"".join(tapped(monkeypatch, ["prices/eur", "prices/usd"], {}))
    tags = Counter()
    while content:
        end = 4 + int.from_bytes(content[:4], "big")
        tags.update(message[0] for message in msgspec.msgpack.decode(content[4:end]))
        content = content[end:]
    assert tags[TAGS["tree_data"]] > 0
    assert not tags[0]
    assert not tags[1]


def test_the_same_topic_has_another_label_on_each_link_and_in_each_direction():
    message = Hold(4, b"p")
    labels = Counter()
    for sender in range(1, 30):
        node = TopicLabels(sender)
        node.note(Subscribe(4, Role.FOLLOWS))
        labels.update(node.hide(receiver, message).topic for receiver in range(1, 30) if receiver != sender)
    assert max(labels.values()) == 1


def test_a_tap_without_the_secret_cannot_test_a_guessed_name():
    guessing = TopicLabels(1)
    guessing.note(Subscribe(4, Role.FOLLOWS))
    for secret, is_right in ((b"", True), (b"between us", False)):
        node = TopicLabels(1)
        node.note(Subscribe(4, Role.FOLLOWS, secret=secret))
        assert (node.hide(2, Hold(4, b"p")) == guessing.hide(2, Hold(4, b"p"))) is is_right


def pair(topic=4):
    one, two = TopicLabels(1), TopicLabels(2)
    for each in (one, two):
        each.note(Subscribe(topic, Role.FOLLOWS))
    return one, two


def test_the_receiver_reads_every_kind_of_message():
    one, two = pair()
    data = TreeData(4, 9, 7, 0, 0, b"x", 6)
    for message in (
        data,
        Graft(4, ((9, 7),)),
        Announce((MessageRun(4, 9, 7, 10, 2), MessageRun(4, 8, 1))),
        Answer(4, 9, (Data(4, 9, 7, 0, 0, b"x"),)),
        Probe(1, b"t" * 16, b""),
    ):
        hidden = one.hide(2, message)
        assert (hidden == message) is isinstance(message, Probe)
        assert two.show(1, hidden) == message


def test_labels_of_other_topics_links_and_directions_say_nothing():
    one, two = pair()
    hidden = one.hide(2, Hold(4, b"p"))
    three = TopicLabels(3)
    three.note(Subscribe(4, Role.FOLLOWS))
    assert three.show(1, hidden) is None
    assert two.show(3, hidden) is None
    assert two.show(1, Hold(4, b"p")) is None, "the id itself"
    assert one.show(2, hidden) is None, "a reflected message"


def test_a_topic_that_was_given_up_is_known_for_a_while_and_not_forever():
    one, two = pair()
    two.note(Unsubscribe(4))
    assert two.show(1, one.hide(2, Hold(4, b"p"))) == Hold(4, b"p")
    for topic in range(10, 2_000):
        two.note(Subscribe(topic, Role.FOLLOWS))
        two.note(Unsubscribe(topic))
    assert two.show(1, one.hide(2, Hold(4, b"p"))) is None
    assert two.hide(1, Hold(4, b"p")) is None
    assert len(two._keys) <= 1_025


def test_a_message_changes_its_topic_with_all_that_it_contains():
    message = Answer(4, 9, (Data(4, 9, 7, 0, 0, b"x"), Data(4, 9, 8, 0, 0, b"y")))
    assert on_topic(message, 5) == Answer(5, 9, (Data(5, 9, 7, 0, 0, b"x"), Data(5, 9, 8, 0, 0, b"y")))
