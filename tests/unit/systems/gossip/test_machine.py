"""Gossip's handlers (Algorithms 1 and 2) and its buffer."""

import asyncio
from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from gossamer.live.transport.driver import LiveDriver
from gossamer.model.values.ids import Role
from gossamer.protocols.contract.actions import (
    Deliver,
    Observe,
    Send,
    SetTimer,
)
from gossamer.protocols.contract.events import (
    MessageReceived,
    Publish,
    Started,
    Subscribe,
    TimerFired,
    Unsubscribe,
)
from gossamer.protocols.contract.facts import BufferFull, NeighbourDown, NeighbourUp
from gossamer.protocols.contract.messages import Peer
from gossamer.protocols.contract.system import read_parameters
from gossamer.systems import find_system, make_machine
from gossamer.systems.gossip.machine import (
    STRANGERS_MAX,
    TOPICS_MAX,
    Gossip,
    GossipData,
    GossipParameters,
    HandleDue,
    Subscriptions,
)
from tests.memory_transport import MemoryTransport
from tests.waiting import until

ME = 1


def part(*neighbours, **settings):
    made = Gossip(GossipParameters(**{"gamma": 0.0, **settings}), 7, ME)
    for node in neighbours:
        made.learn(NeighbourUp(node), 0, [])
    return made


def handle(made, event, now_us=5):
    out = []
    made.handle(event, now_us, out)
    return out


def says(made, sender, *topics, removed=()):
    return handle(made, MessageReceived(sender, Subscriptions(topics, removed)))


def event(sequence=1, ttl=9, topic=7, hops=0):
    return GossipData(topic, 9, sequence, hops, 0, b"x", ttl=ttl)


def receivers(actions):
    return [node for action in actions if isinstance(action, Send) for node in action.to]


# Algorithm 1.


def test_a_subscription_and_its_end_are_announced_to_all_neighbours():
    made = part(3, 2)
    assert handle(made, Subscribe(7, Role.FOLLOWS)) == [Send((2, 3), Subscriptions(added=(7,)))]
    assert handle(made, Subscribe(7, Role.BOTH)) == []
    assert handle(made, Unsubscribe(7)) == [Send((2, 3), Subscriptions(removed=(7,)))]


def test_a_new_neighbour_receives_all_subscriptions():
    made = part()
    for topic, role in ((7, Role.FOLLOWS), (8, Role.PUBLISHES), (9, Role.BOTH)):
        handle(made, Subscribe(topic, role))
    out = []
    made.learn(NeighbourUp(2), 0, out)
    assert out == [Send((2,), Subscriptions(added=(7, 9)))]


def test_a_message_goes_to_neighbours_that_announced_a_subscription_until_they_withdraw_it():
    made = part(2, 3, 4)
    says(made, 2, 7)
    says(made, 3, 7, 8)
    assert receivers(handle(made, MessageReceived(4, event(1)))) == [2, 3]
    says(made, 2, removed=(7,))
    assert receivers(handle(made, MessageReceived(4, event(2)))) == [3]


def test_subscriptions_announced_before_the_link_was_open_count():
    made = part()
    says(made, 2, 7)
    made.learn(NeighbourUp(2), 0, [])
    assert receivers(handle(made, MessageReceived(4, event()))) == [2]


def test_a_lost_neighbour_receives_no_messages():
    made = part(2)
    says(made, 2, 7)
    made.learn(NeighbourDown(2), 0, [])
    assert handle(made, MessageReceived(4, event())) == []


# Algorithm 2.


def test_a_message_is_not_sent_back_and_not_handled_twice():
    made = part(2, 3, gamma=1.0)
    first = handle(made, MessageReceived(2, event()))
    assert first == [Send((3,), event(ttl=8, hops=1))]
    assert handle(made, MessageReceived(3, event())) == []


def test_all_nodes_relay_but_only_followers_deliver():
    relay, follower, publisher = part(3, gamma=1.0), part(3, gamma=1.0), part(3, gamma=1.0)
    handle(follower, Subscribe(7, Role.FOLLOWS))
    handle(publisher, Subscribe(7, Role.PUBLISHES))
    kinds = [
        [type(action) for action in handle(made, MessageReceived(2, event()))] for made in (relay, follower, publisher)
    ]
    assert kinds == [[Send], [Deliver, Send], [Send]]


def test_a_message_without_hops_left_is_delivered_and_not_relayed():
    made = part(3, gamma=1.0)
    handle(made, Subscribe(7, Role.FOLLOWS))
    assert [type(action) for action in handle(made, MessageReceived(2, event(ttl=0)))] == [Deliver]
    assert handle(made, MessageReceived(4, event(ttl=5))) == []


def test_a_peer_cannot_raise_the_remaining_hops_of_a_message():
    (send,) = handle(part(3, gamma=1.0, ttl=4), MessageReceived(2, event(ttl=10**9)))
    assert send.message.ttl == 3
    assert handle(part(3, gamma=1.0), MessageReceived(2, event(ttl=-5))) == []


def test_a_published_message_starts_with_all_hops_and_is_not_accepted_again():
    made = part(3, gamma=1.0, ttl=4)
    assert handle(made, Publish(7, b"x")) == []
    handle(made, Subscribe(7, Role.BOTH))
    (send,) = handle(made, Publish(7, b"x"))
    assert (send.to, send.message.ttl, send.message.hops) == ((3,), 3, 0)
    assert handle(made, MessageReceived(3, send.message)) == []


def test_neighbours_without_the_topic_receive_a_share_gamma_each_by_its_own_draw():
    made = part(*range(2, 12), gamma=0.3)
    sent = [receivers(handle(made, MessageReceived(99, event(number)))) for number in range(500)]
    by_node = [sum(node in group for group in sent) / 500 for node in range(2, 12)]
    assert all(0.2 < share < 0.4 for share in by_node)
    assert len({tuple(group) for group in sent}) > 100


# The buffer.


def test_copies_wait_in_the_buffer_and_a_copy_beyond_it_is_dropped_and_reported():
    made = part(3, gamma=1.0, handle_us=10, buffer=2)
    assert handle(made, MessageReceived(2, event(1)), 100) == [SetTimer(110, HandleDue())]
    assert handle(made, MessageReceived(2, event(2)), 101) == []
    assert handle(made, MessageReceived(2, event(3)), 102) == [Observe(BufferFull(7, 9, 3))]
    send, timer = handle(made, TimerFired(HandleDue()), 110)
    assert (send.message.sequence, timer) == (1, SetTimer(120, HandleDue()))
    (send,) = handle(made, TimerFired(HandleDue()), 120)
    assert send.message.sequence == 2
    # What was lost was not handled: a later copy is new.
    handle(made, MessageReceived(2, event(3)), 130)
    assert receivers(handle(made, TimerFired(HandleDue()), 140)) == [3]
    assert handle(made, TimerFired(HandleDue()), 150) == []


def test_a_node_s_own_message_waits_in_the_buffer_too_and_its_loss_is_reported():
    made = part(3, gamma=1.0, handle_us=10, buffer=1)
    handle(made, Subscribe(7, Role.BOTH))
    assert handle(made, Publish(7, b"x"), 100) == [SetTimer(110, HandleDue())]
    assert handle(made, Publish(7, b"x"), 101) == [Observe(BufferFull(7, ME, 102))]
    assert receivers(handle(made, TimerFired(HandleDue()), 110)) == [3]


anything = st.one_of(
    st.builds(
        Subscriptions,
        st.lists(st.integers(0, 30), max_size=20).map(tuple),
        st.lists(st.integers(0, 30), max_size=20).map(tuple),
    ),
    st.builds(
        GossipData,
        st.integers(0, 9),
        st.integers(0, 5),
        st.integers(0, 50),
        st.integers(-5, 5),
        st.integers(-5, 5),
        st.just(b""),
        st.integers(-(2**40), 2**40),
    ),
)


@given(st.lists(st.tuples(st.integers(0, 2**64 - 1), anything), max_size=60))
def test_no_peer_message_raises_and_the_buffer_stays_bounded(messages):
    made = part(2, 3, handle_us=10, buffer=4)
    for sender, message in messages:
        handle(made, MessageReceived(sender, message))
    assert len(made._buffer) <= 4
    assert all(len(topics) <= TOPICS_MAX for topics in made._neighbours.values())


def test_strangers_beyond_the_bound_are_forgotten_and_topics_beyond_the_bound_refused():
    made = part(2)
    for stranger in range(10, 10 + 3 * STRANGERS_MAX):
        says(made, stranger, 7)
    assert len(made._strangers) == STRANGERS_MAX
    for start in range(0, 3 * TOPICS_MAX, TOPICS_MAX):
        says(made, 2, *range(start, start + TOPICS_MAX))
    assert len(made._neighbours[2]) == TOPICS_MAX


def test_gossip_reaches_a_live_subscriber_through_nodes_that_do_not_follow_the_topic():
    async def main():
        system = find_system("unstructured")
        transport = MemoryTransport()
        delivered = []

        drivers = []
        for node in range(4):
            parameters = read_parameters(system, {"redial_us": 1000})
            machine = make_machine(system, parameters, 1, node, None, "gossip", {"gamma": 1.0})
            deliver = partial(lambda node, actions: delivered.extend((node, one.payload) for one in actions), node)
            drivers.append(LiveDriver(machine, node, bytes([node + 1]), transport, deliver=deliver))
        # A line 0 - 1 - 2 - 3 in which 1 and 2 do not follow the topic.
        for node, driver in enumerate(drivers):
            driver.start(Started((Peer(node + 1, bytes([node + 2])),) if node < 3 else (), address=driver.address))
        for node in (0, 3):
            drivers[node].give(Subscribe(7, Role.BOTH))

        def arrives():
            drivers[0].give(Publish(7, b"hello"))
            return (3, b"hello") in delivered

        await until(arrives)
        for driver in drivers:
            driver.stop()
        assert {node for node, _ in delivered} == {3}

    asyncio.run(main())
