"""The unstructured overlay: given links, redialling, and the limit on links."""

from gossamer.protocols.contract.actions import Connect, Disconnect, Observe, SetTimer
from gossamer.protocols.contract.events import PeerDown, PeerUp, Started, TimerFired
from gossamer.protocols.contract.facts import NeighbourDown, NeighbourUp, PeerMisbehaved
from gossamer.protocols.contract.messages import Peer
from gossamer.systems.gossip.parameters import UnstructuredParameters
from gossamer.systems.gossip.unstructured import RedialDue, Unstructured

ME = 1


def overlay(**settings):
    return Unstructured(UnstructuredParameters(**settings), ME)


def told(made, event, now_us=5):
    out = []
    return list(made.handle(event, now_us, out)), out


def test_given_peers_are_dialled_and_become_neighbours_when_the_connection_is_open():
    made = overlay()
    assert told(made, Started((Peer(2), Peer(ME), Peer(3)))) == ([], [Connect(Peer(2)), Connect(Peer(3))])
    assert told(made, PeerUp(2)) == ([NeighbourUp(2)], [Observe(NeighbourUp(2))])
    assert told(made, PeerUp(2)) == ([], [])
    # A peer that was given this node.
    assert told(made, PeerUp(8))[0] == [NeighbourUp(8)]


def test_only_a_given_peer_is_dialled_again():
    made = overlay(redial_us=100)
    told(made, Started((Peer(2, b"a"),)))
    assert told(made, PeerDown(2)) == ([], [SetTimer(105, RedialDue(2))])
    assert told(made, TimerFired(RedialDue(2))) == ([], [Connect(Peer(2, b"a"))])
    told(made, PeerUp(2))
    assert told(made, TimerFired(RedialDue(2))) == ([], [])
    facts, out = told(made, PeerDown(2))
    assert facts == [NeighbourDown(2)]
    assert SetTimer(105, RedialDue(2)) in out
    told(made, PeerUp(8))
    assert told(made, PeerDown(8)) == ([NeighbourDown(8)], [Observe(NeighbourDown(8))])


def test_a_full_node_closes_further_connections():
    made = overlay(degree_max=1)
    told(made, PeerUp(2))
    facts, out = told(made, PeerUp(3))
    assert facts == []
    assert out[0] == Disconnect(3)
    assert isinstance(out[1].fact, PeerMisbehaved)
