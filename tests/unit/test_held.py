"""What every dissemination keeps: numbers, judgement, several topics, history."""

import msgspec
import pytest

from gossamer.model.values.errors import MachineMisuse
from gossamer.model.values.ids import Role
from gossamer.protocols.contract.actions import (
    Deliver,
    Observe,
    Send,
    Validate,
)
from gossamer.protocols.contract.events import (
    MessageReceived,
    Outcome,
    Publish,
    Subscribe,
    Unsubscribe,
    Validated,
)
from gossamer.protocols.contract.facts import NeighbourUp, PeerMisbehaved
from gossamer.protocols.contract.messages import HOPS_MAX, Data
from gossamer.protocols.contract.record import AnyMessage, decode_message
from gossamer.protocols.delivery import validation
from gossamer.protocols.delivery.held import Held
from gossamer.protocols.delivery.history import EACH_BYTES, PAGE_MAX, History
from gossamer.protocols.delivery.validation import NotJudged
from gossamer.protocols.dissemination.flood import Flood
from gossamer.protocols.dissemination.tree import Tree
from gossamer.protocols.dissemination.tree_messages import TreeData
from gossamer.systems.gossip.machine import Gossip, GossipData, GossipParameters

ME, ONE, TWO = 1, 7, 8


class Fixed:
    """An overlay that stands still: 2 and 3 hold the first topic, 3 and 4 the second."""

    def neighbours_on(self, topic):
        return {ONE: (2, 3), TWO: (3, 4)}.get(topic, ())


def make(kind, held=None):
    if kind is Gossip:
        part = Gossip(GossipParameters(gamma=0), 1, ME, held)
        for node, topics in ((2, (ONE,)), (3, (ONE, TWO)), (4, (TWO,))):
            part.learn(NeighbourUp(node), 0, [])
            part._neighbours[node] = dict.fromkeys(topics)
        return part
    return kind(Fixed(), ME, held)


def give(part, event, now_us=5):
    out = []
    part.handle(event, now_us, out)
    return out


CLASSES = {Flood: Data, Tree: TreeData, Gossip: GossipData}
every_dissemination = pytest.mark.parametrize("kind", [Flood, Tree, Gossip])


def message(kind, sequence=1, topic=ONE, also=(), previous=0):
    made = CLASSES[kind](topic, 9, sequence, 0, 0, b"x", previous, also)
    return GossipData(*(getattr(made, name) for name in Data.__struct_fields__), ttl=9) if kind is Gossip else made


def sent_to(actions):
    return [send.to for send in actions if type(send) is Send and isinstance(send.message, Data)]


# Numbers.


def test_each_message_names_the_one_before_it_on_the_topic():
    held = Held(ME)
    for topic in (ONE, TWO):
        held.set_interest(Subscribe(topic, Role.BOTH))
    topics = (ONE, ONE, TWO, ONE, TWO)
    made = [held.own_messages.publish(Publish(topic, b""), Data, 100) for topic in topics]
    assert [(data.sequence, data.previous) for data in made] == [(101, 0), (102, 101), (103, 0), (104, 102), (105, 103)]


def test_a_message_of_several_topics_names_the_one_before_it_on_each():
    held = Held(ME)
    for topic in (ONE, TWO):
        held.set_interest(Subscribe(topic, Role.BOTH))
    held.own_messages.publish(Publish(TWO, b""), Data, 100)
    data = held.own_messages.publish(Publish(ONE, b"", (TWO, ONE, 99)), Data, 100)
    assert (data.topic, data.previous, data.also) == (ONE, 0, ((TWO, 101),))
    assert held.own_messages.publish(Publish(TWO, b""), Data, 100).previous == 102
    assert held.own_messages.publish(Publish(98, b"", (99,)), Data, 100) is None


def test_a_driver_that_signs_gives_the_number_and_it_must_grow():
    held = Held(ME)
    held.set_interest(Subscribe(ONE, Role.BOTH))
    assert held.own_messages.publish(Publish(ONE, b"", sequence=50), Data, 100).sequence == 50
    assert held.own_messages.publish(Publish(ONE, b""), Data, 100).sequence == 51
    with pytest.raises(MachineMisuse, match="number 51 after number 51"):
        held.own_messages.publish(Publish(ONE, b"", sequence=51), Data, 100)


@pytest.mark.parametrize(
    "field", [{"sequence": 2**64 - 1}, {"hops": 2**64 - 1}, {"hops": -1}, {"also": ((1, 0),) * 64}]
)
def test_numbers_that_cannot_go_a_step_further_and_too_many_topics_are_refused_where_they_are_decoded(field):
    data = msgspec.structs.replace(TreeData(ONE, 9, 1, 0, 0, b""), **field)
    with pytest.raises(msgspec.ValidationError):
        msgspec.msgpack.decode(msgspec.msgpack.encode(data), type=AnyMessage)


# Several topics.


@every_dissemination
def test_a_message_of_two_topics_crosses_each_link_once(kind):
    part = make(kind)
    for topic in (ONE, TWO):
        give(part, Subscribe(topic, Role.BOTH))
    assert sent_to(give(part, Publish(ONE, b"", (TWO,)))) == [(2, 3, 4)]
    actions = give(part, MessageReceived(2, message(kind, also=((TWO, 0),))))
    assert sent_to(actions) == [(3, 4)]
    (deliver,) = [action for action in actions if type(action) is Deliver]
    assert (deliver.topic, deliver.also) == (ONE, (TWO,))


@pytest.mark.parametrize("kind", [Flood, Tree])
def test_who_holds_one_of_two_topics_passes_it_on_to_those_who_hold_that_one(kind):
    part = make(kind)
    give(part, Subscribe(TWO, Role.FOLLOWS))
    actions = give(part, MessageReceived(3, message(kind, also=((TWO, 0),))))
    assert sent_to(actions) == [(4,)]
    (deliver,) = [action for action in actions if type(action) is Deliver]
    assert (deliver.topic, deliver.also) == (TWO, ())


@pytest.mark.parametrize("kind", [Flood, Tree])
def test_where_topics_are_nobodys_business_a_message_of_several_is_neither_made_nor_taken(kind):
    part = make(kind, Held(ME, discloses=False))
    for topic in (ONE, TWO):
        give(part, Subscribe(topic, Role.BOTH))
    with pytest.raises(MachineMisuse, match="one topic at a time"):
        give(part, Publish(ONE, b"", (TWO,)))
    (observed,) = give(part, MessageReceived(3, message(kind, also=((TWO, 0),))))
    assert isinstance(observed.fact, PeerMisbehaved)


# Judgement.


@every_dissemination
def test_what_the_validator_accepts_is_delivered_and_passed_on_and_nothing_before(kind):
    part = make(kind)
    give(part, Subscribe(ONE, Role.FOLLOWS, validates=True))
    assert give(part, MessageReceived(2, message(kind))) == [Validate(1, ONE, b"x", 9, 1, 0)]
    actions = give(part, Validated(1, Outcome.ACCEPT))
    assert sent_to(actions) == [(3,)]
    assert [type(action) for action in actions].count(Deliver) == 1
    assert give(part, Validated(1, Outcome.ACCEPT)) == [], "once"


@every_dissemination
def test_what_the_validator_rejects_is_held_against_the_sender_and_what_it_ignores_is_not(kind):
    part = make(kind)
    give(part, Subscribe(ONE, Role.FOLLOWS, validates=True))
    for sequence in (1, 2):
        give(part, MessageReceived(2, message(kind, sequence, previous=sequence - 1)))
    (observed,) = give(part, Validated(1, Outcome.REJECT))
    assert observed.fact == PeerMisbehaved(2, "sent a message that the validator rejects")
    assert give(part, Validated(2, Outcome.IGNORE)) == []


@every_dissemination
def test_a_message_of_ones_own_is_not_judged(kind):
    part = make(kind)
    give(part, Subscribe(ONE, Role.BOTH, validates=True))
    assert sent_to(give(part, Publish(ONE, b""))) == [(2, 3)]


def test_what_waits_for_judgement_is_bounded_and_what_is_dropped_is_said(monkeypatch):
    monkeypatch.setattr(validation, "WAITING_MAX", 3)
    part = make(Flood)
    give(part, Subscribe(ONE, Role.FOLLOWS, validates=True))
    seen = [action for sequence in range(1, 6) for action in give(part, MessageReceived(2, message(Flood, sequence)))]
    assert [a.fact for a in seen if type(a) is Observe] == [NotJudged(ONE, 9, 1), NotJudged(ONE, 9, 2)]
    assert give(part, Validated(1, Outcome.ACCEPT)) == []
    assert give(part, Validated(3, Outcome.ACCEPT))


def test_what_was_judged_after_its_topic_was_let_go_goes_nowhere():
    part = make(Flood)
    give(part, Subscribe(ONE, Role.FOLLOWS, validates=True))
    give(part, MessageReceived(2, message(Flood)))
    give(part, Unsubscribe(ONE))
    assert give(part, Validated(1, Outcome.ACCEPT)) == []
    assert part._validation.size_bytes == 0


@every_dissemination
def test_a_message_that_came_too_far_for_others_to_read_it_is_not_passed_on(kind):
    part = make(kind)
    give(part, Subscribe(ONE, Role.BOTH))
    for hops, is_passed_on in ((HOPS_MAX - 1, True), (HOPS_MAX, False)):
        far = msgspec.structs.replace(message(kind, hops), hops=hops)
        actions = give(part, MessageReceived(2, far))
        assert bool(sent_to(actions)) == is_passed_on
        for action in actions:
            if type(action) is Send:
                assert decode_message(msgspec.msgpack.encode(action.message)) == action.message
    assert actions[-1].fact == PeerMisbehaved(2, "sent a message that has come too far")


# History.


def kept(history, topic):
    return [data.sequence for data in history.between(topic, 9, 0, 2**60)]


@pytest.mark.parametrize("per_topic", [1, 7, 64, 300])
def test_history_keeps_no_more_than_it_may_of_a_topic_and_most_of_that(per_topic):
    history = History(per_topic)
    for number in range(1, 1_001):
        history.put(ONE, [Data(ONE, 9, number, 0, 0, b"")])
        assert history.count(ONE) <= per_topic
    assert history.count(ONE) > per_topic * 3 // 4 - 1
    assert kept(history, ONE) == list(range(1_001 - history.count(ONE), 1_001)), "the last ones"
    assert history.size_bytes == EACH_BYTES * history.count(ONE)


def test_history_keeps_no_more_bytes_than_it_may_and_the_oldest_go_first():
    history = History(1_024, bytes_max=100_000)
    for number in range(1, 2_001):
        history.put(number % 10, [Data(number % 10, 9, number, 0, 0, bytes(300))])
        assert history.size_bytes <= 100_000
    assert history.size_bytes == sum(history.count(topic) for topic in range(10)) * (EACH_BYTES + 300)
    newest = [topic for topic in range(10) if kept(history, topic)]
    assert all(kept(history, topic)[-1] > 1_990 for topic in newest)
    assert len(newest) >= 1


def test_history_of_topics_let_go_leaves_nothing_behind():
    history = History()
    for turn in range(3_000):
        history.put(turn % 7, [Data(turn % 7, 9, turn, 0, 0, b"x")])
        if turn % 5 == 0:
            history.drop(turn % 7)
    for topic in range(7):
        history.drop(topic)
    assert history.size_bytes == 0
    assert history._used == 0
    assert len(history._pages) <= 2 * PAGE_MAX


def test_history_gives_by_name_and_by_order_however_messages_came():
    history = History()
    for number in (3, 1, 2, 5):
        history.put(ONE, [Data(ONE, 9, number, 0, 100 - number, b"")])
    history.put(ONE, [Data(ONE, 8, 4, 0, 0, b"")])
    assert [data.sequence for data in history.between(ONE, 9, 1, 5)] == [2, 3]
    assert [data.sequence for data in history.named(ONE, {(9, 5), (8, 4), (9, 9)})] == [5, 4]
    assert [data.sequence for data in history.latest(ONE, 2, 2**60)] == [2, 1]
    assert history.named(TWO, {(9, 5)}) == []
