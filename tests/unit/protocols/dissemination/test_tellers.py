"""Which neighbours announce messages to a node: one for each topic, few in all."""

from gossamer.model.values.ids import Role
from gossamer.protocols.contract.actions import Send
from gossamer.protocols.contract.events import MessageReceived, Subscribe, TimerFired
from gossamer.protocols.contract.facts import NeighbourDown
from gossamer.protocols.delivery.announcements import Announce, MessageRun
from gossamer.protocols.dissemination import tellers
from gossamer.protocols.dissemination.mending import MISSING_AFTER_US
from gossamer.protocols.dissemination.tree_messages import Graft, MissingDue, Prune, TellersDue, TreeData
from tests.unit.protocols.dissemination.one_tree import TOPIC, announced, give, make, sends


def copies(tree, topic, *senders, number=1):
    """The same message from several neighbours; the first becomes the supplier, the others are pruned."""
    sent = []
    for sender in senders:
        sent += sends(give(tree, MessageReceived(sender, TreeData(topic, 9, number, 0, 0, b"x", number - 1))))
    return [(send.to[0], send.message) for send in sent if type(send.message) in (Prune, Graft)]


def with_ten_topics():
    """Neighbour 3 announces five topics and 4 the five others; 4 could announce all of them."""
    tree = make()
    for topic in range(100, 110):
        give(tree, Subscribe(topic, Role.BOTH))
    for topic in range(100, 105):
        copies(tree, topic, 2, 3, 4)
    for topic in range(105, 110):
        copies(tree, topic, 2, 4)
    return tree


def test_the_first_neighbour_that_is_pruned_is_asked_to_announce_and_the_next_is_not():
    tree = make()
    assert copies(tree, TOPIC, 2, 3, 4) == [(3, Prune(TOPIC, True)), (4, Prune(TOPIC, False))]


def test_another_pruned_neighbour_takes_the_place_of_a_teller_that_is_gone():
    tree = make()
    copies(tree, TOPIC, 2, 3, 4)
    out = []
    tree.machine.teach([NeighbourDown(3)], 0, out)
    assert sends(out) == [Send((4,), Prune(TOPIC, True))]


def test_a_teller_that_becomes_the_supplier_is_replaced():
    tree = make()
    copies(tree, TOPIC, 2, 3, 4)
    give(tree, MessageReceived(3, announced((9, 2))))
    out = give(tree, TimerFired(MissingDue()), MISSING_AFTER_US)
    assert Send((4,), Prune(TOPIC, True)) in out
    assert Send((3,), Graft(TOPIC, ((9, 2),))) in out
    assert tree._branches[TOPIC].teller == 4


def test_tellers_are_chosen_again_so_that_few_neighbours_announce_all_topics():
    tree = with_ten_topics()
    moves = [(send.to[0], send.message) for send in sends(give(tree, TimerFired(TellersDue())))]
    assert moves == [row for topic in range(100, 105) for row in ((3, Prune(topic, False)), (4, Prune(topic, True)))]
    assert sends(give(tree, TimerFired(TellersDue()))) == [], "then nothing moves"


def test_few_tellers_are_replaced_at_a_time(monkeypatch):
    monkeypatch.setattr(tellers, "MOVES_MAX", 2)
    tree = with_ten_topics()
    counts = [len(sends(give(tree, TimerFired(TellersDue())))) for _ in range(4)]
    assert counts == [4, 4, 2, 0]


def test_a_neighbour_on_the_tree_that_announces_a_lost_message_is_asked_for_it_and_the_tree_stays():
    tree = make()
    copies(tree, TOPIC, 2, 3)
    give(tree, MessageReceived(4, announced((9, 2))))
    asked = sends(give(tree, TimerFired(MissingDue()), MISSING_AFTER_US))
    assert [send for send in asked if type(send.message) is Graft] == [Send((4,), Graft(TOPIC, ((9, 2),)))]
    assert tree._branches[TOPIC].supplier == 2


def test_announced_messages_from_before_the_subscription_are_not_requested():
    tree = make()
    give(tree, Subscribe(8, Role.BOTH), 5_000_000)
    old = announced((9, 2))
    runs = tuple(type(run)(8, run.publisher, run.last, 1_000, run.count) for run in old.runs)
    assert give(tree, MessageReceived(3, type(old)(runs)), 5_500_000) == []
    assert give(tree, MessageReceived(3, type(old)(runs)), 6_500_000) != []


def test_an_announced_message_that_its_announcer_fetched_says_nothing_about_the_tree():
    tree = make()
    fetched = Announce((MessageRun(TOPIC, 9, 2, relayed=False),))
    assert give(tree, MessageReceived(3, fetched)) == []
