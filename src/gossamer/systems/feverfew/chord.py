"""Chord's lookup, the structured baseline of Table 1 and Table 2: real finger tables, and the hops of greedy lookups.

I. Stoica et al., *Chord: a scalable peer-to-peer lookup service for Internet applications*, SIGCOMM 2001, sections 4.2
and 4.3. Feverfew's tables print the bound log2 N (13.3 and 16.6) in the rows "DHT"; the mean of real lookups is about
half of it (Chord, section 6.3). The ring does not change: nothing here joins, leaves or repairs.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gossamer.kernels.draw import U64
from gossamer.kernels.sampling import draws
from gossamer.model.values.draw import Purpose
from gossamer.model.values.errors import InputError
from gossamer.model.values.ids import ID_BITS

# Chosen: lookups that are advanced together. They need 64 distances each: 8 MiB.
BATCH = 16_384


class ChordRing(NamedTuple):
    """The ids of the nodes, ascending, and for each node the position of each finger; finger 0 is the successor."""

    ids: NDArray[np.uint64]
    fingers: NDArray[np.int32]


def chord_ring(node_count: int, seed: int) -> ChordRing:
    """A ring of nodes with random 64-bit ids. Finger k of a node is the first node at a distance of 2^k or more."""
    if not 1 <= node_count < 2**31:
        raise InputError(f"the number of nodes must lie between 1 and 2,147,483,647, got {node_count}")
    # Draws that differ only in the node never repeat: the mix is a bijection of the sum of keys.
    ids = np.sort(draws(U64(seed), U64(Purpose.CHORD_ID), U64(0), node_count))
    fingers = np.empty((node_count, ID_BITS), np.int32)
    for k in range(ID_BITS):
        fingers[:, k] = successors(ids, ids + U64(1 << k))
    return ChordRing(ids, fingers)


def successors(ids: NDArray[np.uint64], keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The position of the node that owns each key: the first node whose id is not below the key, around the ring."""
    places: NDArray[np.int64] = np.searchsorted(ids, keys, side="left") % len(ids)
    return places


def lookup_hops(node_count: int, seed: int, lookups: int) -> NDArray[np.int64]:
    """The hops of lookups of random keys from random nodes: messages until the key's owner is reached.

    Every node forwards to its finger closest before the key; the last hop is from the key's predecessor to its owner.
    A node that owns the key itself needs no hop.
    """
    if lookups < 0:
        raise InputError(f"the number of lookups must not be negative, got {lookups}")
    ring = chord_ring(node_count, seed)
    starts = draws(U64(seed), U64(Purpose.CHORD_LOOKUP), U64(0), lookups) % U64(node_count)
    keys = draws(U64(seed), U64(Purpose.CHORD_LOOKUP), U64(1), lookups)
    hops = np.zeros(lookups, np.int64)
    for first in range(0, lookups, BATCH):
        batch = slice(first, first + BATCH)
        hops[batch] = walk(ring, starts[batch].astype(np.int64), keys[batch])
    return hops


def walk(ring: ChordRing, starts: NDArray[np.int64], keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The hops from each start to the owner of its key."""
    ids, fingers = ring
    owners = successors(ids, keys)
    at = starts.copy()
    hops = np.zeros(len(at), np.int64)
    # The lookups that have not reached their owner.
    left = np.flatnonzero(at != owners)
    while len(left):
        here = at[left]
        # Distances clockwise around the ring; subtraction of unsigned numbers wraps.
        to_key = keys[left] - ids[here]
        to_finger = ids[fingers[here]] - ids[here, None]
        # A finger before the key; a finger that is the node itself has a distance of 0 and is no progress.
        steps = np.where(to_finger < to_key[:, None], to_finger, U64(0))
        best = steps.argmax(axis=1)
        is_last = steps.max(axis=1) == 0
        at[left] = np.where(is_last, fingers[here, 0], fingers[here, best])
        hops[left] += 1
        left = left[at[left] != owners[left]]
    return hops
