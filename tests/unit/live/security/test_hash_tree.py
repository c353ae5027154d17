"""Hashes over the messages of a burst: each message leads to the root along its own path, and nothing else does."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.live.security.hash_tree import GROUP, HASH_BYTES, digest_of, grow, leaf_of, root_of
from gossamer.protocols.contract.messages import BURST_MAX

ITEMS = st.lists(st.tuples(st.integers(0, 2**64 - 1), st.binary(max_size=12)), min_size=1, max_size=70)


def path_of(paths, position):
    return paths[position // GROUP]


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 15, 16, 17, 63, 64, 65, 255, 256, 257, BURST_MAX])
def test_every_message_leads_to_the_root_along_a_short_path(count):
    items = [(number, b"%d" % number) for number in range(count)]
    root, paths = grow(items)
    for position, item in enumerate(items):
        path = path_of(paths, position)
        assert root_of(leaf_of(*item), position, count, path) == root
        assert len(path) <= 288


@given(items=ITEMS, data=st.data())
def test_no_other_message_position_count_or_path_leads_to_the_root(items, data):
    root, paths = grow(items)
    position = data.draw(st.integers(0, len(items) - 1))
    path, (published_us, content) = path_of(paths, position), items[position]
    assert root_of(leaf_of(published_us, content + b"x"), position, len(items), path) is None
    assert root_of(leaf_of(published_us ^ 1, content), position, len(items), path) is None
    leaf = leaf_of(published_us, content)
    for other, item in enumerate(items):
        if other != position and item != items[position]:
            assert root_of(leaf, other, len(items), path_of(paths, other)) is None
    for other in (path + path[:HASH_BYTES], path[:-1], path[1:], b""):
        assert root_of(leaf, position, len(items), other) != root
    changed = bytearray(path)
    changed[data.draw(st.integers(0, len(path) - 1))] ^= data.draw(st.integers(1, 255))
    assert root_of(leaf, position, len(items), bytes(changed)) != root


@given(items=ITEMS, others=ITEMS)
def test_only_the_same_messages_have_the_same_digest_and_root(items, others):
    assert (digest_of(items) == digest_of(others)) == (items == others)
    assert (grow(items)[0] == grow(others)[0]) == (items == others)


def test_bytes_cannot_move_from_one_message_to_the_next():
    assert digest_of([(1, b"ab"), (2, b"c")]) != digest_of([(1, b"a"), (2, b"bc")])
    assert grow([(1, b"ab"), (2, b"c")])[0] != grow([(1, b"a"), (2, b"bc")])[0]


def test_a_group_of_hashes_cannot_pass_for_a_message():
    root, _ = grow([(number, b"%d" % number) for number in range(4)])
    group = b"".join(leaf_of(number, b"%d" % number) for number in range(4))
    # As a message, the group would have to begin with the byte 1.
    assert leaf_of(int.from_bytes(group[:8], "big"), group[8:]) != root


@pytest.mark.parametrize("published_us", [-1, 2**64])
def test_a_time_that_no_hash_can_cover_is_refused(published_us):
    for function in (digest_of, grow):
        with pytest.raises(struct.error):
            function([(published_us, b"x")])
