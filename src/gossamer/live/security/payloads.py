"""Payloads of topics with a secret, encrypted from the publisher to the subscribers (ChaCha20-Poly1305).

Whoever learns a topic's id without its secret, and relays or records its messages, reads nothing and changes nothing. The
key follows from the secret and the topic; the topic, the publisher and the number are authenticated with the content.
"""

from collections.abc import Callable
from hashlib import sha256

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from gossamer.model.values.ids import NodeId, TopicId

# Random. After 2**32 messages under one secret, two have the same nonce with a probability of 2**-33.
NONCE_BYTES = 12


class PayloadCipher:
    """Encrypts and decrypts the payloads of the topics whose secrets are known."""

    def __init__(self, secret_of: Callable[[TopicId], bytes], random_bytes: Callable[[int], bytes]) -> None:
        self._secret_of = secret_of
        self._random_bytes = random_bytes
        self._ciphers: dict[TopicId, ChaCha20Poly1305] = {}

    def encrypt(self, topic: TopicId, publisher: NodeId, sequence: int, content: bytes) -> bytes:
        """The content as it travels; unchanged if the topic has no secret."""
        cipher = self._cipher(topic)
        if cipher is None:
            return content
        nonce = self._random_bytes(NONCE_BYTES)
        return nonce + cipher.encrypt(nonce, content, _words(topic, publisher, sequence))

    def decrypt(self, topic: TopicId, publisher: NodeId, sequence: int, payload: bytes) -> bytes:
        """The content of a payload; a ValueError if it was not encrypted with the topic's secret, or was changed."""
        cipher = self._cipher(topic)
        if cipher is None:
            return payload
        nonce, content = payload[:NONCE_BYTES], payload[NONCE_BYTES:]
        try:
            return cipher.decrypt(nonce, content, _words(topic, publisher, sequence))
        except (InvalidTag, ValueError):  # ValueError: shorter than a nonce
            raise ValueError("not encrypted with the secret of its topic") from None

    def _cipher(self, topic: TopicId) -> ChaCha20Poly1305 | None:
        known = self._ciphers.get(topic)
        if known is not None:
            return known
        secret = self._secret_of(topic)
        if not secret:
            return None
        key = sha256(b"gossamer payload\0" + _words(topic) + secret).digest()
        cipher = self._ciphers[topic] = ChaCha20Poly1305(key)
        return cipher


def _words(*numbers: int) -> bytes:
    return b"".join(number.to_bytes(8, "big") for number in numbers)
