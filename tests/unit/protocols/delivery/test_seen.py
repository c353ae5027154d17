"""The bounded memory of messages that a node has seen."""

from gossamer.protocols.delivery.seen import SeenMessages


def test_a_message_is_new_once():
    seen = SeenMessages()
    assert seen.add(9, 1, 2)
    assert not seen.add(9, 1, 3)
    assert seen.add(8, 1, 3), "another publisher's message with the same number is another message"
    assert seen.has(9, 1)
    assert not seen.has(9, 2)


def test_the_first_sender_is_remembered_and_can_be_replaced():
    seen = SeenMessages()
    seen.add(9, 1, 2)
    seen.add(9, 1, 3)
    assert seen.first_sender(9, 1) == 2
    seen.set_first_sender(9, 1, 4)
    assert seen.first_sender(9, 1) == 4


def test_consecutive_messages_are_added_only_if_all_are_new():
    seen = SeenMessages()
    assert seen.add_all(9, 5, 3, 2)
    assert not seen.add_all(9, 7, 3, 4)
    assert [seen.has(9, number) for number in range(4, 10)] == [False, True, True, True, False, False]
    assert seen.first_sender(9, 7) == 2


def test_the_numbers_not_seen_are_listed_in_order():
    seen = SeenMessages()
    for number in (2, 5, 6):
        seen.add(9, number)
    assert seen.not_seen(9, 1, 7) == [1, 3, 4, 7]
    assert seen.not_seen(8, 1, 2) == [1, 2]


def test_the_memory_is_bounded_and_forgets_the_oldest_message_first():
    seen = SeenMessages(most=3)
    assert [seen.add(1, number) for number in (1, 2, 3, 1, 4)] == [True, True, True, False, True]
    assert seen.add(1, 1)
    assert not seen.add(1, 4)


def test_forgetting_part_of_a_burst_and_whole_publishers_leaves_nothing_behind():
    seen = SeenMessages(most=4)
    seen.add(8, 1)
    seen.add_all(9, 1, 3, 2)
    seen.add_all(7, 1, 2, 2)
    assert not seen.has(8, 1)
    assert [seen.has(9, number) for number in (1, 2, 3)] == [False, True, True]
    seen.add_all(7, 3, 4, 2)
    assert list(seen._first_senders) == [7]
    assert [(span.publisher, span.first, span.end) for span in seen._spans] == [(7, 3, 7)]
