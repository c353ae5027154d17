"""One repair of a coordinator: which nodes it links, and whom it asks whether all is well afterwards."""

import pytest

from gossamer.protocols.contract.messages import Peer
from gossamer.systems.omen.messages import ChurnEvent, ChurnKind, ShadowLink
from gossamer.systems.omen.parameters import OmenParameters
from gossamer.systems.omen.repair import Repair, new_links


@pytest.fixture
def repair():
    """Node 9 has left nodes 1 and 2, which hold its topic. Node 1 has nine links, one of them to node 3 on the topic."""
    found = Repair(ChurnEvent(9, 1, ChurnKind.LEAVE), 1, frozenset({0}))
    found.add_terminals([Peer(1), Peer(2)])
    found.take_own(1, (0,), [ShadowLink(3, b"", (0,), 2)], 9, 0)
    found.take_own(2, (0,), [], 1, 0)
    return found


@pytest.mark.parametrize(
    ("linked", "failed", "links"), [("seen", (), [(2, 3)]), ("seen", (3,), [(1, 2)]), ("shadow", (), [(1, 2)])]
)
def test_a_neighbour_of_a_shadow_node_gets_the_link_unless_it_is_taken_for_dead(repair, linked, failed, links):
    assert new_links(repair, OmenParameters(linked=linked), None, failed, 0) == links


def test_the_end_of_a_link_that_was_only_seen_is_asked_in_the_check(repair):
    repair.await_links([(2, 3)], coordinator=7)
    assert list(repair.nodes()) == [1, 2, 3]
    assert repair.pending == {(2, 3): 2}
