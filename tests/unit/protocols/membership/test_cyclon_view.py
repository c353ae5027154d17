"""The ordered list of entries below Cyclon."""

from gossamer.model.values.draw import Purpose
from gossamer.protocols.contract.messages import Digest
from gossamer.protocols.membership.cyclon_view import OLDEST_AGE, CyclonView, ViewEntry

ME = 50


def view_of(*nodes, size_max=5):
    view = CyclonView(1, ME, size_max)
    for age, node in enumerate(nodes):
        view.append(ViewEntry(node, age, bytes([node])))
    return view


def test_the_last_entry_takes_the_place_of_a_removed_one():
    view = view_of(1, 2, 3, 4)
    assert view.remove(1) == ViewEntry(2, 1, b"\x02")
    assert view.nodes == [1, 4, 3]
    assert view.first(2) == (ViewEntry(1, 0, b"\x01"), ViewEntry(4, 3, b"\x04"))
    assert view.remove(2).node == 3
    assert view.nodes == [1, 4]


def test_the_first_of_the_oldest_entries_is_removed():
    view = view_of(1, 2)
    view.append(ViewEntry(3, 7))
    view.append(ViewEntry(4, 7))
    assert view.remove_oldest().node == 3


def test_ages_are_clamped_to_a_byte():
    view = view_of()
    view.append(ViewEntry(1, -3))
    view.append(ViewEntry(2, 1_000))
    view.grow_older()
    assert [entry.age for entry in view.first(2)] == [1, OLDEST_AGE]


def test_only_other_new_nodes_have_room_until_the_view_is_full():
    view = view_of(1, size_max=2)
    assert view.has_room_for(2)
    assert not view.has_room_for(1)
    assert not view.has_room_for(ME)
    view.append(ViewEntry(2, 0))
    assert view.is_full
    assert not view.has_room_for(3)


def test_a_node_that_is_left_out_is_not_among_the_first_entries():
    view = view_of(1, 2, 3, 4)
    assert view.leave_out(2, 3) == 3
    assert view.nodes == [1, 4, 3, 2]
    assert view.leave_out(2, 3) == 3, "it is not among the first three"
    assert view.leave_out(1, 4) == 3, "without a next entry there is one fewer"
    assert 1 not in [entry.node for entry in view.first(3)]


def test_chosen_entries_are_distinct_and_depend_on_the_draw():
    chosen = set()
    for now_us in range(20):
        view = view_of(1, 2, 3, 4, 5)
        view.choose(2, Purpose.CYCLON_SHUFFLE, now_us, item=0)
        assert sorted(view.nodes) == [1, 2, 3, 4, 5]
        chosen.add(tuple(view.nodes[:2]))
    assert len(chosen) > 5


def test_a_newer_digest_replaces_an_older_one_and_not_the_reverse():
    view = view_of(1)
    for version in (3, 7, 5):
        view.renew(ViewEntry(1, 9, b"", Digest(version, 0, ())), is_its_own=False)
    (entry,) = view.first(1)
    assert entry == ViewEntry(1, 0, b"\x01", Digest(7, 0, ()))
