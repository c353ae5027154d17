"""Numbers and bytes that other nodes see: keyed and cryptographic, unlike those of `draw`.

`draw` can be inverted: whoever sees one of its numbers and guesses the other keys computes the seed, and with it all
draws of the node. What a node shows therefore comes from BLAKE2 under a secret that is used for nothing else. One value
tells nothing about another. A live node takes the secret from the system's randomness; in a simulation it follows from
the seed, so that one seed still decides a run.
"""

from hashlib import blake2b, shake_256

from gossamer.model.values.draw import MASK

SECRET_BYTES = 32


def simulated_secret(seed: int, node: int) -> bytes:
    """The secret of a node to which its driver gives none."""
    return blake2b(_words(seed, node), digest_size=SECRET_BYTES, person=b"simulated").digest()


class Shown:
    """What one node shows. `what` says what a value is for, in at most 16 bytes; `keys` tell values of a kind apart."""

    __slots__ = ("_secret",)

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def number(self, what: bytes, *keys: int) -> int:
        """64 bits."""
        return int.from_bytes(self.key(what, *keys, size=8), "big")

    def key(self, what: bytes, *keys: int, size: int = SECRET_BYTES) -> bytes:
        """At most 64 bytes."""
        return blake2b(_words(*keys), digest_size=size, key=self._secret, person=what).digest()

    def first_number(self, topic: int) -> int:
        """Where the numbers of a node's messages on a topic begin, above the clock.

        Far apart for different topics, so that a publisher and a number name one message; the sum fits the wire format.
        """
        return self.number(b"first number", topic) >> 3

    def noise(self, what: bytes, size: int, *keys: int) -> bytes:
        """Any number of bytes."""
        return shake_256(self.key(what, *keys)).digest(size)


def _words(*numbers: int) -> bytes:
    return b"".join((number & MASK).to_bytes(8, "big") for number in numbers)
