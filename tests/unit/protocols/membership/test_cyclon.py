"""Cyclon's machine, handler by handler."""

from hypothesis import given
from hypothesis import strategies as st

from gossamer.model.values.time import SECOND_US
from gossamer.protocols.contract.actions import Observe, Send, SetTimer
from gossamer.protocols.contract.events import (
    MessageReceived,
    PeerDown,
    Started,
    TimerFired,
)
from gossamer.protocols.contract.facts import Heard, PeerMisbehaved, ViewChanged
from gossamer.protocols.contract.messages import Digest, Peer
from gossamer.protocols.membership.cyclon import Cyclon, CyclonParameters
from gossamer.protocols.membership.cyclon_messages import (
    Introduction,
    Join,
    JoinWalk,
    ShuffleDue,
    ShuffleReply,
    ShuffleRequest,
    ShuffleSent,
)
from gossamer.protocols.membership.cyclon_view import ViewEntry
from gossamer.protocols.membership.interest_exchange import InterestExchange

PARAMETERS = CyclonParameters(view_size=4, shuffle_length=3, walk_length=2, period_us=1_000)


def started(*contacts, joining=False, node=0):
    part = Cyclon(PARAMETERS, seed=1, node=node)
    out = []
    part.handle(Started(tuple(Peer(c, bytes([c])) for c in contacts), joining, address=bytes([node])), 0, out)
    return part, out


def sends(out):
    return [action for action in out if isinstance(action, Send)]


def view(part):
    return [entry.node for entry in part.view()]


def receive(part, sender, message, now_us=500):
    out = []
    facts = part.handle(MessageReceived(sender, message), now_us, out)
    return out, facts


def test_a_node_that_starts_with_contacts_takes_them_as_its_view():
    part, out = started(3, 5, 3, 0, 7, 8, 9)
    assert view(part) == [3, 5, 7, 8]
    assert [type(action) for action in out] == [SetTimer]


def test_a_newcomer_asks_its_contacts_in_turn():
    part, out = started(3, 5, joining=True)
    assert sends(out) == [Send((3,), Join(Peer(0, b"\x00")), (b"\x03",))]
    for now_us, expected in ((1_000, 5), (2_000, 3)):
        out = []
        part.handle(TimerFired(ShuffleDue()), now_us, out)
        assert [send.to for send in sends(out)] == [(expected,)]


def test_a_shuffle_asks_the_oldest_peer_and_offers_itself_first():
    part, _ = started(3, 5, 7)
    receive(part, 9, Introduction(ViewEntry(9, 40)))
    out = []
    facts = part.handle(TimerFired(ShuffleDue()), 1_000, out)
    (send,) = sends(out)
    assert send.to == (9,)
    assert send.message.entries[0] == ViewEntry(0, 0, b"\x00")
    assert len(send.message.entries) == 3
    assert facts == (ViewChanged((9,), ()), ShuffleSent(Peer(9)))
    assert {entry.age for entry in part.view()} == {1}


def test_a_stale_timer_is_ignored():
    part, _ = started(3)
    part.handle(TimerFired(ShuffleDue()), 1_000, [])
    out = []
    assert part.handle(TimerFired(ShuffleDue()), 1_500, out) == ()
    assert out == []


def test_a_full_view_replaces_only_entries_that_it_sent():
    part, _ = started(1, 2, 3, 4)
    out, facts = receive(part, 9, ShuffleRequest((ViewEntry(9, 0, b"\x09"), ViewEntry(8, 5), ViewEntry(2, 1))))
    (send,) = sends(out)
    assert send.to == (9,)
    assert send.addresses == (b"\x09",)
    given = [entry.node for entry in send.message.entries]
    assert len(given) == 3
    (change,) = facts
    assert change.added == (9, 8)
    assert list(change.removed) == given[:2] if 2 not in given else set(change.removed) <= set(given)
    assert len(view(part)) == 4


def test_a_reply_from_another_peer_or_after_the_next_request_is_dropped():
    part, _ = started(1, 2, 3, 4)
    assert receive(part, 1, ShuffleReply((ViewEntry(8, 0),)))[1] == ()
    out = []
    part.handle(TimerFired(ShuffleDue()), 1_000, out)
    asked = sends(out)[0].to[0]
    other = next(node for node in (1, 2, 3, 4) if node != asked)
    assert receive(part, other, ShuffleReply((ViewEntry(8, 0),)))[1] == ()
    assert receive(part, asked, ShuffleReply((ViewEntry(8, 0),)))[1][0].added == (8,)


def test_the_last_node_of_a_walk_replaces_a_neighbour_by_the_newcomer():
    part, _ = started(1, 2, 3, 4)
    out, facts = receive(part, 1, JoinWalk(Peer(9, b"\x09"), 0, 0))
    (change,) = facts
    assert change.added == (9,)
    assert sends(out) == [
        Send((9,), Introduction(ViewEntry(change.removed[0], 0, bytes([change.removed[0]]))), (b"\x09",))
    ]


def test_a_walk_with_hops_left_moves_on_to_a_neighbour():
    part, _ = started(1, 2, 3, 4)
    out, facts = receive(part, 1, JoinWalk(Peer(9), 3, 2))
    (send,) = sends(out)
    assert send.to[0] in (1, 2, 3, 4)
    assert send.message == JoinWalk(Peer(9), 3, 1)
    assert facts == ()


def test_an_introducer_starts_a_walk_for_each_slot_of_a_view():
    part, _ = started(1, 2, 3, 4)
    out, _ = receive(part, 9, Join(Peer(9)))
    assert [send.message.walk for send in sends(out)] == [0, 1, 2, 3]
    assert {send.message.hops_left for send in sends(out)} == {1}


def test_a_node_introduces_only_the_sender_of_a_join():
    part, _ = started(1, 2, 3, 4)
    out, facts = receive(part, 8, Join(Peer(9, b"elsewhere")))
    assert (sends(out), facts) == ([], ())
    assert out == [Observe(PeerMisbehaved(8, "asks to introduce another node"))]


def test_the_first_node_of_a_network_adds_the_second_to_its_view():
    part, _ = started()
    out, facts = receive(part, 9, Join(Peer(9, b"\x09")))
    assert facts == (ViewChanged((), (9,)),)
    assert sends(out) == [Send((9,), Introduction(ViewEntry(0, 0, b"\x00")), (b"\x09",))]


def test_a_peer_that_sends_too_much_is_bounded_and_observed():
    part, _ = started()
    flood = tuple(ViewEntry(node, 0) for node in range(1, 60))
    out, facts = receive(part, 1, ShuffleRequest(flood))
    assert Observe(PeerMisbehaved(1, "more entries than a shuffle holds")) in out
    assert len(facts[0].added) == 3


entries = st.builds(ViewEntry, st.integers(0, 2**64 - 1), st.integers(-(2**63), 2**63 - 1), st.binary(max_size=4))
peers = st.builds(Peer, st.integers(0, 2**64 - 1))
walks = st.integers(-(2**40), 2**40)
messages = st.one_of(
    st.builds(ShuffleRequest, st.lists(entries, max_size=9).map(tuple)),
    st.builds(ShuffleReply, st.lists(entries, max_size=9).map(tuple)),
    st.builds(Join, peers),
    st.builds(JoinWalk, peers, walks, walks),
    st.builds(Introduction, entries),
)


@given(st.lists(st.tuples(st.integers(0, 5), messages), max_size=30))
def test_whatever_peers_send_the_view_is_bounded_and_contains_no_duplicate_and_not_the_node_itself(received):
    part, _ = started(1, 2, 3)
    for step, (sender, message) in enumerate(received):
        receive(part, sender, message, now_us=1_000 * step)
        part.handle(TimerFired(ShuffleDue()), 1_000 * step, [])
        held = view(part)
        assert len(held) <= 4
        assert len(set(held)) == len(held)
        assert 0 not in held
        assert all(0 <= entry.age <= 255 for entry in part.view())


def test_an_entry_that_returns_in_a_reply_is_not_replaced_by_the_same_reply():
    """The entry was sent, replaced by another exchange, and returned: it counts as new, not as replaceable."""
    part, _ = started(1, 2, 3, 4)
    out = []
    part.handle(TimerFired(ShuffleDue()), 1_000, out)
    (request,) = sends(out)
    given = [entry.node for entry in request.message.entries[1:]]
    # Other exchanges fill the empty slot and replace all entries that were sent.
    newcomers = iter(range(20, 60))
    while any(node in view(part) for node in given):
        three = tuple(ViewEntry(next(newcomers), 0) for _ in range(3))
        receive(part, three[0].node, ShuffleRequest(three), now_us=1_000 + three[0].node)
    first, second = given
    # Only `first` could be replaced, and this reply contains it: there is no room for the other entry.
    part._given = [first, second]
    part._view.replace(0, ViewEntry(second, 0))
    _, facts = receive(part, request.to[0], ShuffleReply((ViewEntry(first, 0), ViewEntry(6, 0))))
    (change,) = facts
    assert change.added == (first,)
    assert change.removed == (second,)
    assert first in view(part)


def test_only_the_first_reply_to_a_request_is_accepted():
    part, _ = started(1, 2, 3, 4)
    out = []
    part.handle(TimerFired(ShuffleDue()), 1_000, out)
    (request,) = sends(out)
    assert receive(part, request.to[0], ShuffleReply((ViewEntry(8, 0),)))[1][0].added == (8,)
    assert receive(part, request.to[0], ShuffleReply((ViewEntry(9, 0),)))[1] == ()


def test_nodes_that_start_together_shuffle_at_different_times():
    phases = {started(1, 2, node=node)[1][0].at_us for node in range(10, 30)}
    assert len(phases) > 15
    assert all(0 <= phase < 1_000 for phase in phases)


def test_a_newcomer_asks_again_until_an_introduction_arrives():
    part, _ = started(3, joining=True)
    receive(part, 9, Join(Peer(9)))  # meanwhile it adds another newcomer
    out = []
    part.handle(TimerFired(ShuffleDue()), 1_000, out)
    assert [type(send.message) for send in sends(out)] == [Join]
    receive(part, 7, Introduction(ViewEntry(7, 0)))
    out = []
    part.handle(TimerFired(ShuffleDue()), 2_000, out)
    assert [type(send.message) for send in sends(out)] == [ShuffleRequest]


def test_a_peer_is_not_sent_its_own_entry():
    part, _ = started(1, 2, 3)
    out, _ = receive(part, 2, ShuffleRequest((ViewEntry(2, 0), ViewEntry(8, 0), ViewEntry(9, 0))))
    assert {entry.node for entry in sends(out)[0].message.entries} == {1, 3}
    assert 2 in view(part)


def with_interests(*contacts, joining=False, rejoin_us=0):
    parameters = CyclonParameters(view_size=4, shuffle_length=3, walk_length=2, period_us=1_000, rejoin_us=rejoin_us)
    part, out = Cyclon(parameters, seed=1, node=50, exchange=InterestExchange()), []
    part.handle(Started(contacts, joining, address=b"me"), 0, out)
    return part, out


def due(part, now_us):
    out = []
    part.handle(TimerFired(ShuffleDue()), now_us, out)
    return sends(out)


def test_an_unreachable_peer_leaves_a_view_that_carries_interests():
    part, _ = with_interests(Peer(1), Peer(2), Peer(3))
    assert part.handle(PeerDown(2), 5, []) == (ViewChanged((2,), ()),)
    assert part.handle(PeerDown(2), 6, []) == ()
    assert part.handle(PeerDown(3, hung_up=True), 7, []) == ()
    assert sorted(view(part)) == [1, 3]
    alone, _ = started(1, 2, 3)
    assert alone.handle(PeerDown(2), 5, []) == ()
    assert view(alone) == [1, 2, 3]


def test_a_node_whose_view_empties_asks_its_contacts_again():
    part, _ = with_interests(Peer(1, b"one"), Peer(2, b"two"))
    for node in (1, 2):
        part.handle(PeerDown(node), 5, [])
    assert due(part, 1_000) == [Send((1,), Join(Peer(50, b"me")), (b"one",))]
    assert due(part, 2_000) == [Send((2,), Join(Peer(50, b"me")), (b"two",))]


def test_contacts_without_an_id_are_asked_in_turn_and_never_enter_the_view():
    seeds = (Peer(0, b"a"), Peer(0, b"b"), Peer(0, b"me"))
    part, out = with_interests(*seeds, joining=True)
    asked = [*sends(out), *(send for at in range(1, 4) for send in due(part, 1_000 * at))]
    assert [send.addresses for send in asked] == [(b"a",), (b"b",), (b"a",), (b"b",)], "its own address is left out"
    assert {type(send.message) for send in asked} == {Join}
    assert view(part) == []
    ready, _ = with_interests(*seeds)
    assert view(ready) == []
    assert [type(send.message) for send in due(ready, 1_000)] == [Join]


def test_a_node_shuffles_with_a_first_contact_every_rejoin_period():
    part, _ = with_interests(Peer(0, b"seed"), joining=True, rejoin_us=3_000)
    for node in (1, 2, 3, 4):
        receive(part, node, Introduction(ViewEntry(node, 9)))
    for at_us in (1_000, 2_000):
        (send,) = due(part, at_us)
        assert send.addresses == ()
        receive(part, send.to[0], ShuffleReply((ViewEntry(send.to[0] + 10, 0),)))
    before = set(view(part))
    (send,) = due(part, 3_000)
    assert send.addresses == (b"seed",)
    assert type(send.message) is ShuffleRequest
    assert set(view(part)) == before
    given = {entry.node for entry in send.message.entries[1:]}
    _, facts = receive(part, 77, ShuffleReply((ViewEntry(77, 0, b"seed"), ViewEntry(78, 0))))
    assert set(facts[0].added) == {77, 78}
    assert set(facts[0].removed) <= given
    assert receive(part, 99, ShuffleReply((ViewEntry(79, 0),)))[1] == (), "one reply for each request"
    assert due(part, 4_000)[0].addresses != (b"seed",) or 77 not in view(part)


def test_a_younger_entry_updates_an_address_and_an_older_one_does_not():
    part, _ = started(1, 2, 3)
    due(part, 1_000)
    kept = view(part)[0]
    address = {entry.node: entry.address for entry in part.view()}
    receive(part, 9, ShuffleRequest((ViewEntry(9, 0), ViewEntry(kept, 200, b"old"))), now_us=1_001)
    assert {entry.node: entry.address for entry in part.view()}[kept] == address[kept]
    receive(part, 9, ShuffleRequest((ViewEntry(9, 0), ViewEntry(kept, 0, b"moved"))), now_us=1_002)
    assert {entry.node: entry.address for entry in part.view()}[kept] == b"moved"
    receive(part, kept, ShuffleRequest((ViewEntry(kept, 0, b"again"),)), now_us=1_003)
    assert {entry.node: entry.address for entry in part.view()}[kept] == b"again"
    receive(part, 9, JoinWalk(Peer(kept, b"anew"), 0, 0), now_us=1_004)
    assert {entry.node: entry.address for entry in part.view()}[kept] == b"anew"


def test_entries_carry_digests_and_the_newest_digest_is_kept():
    part, _ = with_interests(Peer(1), Peer(2))
    old, new = Digest(3, 1, (7,)), Digest(4, 1, (8,))
    _, facts = receive(part, 2, ShuffleRequest((ViewEntry(2, 0, b"", new), ViewEntry(1, 9), ViewEntry(60, 0))))
    assert [fact for fact in facts if isinstance(fact, Heard)] == [Heard(2, b"", new)]
    receive(part, 9, ShuffleRequest((ViewEntry(9, 0), ViewEntry(2, 0, b"", old))), now_us=501)
    assert {entry.node: entry.digest for entry in part.view()}[2] == new
    receive(part, 70, JoinWalk(Peer(71), 0, 0), now_us=502)
    assert {entry.node for entry in part.view() if entry.digest} == {2} or 2 not in view(part)
    assert with_interests(Peer(1))[0]._me().digest == Digest(0, 0, ())
    _, facts = receive(part, 3, Introduction(ViewEntry(3, 0, b"three", old)))
    assert Heard(3, b"three", old) in facts


def test_a_peer_that_did_not_answer_a_shuffle_is_asked_again_and_forgotten_once_it_answers():
    part = Cyclon(CyclonParameters(view_size=4, shuffle_length=3, period_us=SECOND_US, rejoin_us=30 * SECOND_US), 1, 0)
    part.handle(Started((Peer(3, b"3"), Peer(5, b"5")), False), 0, [])
    asked = []
    for second in range(1, 40):
        out = []
        part.handle(TimerFired(ShuffleDue()), second * SECOND_US, out)
        for send in sends(out):
            asked.append((*send.to, *send.addresses))
            if send.to == (5,):
                receive(part, 5, ShuffleReply((ViewEntry(5, 0, b"5"),)), second * SECOND_US)
    assert asked.count((3, b"3")) >= 3, "the first shuffle, and two retries"
    receive(part, 3, ShuffleRequest((ViewEntry(3, 0, b"3"),)), 40 * SECOND_US)
    assert 3 in view(part)
    assert part._rejoining.due(10_000 * SECOND_US) != Peer(3, b"3")


def test_a_peer_that_cannot_be_reached_is_asked_again_later():
    part = Cyclon(CyclonParameters(rejoin_us=30 * SECOND_US), 1, 0, InterestExchange())
    part.handle(Started((Peer(3, b"3"),), False), 0, [])
    part.handle(PeerDown(3), SECOND_US, [])
    assert view(part) == []
    out = []
    part.handle(TimerFired(ShuffleDue()), 2 * SECOND_US, out)
    (send,) = sends(out)
    assert (send.to, send.addresses, type(send.message)) == ((3,), (b"3",), Join)
