"""What a peer may make a Feverfew node keep, send and believe."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.live.transport import wire
from gossamer.protocols.aggregation import Report
from gossamer.protocols.contract.events import MessageReceived, PeerDown, TimerFired
from gossamer.protocols.contract.messages import Digest
from gossamer.protocols.membership.cyclon_messages import ShuffleDue, ShuffleRequest
from gossamer.protocols.membership.cyclon_view import ViewEntry
from gossamer.protocols.membership.interest_exchange import TOPICS_MAX, InterestAsk
from gossamer.protocols.shares import TopicCount
from gossamer.systems.feverfew.gossip import EXCHANGES_MAX
from gossamer.systems.feverfew.messages import (
    AGE_MAX,
    BUBBLES_MAX,
    BridgeDue,
    Bubbles,
    CoverDue,
    Exchange,
    ExchangeDue,
    ExchangeReply,
    FarewellNotice,
    HoldOk,
    HoldRequest,
    InterestNotice,
    Match,
    NoLink,
    Pulse,
    PulseDue,
    ReleaseNotice,
    RootClaims,
    Search,
    SimilarEntry,
)
from gossamer.systems.feverfew.views import FAILED_MAX, FOUND_MAX
from tests.unit.systems.feverfew.one_node import ME, OneNode, messages_of, of_kind

LINKS = 20


def test_a_node_accepts_no_more_links_than_its_bound_but_its_own_requests_count():
    node = OneNode(topics=(7, 8), links_max=LINKS)
    for peer in range(100, 200):
        sent = node.hold_from(peer, 7)
        assert of_kind(sent, HoldOk if peer < 100 + LINKS else NoLink) == [peer]
    assert len(node.neighbours) == LINKS
    assert of_kind(node.hold_from(100, 7), HoldOk) == [100], "a neighbour may ask again"
    node.link_to(1, 8)
    assert len(node.neighbours) == LINKS + 1


def test_addresses_are_kept_for_neighbours_and_open_requests_only():
    node = OneNode(view={peer: [7] for peer in range(1, 40)}, links_max=LINKS)
    for peer in range(60, 99):
        node.hear(peer, HoldRequest(1, 1, (7,), b"somewhere"))
    for _ in range(10):
        node.hear(99, Exchange(tuple(SimilarEntry(peer, 0, b"elsewhere") for peer in range(1, 40))))
        node.cover_turn()
        assert set(node.links.addresses) <= {*node.neighbours, *node.part._cover.unanswered}
        node.exchange_turn()
    assert len(node.links.addresses) <= LINKS + len(node.part._cover.unanswered)


def test_a_peer_that_floods_exchanges_is_answered_a_few_times_in_a_period():
    node = OneNode()
    sent = [message for _ in range(50) for message in node.meet(1)]
    assert len(of_kind(sent, ExchangeReply)) == EXCHANGES_MAX
    node.exchange_turn()
    assert of_kind(node.meet(1), ExchangeReply) == [1]


def test_an_agent_takes_no_more_searches_from_a_message_than_an_agent_view_holds():
    node = OneNode()
    node.hear(1, Bubbles(tuple(Search(topic, topic, 30) for topic in range(BUBBLES_MAX))))
    assert len(node.part.bubbles.agents.searches) == 40
    assert max(search.ttl for search in node.part.bubbles.agents.searches) <= 12


def test_searches_that_meet_cause_a_bounded_number_of_messages():
    node = OneNode(matches_max=100)
    sent = [
        each
        for first in range(0, 2_000, 40)
        for each in node.hear(1, Bubbles(tuple(Search(9, first + peer, 3) for peer in range(100, 140))))
    ]
    assert len(of_kind(sent, Match)) == 100
    assert len(of_kind(node.cover_turn(), Match)) <= 100


def test_matches_fill_a_bounded_list_and_own_or_foreign_topics_are_told_apart():
    node = OneNode()
    for peer in range(1_000):
        node.hear(1, Match(8, peer))
    assert not node.part.bubbles.take_found(), "the node does not hold topic 8"
    node.hear(1, Match(7, ME, b"", Digest(9, 1, (7,))))
    for peer in range(1_000):
        node.hear(1, Match(7, peer))
    assert len(node.part.bubbles._found) <= FOUND_MAX
    node.cover_turn()
    assert ME not in node.part.cover


def test_a_message_with_the_nodes_own_id_is_an_offence_and_changes_nothing():
    node = OneNode()
    for message in (Exchange(()), HoldRequest(1, 1, (7,)), HoldOk(1, 1, (7,)), Pulse(1), Match(7, 1)):
        assert node.hear(ME, message) == []
        assert len(node.offences) == 1
    assert node.neighbours == []


def test_an_entry_with_the_nodes_own_id_never_enters_its_views():
    node = OneNode()
    node.hear(1, Exchange((SimilarEntry(ME, 0, b"elsewhere", Digest(2**60, 1, (7,))),)))
    node.cover_turn()
    assert ME not in node.part.cover
    assert ME not in [each.node for each in node.part.similar]
    (message,) = messages_of(node.meet(2), ExchangeReply)
    assert message.entries[0].address == b"here"
    assert message.entries[0].digest.version < 2**60


@pytest.mark.parametrize("age", [-5, 256, 10**9, 2**62])
def test_an_absurd_age_in_a_random_view_is_not_passed_on(age):
    node = OneNode()
    node.hear(1, ShuffleRequest((ViewEntry(1, 0), ViewEntry(2, age))))
    (message,) = messages_of(node.meet(3), ExchangeReply)
    ages = {each.node: each.age for each in message.entries}
    assert 0 <= ages[2] <= AGE_MAX


def test_a_neighbour_that_claims_more_topics_than_anybody_has_is_reported():
    node = OneNode()
    node.hold_from(1, 7)
    version = 1
    for first in range(0, TOPICS_MAX + 1_000, 1_000):
        node.hear(1, InterestNotice(version + 1, version, tuple(range(first, first + 1_000))))
        version += 1
        if node.offences:
            break
    assert node.offences
    assert len(node.links.neighbours[1].interest) <= TOPICS_MAX


def test_a_neighbour_that_claims_an_interest_larger_than_it_shows_is_asked_for_the_rest():
    node = OneNode()
    sent = node.hear(1, HoldRequest(1, 10**9, (7,)))
    assert of_kind(sent, InterestAsk) == [1]
    for peer in range(2, 40):
        sent = node.hear(peer, HoldRequest(1, 10**9, (7,)))
    assert not of_kind(sent, InterestAsk), "few peers are asked at once"


def test_claims_of_an_absurd_number_of_holders_ask_for_a_bounded_number_of_neighbours():
    node = OneNode()
    for first in range(0, 5_000, 100):
        node.hear(1, Exchange(tuple(SimilarEntry(100 + first + i, 0, b"", Digest(1, 1, (7,))) for i in range(100))))
    node.cover_turn()
    assert len(node.part.cover) <= 7, "ln of the thousand nodes that the table holds"


def test_a_count_that_makes_no_sense_does_not_make_the_network_absurd():
    node = OneNode()
    for value in (float("nan"), float("inf"), -1.0, 1e300):
        node.hear(1, Exchange((), Report(1, 0, ((5, value),)), (TopicCount(7, value, value),)))
        node.exchange_turn()
    assert node.part._estimates.network_size() == 1
    assert node.part._estimates.topic_size(7) == 1


ids = st.one_of(st.integers(0, 30), st.just(ME), st.integers(0, 2**64 - 1))
topics = st.one_of(st.integers(5, 9), st.integers(0, 2**64 - 1))
some_topics = st.lists(topics, max_size=6).map(tuple)
versions = st.one_of(st.integers(0, 5), st.integers(-(2**63), 2**63))
digests = st.one_of(st.none(), st.builds(Digest, st.integers(0, 2**62), st.integers(0, 2**62), some_topics))
addresses = st.sampled_from([b"", b"one", b"two"])
entries = st.lists(st.builds(SimilarEntry, ids, st.integers(0, AGE_MAX), addresses, digests), max_size=60).map(tuple)
floats = st.floats()
counts = st.one_of(
    st.none(),
    st.builds(
        Report, st.integers(0, 2**62), st.integers(0, 2**62), st.lists(st.tuples(ids, floats), max_size=8).map(tuple)
    ),
)
shares = st.lists(st.builds(TopicCount, topics, floats, floats), max_size=4).map(tuple)
searches = st.lists(st.builds(Search, topics, ids, st.integers(0, 30), addresses), max_size=60).map(tuple)
messages = st.one_of(
    st.builds(Exchange, entries, counts, shares),
    st.builds(ExchangeReply, entries, counts, shares),
    st.builds(HoldRequest, versions, versions, some_topics, addresses),
    st.builds(HoldOk, versions, versions, some_topics),
    st.just(ReleaseNotice()),
    st.just(NoLink()),
    st.just(FarewellNotice()),
    st.builds(Pulse, versions),
    st.builds(InterestNotice, versions, versions, some_topics, some_topics),
    st.builds(Bubbles, searches),
    st.builds(Match, topics, ids, addresses, digests),
    st.builds(RootClaims, st.lists(st.tuples(topics, ids, st.integers(0, 16)), max_size=6).map(tuple)),
)
timers = st.sampled_from([ExchangeDue(), CoverDue(), PulseDue(), BridgeDue(), ShuffleDue()])
events = st.one_of(
    st.builds(MessageReceived, ids, messages),
    st.builds(MessageReceived, ids, messages),
    st.builds(TimerFired, timers),
    st.builds(PeerDown, ids, st.booleans()),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(events, st.integers(0, 1_500_000)), max_size=60))
def test_whatever_peers_send_a_node_raises_nothing_keeps_bounded_state_and_sends_readable_messages(told):
    node = OneNode(topics=(5, 6, 7), links_max=LINKS, agent_size=10, matches_max=50)
    decode = wire.message_decoder(node.machine.part_classes).decode
    for event, later_us in told:
        node.now_us += later_us
        for _, message in node.give(event):
            decode(wire.frame(message)[4:])
        part = node.part
        own = len(part.cover)
        assert len(part.similar) <= 40
        assert len(part.failed) <= FAILED_MAX
        assert len(part.bubbles._found) <= FOUND_MAX
        assert len(part.bubbles.agents.searches) <= 10
        assert len(node.neighbours) <= LINKS + own
        assert len(node.links.addresses) <= len(node.neighbours) + len(part._cover.unanswered)
        assert set(part._cover.unanswered) <= set(part.cover)
        assert set(part._cover._bridges) <= set(part.cover)
        assert len(part.gossip.asked) <= 8
        assert ME not in node.neighbours
        for neighbour in node.links.neighbours.values():
            assert neighbour.holds or neighbour.held_by
            assert set(neighbour.roots) <= neighbour.interest
