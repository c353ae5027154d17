"""The ledger: each message at each subscriber is delivered, reported, lost with its holders, or missing in silence."""

import pytest

from gossamer.protocols.contract.actions import Deliver, Observe
from gossamer.protocols.contract.events import Stopping
from gossamer.protocols.contract.facts import Lost
from gossamer.simulator.torture.ledger import Ledger, Published

TOPIC, MESSAGE = 4, Published(1, 100, 4, 50)


@pytest.fixture
def ledger():
    """Nodes 1, 2 and 3 follow the topic, and node 1 published a message, which node 2 delivered."""
    made = Ledger()
    for node in (1, 2, 3):
        made.opened(node, TOPIC, 10)
    made.published(MESSAGE)
    made.handled(60, 2, Stopping(), [Deliver(TOPIC, b"x", 1, 100, 1, 50)])
    return made


def test_a_subscriber_that_neither_delivers_nor_reports_misses_the_message(ledger):
    [missing] = ledger.missing()
    assert missing == (3, MESSAGE, (1, 2))


def test_a_delivery_accounts_for_the_message(ledger):
    ledger.handled(70, 3, Stopping(), [Deliver(TOPIC, b"x", 1, 100, 2, 50)])
    assert ledger.missing() == []
    assert ledger.delivered_count == 2


@pytest.mark.parametrize(
    ("lost", "is_accounted"),
    [
        (Lost(TOPIC, 1, 99, 101), True),
        (Lost(TOPIC, 1, 100, 102), False),
        (Lost(TOPIC, 2, 99, 101), False),
        (Lost(5, 1, 99, 101), False),
    ],
)
def test_only_a_report_of_this_message_accounts_for_it(ledger, lost, is_accounted):
    ledger.handled(70, 3, Stopping(), [Observe(lost)])
    assert (ledger.missing() == []) == is_accounted


def test_a_subscriber_that_came_later_is_not_owed_the_message(ledger):
    ledger.opened(3, TOPIC, 51)
    assert ledger.missing() == []


def test_a_message_whose_holders_are_gone_has_none(ledger):
    for node in (1, 2):
        ledger.gone(70, node)
    [missing] = ledger.missing()
    assert missing.holders == ()


def test_a_node_that_closed_the_topic_holds_its_messages_no_longer(ledger):
    ledger.closed(2, TOPIC)
    [missing] = ledger.missing()
    assert missing.holders == (1,)


def test_messages_from_before_a_publisher_lost_its_numbers_are_not_owed(ledger):
    ledger.lost_numbers(1)
    assert ledger.missing() == []
