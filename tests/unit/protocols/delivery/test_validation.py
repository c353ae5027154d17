"""Messages that wait for the application's validator, in every dissemination."""

from gossamer.model.values.ids import Role
from gossamer.protocols.contract.actions import Deliver, Observe, Validate
from gossamer.protocols.contract.events import MessageReceived, Outcome, Publish, Subscribe, Unsubscribe, Validated
from gossamer.protocols.contract.facts import PeerMisbehaved
from gossamer.protocols.delivery import validation
from gossamer.protocols.delivery.validation import NotJudged
from gossamer.protocols.dissemination.flood import Flood
from tests.unit.protocols.delivery.one_part import ONE, every_dissemination, give, make, message, sent_to


@every_dissemination
def test_a_message_is_delivered_and_relayed_only_once_the_validator_accepts_it(kind):
    part = make(kind)
    give(part, Subscribe(ONE, Role.FOLLOWS, validates=True))
    assert give(part, MessageReceived(2, message(kind))) == [Validate(1, ONE, b"x", 9, 1, 0)]
    actions = give(part, Validated(1, Outcome.ACCEPT))
    assert sent_to(actions) == [(3,)]
    assert [type(action) for action in actions].count(Deliver) == 1
    assert give(part, Validated(1, Outcome.ACCEPT)) == [], "once"


@every_dissemination
def test_the_sender_of_a_rejected_message_is_reported_and_the_sender_of_an_ignored_one_is_not(kind):
    part = make(kind)
    give(part, Subscribe(ONE, Role.FOLLOWS, validates=True))
    for sequence in (1, 2):
        give(part, MessageReceived(2, message(kind, sequence, previous=sequence - 1)))
    (observed,) = give(part, Validated(1, Outcome.REJECT))
    assert observed.fact == PeerMisbehaved(2, "sent a message that the validator rejects")
    assert give(part, Validated(2, Outcome.IGNORE)) == []


@every_dissemination
def test_a_nodes_own_message_is_not_validated(kind):
    part = make(kind)
    give(part, Subscribe(ONE, Role.BOTH, validates=True))
    assert sent_to(give(part, Publish(ONE, b""))) == [(2, 3)]


def test_messages_that_wait_are_bounded_and_dropped_ones_are_reported(monkeypatch):
    monkeypatch.setattr(validation, "WAITING_MAX", 3)
    part = make(Flood)
    give(part, Subscribe(ONE, Role.FOLLOWS, validates=True))
    seen = [action for sequence in range(1, 6) for action in give(part, MessageReceived(2, message(Flood, sequence)))]
    assert [a.fact for a in seen if type(a) is Observe] == [NotJudged(ONE, 9, 1), NotJudged(ONE, 9, 2)]
    assert give(part, Validated(1, Outcome.ACCEPT)) == []
    assert give(part, Validated(3, Outcome.ACCEPT))


def test_a_message_that_is_accepted_after_its_topic_was_given_up_is_dropped():
    part = make(Flood)
    give(part, Subscribe(ONE, Role.FOLLOWS, validates=True))
    give(part, MessageReceived(2, message(Flood)))
    give(part, Unsubscribe(ONE))
    assert give(part, Validated(1, Outcome.ACCEPT)) == []
    assert part._validation.size_bytes == 0
