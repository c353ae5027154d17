"""Which neighbour supplies a node with a topic, and which links are pruned."""

from gossamer.protocols.contract.actions import Send
from gossamer.protocols.contract.events import MessageReceived, Publish
from gossamer.protocols.contract.facts import NeighbourDown, NeighbourTopicsChanged
from gossamer.protocols.delivery.seen import FETCHED
from gossamer.protocols.dissemination.branch import SILENT_US, SUBSTITUTE_AFTER_US
from gossamer.protocols.dissemination.tree_messages import Graft, Prune, TreeData
from tests.unit.protocols.dissemination.one_tree import TOPIC, data, give, make, sends


def test_a_redundant_copy_prunes_its_link_but_not_if_the_message_has_several_topics():
    tree = make()
    give(tree, MessageReceived(2, data(1)))
    assert sends(give(tree, MessageReceived(3, data(1)))) == [Send((3,), Prune(TOPIC, True))]
    assert give(tree, MessageReceived(3, data(1))) == [], "it was pruned already"
    several = TreeData(TOPIC, 9, 2, 0, 0, b"x", 1, ((8, 0),))
    give(tree, MessageReceived(2, several))
    assert give(tree, MessageReceived(4, several)) == []


def test_first_copies_over_two_links_leave_one_supplier():
    """Messages were under way over the second link before its node received `Prune`."""
    tree = make()
    give(tree, MessageReceived(2, data(1)))
    assert sends(give(tree, MessageReceived(3, data(1)))) == [Send((3,), Prune(TOPIC, True))]
    give(tree, MessageReceived(3, data(2)))
    assert [a for a in give(tree, MessageReceived(2, data(2))) if isinstance(a, Send)] == []
    assert tree._branches[TOPIC].supplier == 2


def test_a_nearer_neighbour_becomes_the_supplier_and_is_grafted_if_it_was_pruned():
    tree = make()
    far = TreeData(TOPIC, 9, 1, 5, 0, b"x")
    give(tree, MessageReceived(2, far))
    assert sends(give(tree, MessageReceived(3, far))) == [Send((3,), Prune(TOPIC, True))]
    near = TreeData(TOPIC, 9, 2, 1, 0, b"x", 1)
    assert Send((3,), Graft(TOPIC, ())) in give(tree, MessageReceived(3, near))
    assert tree._branches[TOPIC].supplier == 3


def test_copies_of_other_publishers_prune_nothing():
    tree = make()
    give(tree, MessageReceived(2, data(1, publisher=5)))
    for number in range(100):
        give(tree, MessageReceived(2, data(number + 1)), 10)
        assert give(tree, MessageReceived(3, data(number + 1)), 10) == []


def test_the_next_publisher_takes_the_place_of_a_reference_that_was_silent():
    """Halves of a network that were apart may know different publishers that are gone, and no message of these unites them."""
    tree = make()
    give(tree, MessageReceived(2, data(1, publisher=5)), 1)
    give(tree, MessageReceived(2, data(1)), SILENT_US)
    assert tree._branches[TOPIC].reference == 5
    give(tree, MessageReceived(2, data(2)), SILENT_US + 2)
    assert tree._branches[TOPIC].reference == 9
    give(tree, MessageReceived(2, data(2, publisher=5)), SILENT_US + 3)
    assert tree._branches[TOPIC].reference == 5


def test_further_copies_do_not_show_that_a_reference_is_alive():
    """They arrive at some nodes only, and all nodes must replace a silent reference together."""
    tree = make()
    give(tree, MessageReceived(2, data(1, publisher=5)), 0)
    give(tree, MessageReceived(3, data(1, publisher=5)), 5)
    give(tree, MessageReceived(2, data(1)), SILENT_US + 1)
    assert tree._branches[TOPIC].reference == 9


def test_a_supplier_that_does_not_send_the_references_message_is_replaced_by_the_neighbour_that_sent_it():
    """The supplier's own path may lead through this node now: each would send its messages only to the other one."""
    tree = make()
    give(tree, MessageReceived(2, TreeData(TOPIC, 0, 1, 1, 0, b"x")))
    for node in (3, 4):
        give(tree, MessageReceived(node, Prune(TOPIC)))
    give(tree, MessageReceived(4, TreeData(TOPIC, 0, 2, 1, 0, b"x", 1)), 10)
    assert sends(give(tree, Publish(TOPIC, b"y"), 20))[0].to == (2,), "the supplier may only be slow"
    assert 4 in sends(give(tree, Publish(TOPIC, b"y"), 10 + SUBSTITUTE_AFTER_US))[0].to
    assert tree._branches[TOPIC].supplier == 4


def test_a_supplier_that_is_only_slower_than_another_neighbour_is_kept():
    tree = make()
    give(tree, MessageReceived(2, TreeData(TOPIC, 9, 1, 1, 0, b"x")))
    for sender in (4, 2):
        give(tree, MessageReceived(sender, TreeData(TOPIC, 9, 2, 1, 0, b"x", 1)), 10)
    give(tree, Publish(TOPIC, b"y"), 10 + SUBSTITUTE_AFTER_US)
    assert tree._branches[TOPIC].supplier == 2


def test_a_supplier_that_did_not_send_the_last_message_is_replaced_also_if_the_reference_changes():
    tree = make()
    give(tree, MessageReceived(2, TreeData(TOPIC, 9, 1, 1, 0, b"x")))
    for node in (3, 4):
        give(tree, MessageReceived(node, Prune(TOPIC)))
    give(tree, MessageReceived(4, TreeData(TOPIC, 9, 2, 1, 0, b"x", 1)), 10)
    assert 4 in sends(give(tree, Publish(TOPIC, b"y"), 10 + SUBSTITUTE_AFTER_US))[0].to
    assert tree._branches[TOPIC].reference == 1


def test_a_node_that_loses_its_supplier_grafts_all_neighbours_that_it_pruned():
    tree = make()
    give(tree, MessageReceived(2, data(1)))
    give(tree, MessageReceived(3, data(1)))
    give(tree, MessageReceived(4, data(1)))
    out = []
    tree.learn(NeighbourDown(2), 0, out)
    assert sends(out) == [Send((3,), Graft(TOPIC, ())), Send((4,), Graft(TOPIC, ()))]


def test_a_node_that_loses_its_supplier_sends_its_messages_to_all_neighbours():
    tree = make()
    give(tree, MessageReceived(2, data(1, publisher=0)))
    for node in (3, 4):
        give(tree, MessageReceived(node, Prune(TOPIC)))
    assert sends(give(tree, Publish(TOPIC, b"y")))[0].to == (2,)
    tree.learn(NeighbourDown(2), 0, [])
    assert sends(give(tree, Publish(TOPIC, b"y")))[0].to == (2, 3, 4)


def test_a_node_that_all_neighbours_pruned_sends_its_messages_to_one_of_them():
    """It is its own reference, and its neighbours have another one since they were in another half of the network."""
    tree = make()
    give(tree, Publish(TOPIC, b"y"))
    for node in (3, 4, 2):
        give(tree, MessageReceived(node, Prune(TOPIC)))
    assert sends(give(tree, Publish(TOPIC, b"y")))[0].to == (3,)


def test_a_supplier_that_is_gone_before_the_new_reference_publishes_again_is_replaced():
    tree = make()
    for node in (2, 3, 4):
        give(tree, MessageReceived(node, data(1)))
    give(tree, Publish(TOPIC, b"y"))
    assert tree._branches[TOPIC].reference == 1
    out = []
    tree.learn(NeighbourDown(2), 0, out)
    assert sends(out) == [Send((3,), Graft(TOPIC, ())), Send((4,), Graft(TOPIC, ()))]


def test_a_supplier_that_pruned_this_node_still_gets_messages_from_elsewhere():
    tree = make()
    give(tree, MessageReceived(2, data(1)))
    give(tree, MessageReceived(2, Prune(TOPIC)))
    (send,) = sends(give(tree, Publish(TOPIC, b"y")))
    assert send.to == (2, 3, 4)


def test_a_fetched_message_says_nothing_about_the_tree():
    tree = make()
    give(tree, MessageReceived(2, data(1)))
    tree._seen.add(9, 2, FETCHED)
    give(tree, MessageReceived(2, data(2)))
    assert tree._branches[TOPIC].lose(2) == ()


def test_nodes_that_are_no_neighbours_make_the_branch_keep_nothing():
    tree = make()
    for stranger in range(100, 200):
        give(tree, MessageReceived(stranger, Prune(TOPIC)))
        give(tree, MessageReceived(stranger, data(1)))
    assert not tree._branches[TOPIC].lazy
    assert not tree._branches[TOPIC]._pruned


def test_a_node_that_sent_a_message_first_and_is_no_neighbour_is_neither_supplier_nor_pruned():
    tree = make()
    give(tree, MessageReceived(2, TreeData(TOPIC, 9, 1, 1, 0, b"x")))
    give(tree, MessageReceived(77, data(2)))
    assert tree._branches[TOPIC].supplier == 2
    give(tree, MessageReceived(2, data(2)))
    assert list(tree._branches[TOPIC].pruned) == []


def test_a_supplier_that_gives_up_the_topic_is_lost_like_one_that_is_gone():
    class Changing:
        known = (2, 3, 4)

        def neighbours_on(self, topic):
            return self.known

    overlay = Changing()
    tree = make(overlay=overlay)
    give(tree, MessageReceived(2, data(1, publisher=0)))
    for node in (3, 4):
        give(tree, MessageReceived(node, Prune(TOPIC)))
    overlay.known = (3, 4)
    tree.learn(NeighbourTopicsChanged(2), 0, [])
    assert sends(give(tree, Publish(TOPIC, b"y")))[0].to == (3, 4)
