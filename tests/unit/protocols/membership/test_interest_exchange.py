"""Fetching interests in parts, digests, and the table that ranks nodes by them; bounds on what a lying peer can cost."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from gossamer.model.values.draw import finish
from gossamer.model.values.ids import Role, identity
from gossamer.protocols.contract.actions import Observe, Send
from gossamer.protocols.contract.events import (
    MessageReceived,
    PeerDown,
    Restarted,
    Started,
    Subscribe,
    Unsubscribe,
)
from gossamer.protocols.contract.facts import Heard, PeerMisbehaved
from gossamer.protocols.contract.messages import DIGEST_TOPICS, Digest, Peer
from gossamer.protocols.membership.interest_exchange import (
    ANSWERS_A_PEER,
    ANSWERS_MAX,
    FETCHES_MAX,
    PART_TOPICS,
    TOPICS_MAX,
    InterestAsk,
    InterestExchange,
    InterestFetched,
    InterestPart,
)
from gossamer.protocols.membership.interest_table import FETCHED_MAX, InterestTable

SECOND_US = 1_000_000


def exchange_with(topics, now_us=0):
    part = InterestExchange()
    part.handle(Started(address=b"here"), now_us, [])
    for topic in topics:
        part.handle(Subscribe(topic, Role.FOLLOWS), now_us, [])
    return part


def receive(part, sender, message, now_us=0):
    out = []
    return out, part.handle(MessageReceived(sender, message), now_us, out)


def fetch(asker, answerer, now_us=0):
    """Carry requests and parts between two nodes, 1 and 2, until neither sends more."""
    out, found, frames = [], [], 0
    asker.fetch(Peer(2, b"there"), now_us, out)
    while out:
        (ask,) = out
        (part,), _ = receive(answerer, 1, ask.message, now_us)
        out, facts = receive(asker, 2, part.message, now_us)
        found += facts
        frames += 1
    return found, frames


def test_an_interest_is_sent_in_bounded_parts_and_assembled():
    topics = tuple(identity(b"%d" % number) for number in range(2_500))
    found, frames = fetch(InterestExchange(), exchange_with(topics, now_us=77))
    assert found == [InterestFetched(2, 77 + len(topics), topics)]
    assert frames == 3


def test_the_largest_interest_is_sent_within_a_second_and_continues_after_a_lost_part():
    asker, answerer, out = InterestExchange(), exchange_with(range(TOPICS_MAX)), []
    found, frames = fetch(asker, answerer)
    assert (len(found[0].topics), frames) == (TOPICS_MAX, 100)
    asker.fetch(Peer(2), SECOND_US, out)
    for _ in range(7):
        (part,), _ = receive(answerer, 1, out[0].message, SECOND_US)
        out, _ = receive(asker, 2, part.message, SECOND_US)
    assert out[0].message.index == 7
    again = []
    asker.fetch(Peer(2, b"moved"), 5 * SECOND_US, again)
    assert again == [Send((2,), out[0].message, (b"moved",))]


def test_an_empty_interest_is_sent_too():
    assert fetch(InterestExchange(), exchange_with(()))[0] == [InterestFetched(2, 1, ())]


def test_an_interest_that_changes_during_a_fetch_is_fetched_from_the_beginning():
    asker, answerer = InterestExchange(), exchange_with(range(1_500))
    out = []
    asker.fetch(Peer(2), 0, out)
    (part,), _ = receive(answerer, 1, out[0].message)
    out, _ = receive(asker, 2, part.message)
    answerer.handle(Unsubscribe(0), 5, [])
    found = ()
    while out:
        (part,), _ = receive(answerer, 1, out[0].message)
        out, found = receive(asker, 2, part.message)
    assert found[0].topics == tuple(range(1, 1_500))
    assert found[0].version == answerer.version


def test_versions_grow_with_every_change_and_restart_and_only_then():
    part = exchange_with((1, 2), now_us=5)
    seen = [part.version]
    for event in (Subscribe(3, Role.FOLLOWS), Unsubscribe(1)):
        part.handle(event, 5, [])
        seen.append(part.version)
    assert seen == sorted(set(seen))
    part.handle(Subscribe(3, Role.FOLLOWS), 9, [])
    part.handle(Unsubscribe(44), 9, [])
    assert part.version == seen[-1]
    assert exchange_with((), now_us=1_000).version > seen[-1]


def test_versions_count_up_from_the_one_that_the_driver_remembers_whatever_the_clock_says():
    part = InterestExchange()
    part.handle(Restarted(address=b"here", version=5_000), 1_000_000, [])
    seen = [part.digest().version]
    for now_us, event in ((2_000_000, Subscribe(7, Role.FOLLOWS)), (9_000_000, Unsubscribe(7))):
        part.handle(event, now_us, [])
        seen.append(part.digest().version)
    assert seen == [5_000, 5_001, 5_002]


@given(st.sets(st.integers(0, 2**64 - 1), max_size=200))
def test_a_digest_has_the_whole_interest_or_the_topics_with_the_smallest_hashes(topics):
    digest = exchange_with(sorted(topics)).digest()
    assert digest.count == len(topics)
    assert set(digest.topics) == set(sorted(topics, key=finish)[:DIGEST_TOPICS])


def test_answers_to_one_peer_are_limited_per_second_and_other_peers_are_still_answered():
    part = exchange_with(range(10))
    answers = sum(len(receive(part, 9, InterestAsk(0, 0), now_us=number)[0]) for number in range(10_000))
    assert answers == ANSWERS_A_PEER
    assert len(receive(part, 8, InterestAsk(0, 0), now_us=10_000)[0]) == 1
    answers = sum(len(receive(part, node, InterestAsk(0, 0), now_us=20_000)[0]) for node in range(100, 5_000))
    assert answers == ANSWERS_MAX - ANSWERS_A_PEER - 1
    assert len(part._answers) <= ANSWERS_MAX
    assert len(receive(part, 9, InterestAsk(0, 0), now_us=SECOND_US)[0]) == 1


@given(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1))
def test_whatever_part_is_requested_the_answer_is_one_small_frame(version, index):
    part = exchange_with(identity(b"%d" % number) for number in range(1_200))
    (send,), _ = receive(part, 9, InterestAsk(version, index, b"at"))
    assert send.addresses == (b"at",)
    assert len(msgspec.msgpack.encode(send.message)) < 10_000


def test_parts_that_were_not_requested_are_not_kept():
    part = exchange_with(())
    for node in range(1_000):
        assert receive(part, node, InterestPart(1, 0, 50, tuple(range(PART_TOPICS)))) == ([], ())
    assert part._fetches == {}
    assert part._recent == {}


def test_the_fetch_from_a_peer_that_claims_a_million_topics_ends_and_is_reported():
    part, out = exchange_with(()), []
    part.fetch(Peer(2), 0, out)
    out, facts = receive(part, 2, InterestPart(7, 0, 1_000, tuple(range(PART_TOPICS))))
    assert facts == ()
    assert out == [Observe(PeerMisbehaved(2, f"claims more than {TOPICS_MAX} topics"))]
    assert part._fetches == {}


def test_oversized_and_repeated_parts_do_not_grow_the_state():
    part, out = exchange_with(()), []
    part.fetch(Peer(2), 0, out)
    for _ in range(50):
        receive(part, 2, InterestPart(7, 0, 50, tuple(range(3 * PART_TOPICS))))
        receive(part, 2, InterestPart(7, 9, 50, tuple(range(PART_TOPICS))))
    assert len(part._fetches[2].topics) == PART_TOPICS


def test_a_peer_that_restarts_its_interest_again_and_again_gets_no_more_time():
    part, out = exchange_with(()), []
    part.fetch(Peer(2), 0, out)
    for number in range(1, 1_000):
        receive(part, 2, InterestPart(number, 0, 2, (1,)), now_us=number * 1_000)
    assert part._fetches[2].until_us < 3 * SECOND_US
    assert len(part._fetches[2].topics) == 1


def test_fetches_at_a_time_are_limited_and_unanswered_ones_make_room():
    part = exchange_with(())
    asked = [part.fetch(Peer(node), 0, []) for node in range(2 * FETCHES_MAX)]
    assert asked == [True] * FETCHES_MAX + [False] * FETCHES_MAX
    part.handle(PeerDown(0), 1, [])
    assert part.fetch(Peer(50), 1, [])
    out = []
    assert part.fetch(Peer(60), 10 * SECOND_US, out)
    assert out == [Send((60,), InterestAsk(0, 0, b"here"))]


# The interest table.


def sampled(count, version=1, first=0):
    topics = [identity(b"%d" % number) for number in range(first, first + count)]
    found = exchange_with(topics).digest()
    return Digest(version, found.count, found.topics), topics


def asks(out):
    return [action.to[0] for action in out if isinstance(action, Send) and isinstance(action.message, InterestAsk)]


def test_a_node_with_a_partly_known_interest_is_fetched_before_it_is_returned():
    table = InterestTable(0, InterestExchange())
    digest, topics = sampled(3_000)
    wanted = topics[:100]
    table.learn(Heard(5, b"five", digest), 0, [])
    assert table.best_cover(wanted, {0}, 1) is None
    out = []
    table.learn(Heard(6, b"six", Digest(1, 1, (wanted[0],))), 10, out)
    assert asks(out) == [5]
    assert table.best_cover(wanted, {0}, 1) == Peer(6, b"six"), "its whole interest is known"
    table.learn(InterestFetched(5, 1, tuple(topics)), 20, [])
    assert table.best_cover(wanted, {0}, 1) == Peer(5, b"five")


def test_a_node_that_does_not_answer_counts_with_its_sample_and_is_not_asked_again_at_once():
    table = InterestTable(0, InterestExchange())
    digest, topics = sampled(3_000)
    table.learn(Heard(5, b"", digest), 0, [])
    assert table.best_cover(topics, {0}, 1) is None
    for second in range(1, 50):
        out = []
        table.learn(Heard(5, b"", digest), second * SECOND_US, out)
        assert asks(out) == ([5] if second == 1 else [])
        assert (table.best_cover(topics, {0}, 1) is None) == (second < 3)


def test_a_node_is_not_fetched_if_its_unknown_topics_cannot_change_the_answer():
    table = InterestTable(0, InterestExchange())
    digest, _ = sampled(3_000)
    table.learn(Heard(5, b"", digest), 0, [])
    strangers = [identity(b"strange %d" % number) for number in range(20_000)]
    table.learn(Heard(6, b"", Digest(1, 64, tuple(strangers[:64]))), 0, [])
    out = []
    assert table.best_cover(strangers[:64], {0}, 1) == Peer(6)
    table.learn(Heard(7, b"", Digest(1, 0, ())), 1, out)
    assert asks(out) == []


def test_shared_topics_in_samples_separate_similar_nodes_from_others():
    table = InterestTable(0, InterestExchange())
    alike, topics = sampled(5_000)
    other, _ = sampled(5_000, first=100_000)
    half, _ = sampled(5_000, first=2_500)
    for node, digest in ((7, other), (8, half), (9, alike)):
        table.learn(Heard(node, b"", digest), 0, [])
    estimates = [table._known[node].estimate(frozenset(topics)) for node in (7, 8, 9)]
    assert estimates[0] < 300
    assert 1_500 < estimates[1] < 3_500
    assert estimates[2] > 4_500


def test_older_news_changes_nothing_and_newer_news_replaces_all():
    table = InterestTable(0, InterestExchange())
    table.learn(Heard(5, b"new", Digest(9, 1, (1,))), 0, [])
    table.learn(Heard(5, b"old", Digest(4, 1, (2,))), 0, [])
    assert table.best_cover([1, 2], {0}, 1) == Peer(5, b"new")
    assert table.best_cover([2], {0}, 1) is None
    table.learn(Heard(5, b"moved", Digest(12, 1, (2,))), 0, [])
    assert table.best_cover([2], {0}, 1) == Peer(5, b"moved")


def test_an_unreachable_node_is_forgotten_and_one_that_closed_its_connection_is_not():
    table = InterestTable(0, InterestExchange())
    table.learn(Heard(5, b"", Digest(1, 1, (1,))), 0, [])
    table.handle(PeerDown(5, hung_up=True), 1, [])
    assert table.best_cover([1], {0}, 1) == Peer(5)
    table.handle(PeerDown(5), 2, [])
    assert table.best_cover([1], {0}, 1) is None


def test_the_total_size_of_fetched_interests_is_bounded():
    table = InterestTable(0, InterestExchange())
    digest, _ = sampled(100)
    for node in range(1, 20):
        table.learn(Heard(node, b"", Digest(1, TOPICS_MAX, digest.topics)), 0, [])
    for node in range(1, 20):
        table.learn(InterestFetched(node, 1, tuple(range(TOPICS_MAX))), 0, [])
        kept = sum(len(known.topics) for known in table._known.values() if known.topics is not known.sample)
        assert kept == table._fetched_count <= FETCHED_MAX
    for node in range(1, 20):
        table.handle(PeerDown(node), 1, [])
    assert table._fetched_count == 0
