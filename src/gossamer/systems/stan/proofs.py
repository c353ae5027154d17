"""The proofs in StAN's messages: each shows that its sender knows the topic's key."""

from hashlib import sha256
from hmac import digest

from gossamer.model.values.draw import MASK
from gossamer.model.values.ids import NodeId, TopicId

# Chosen: 16 bytes; 128 bits cannot be guessed.
PROOF_BYTES = 16


def topic_key(topic: TopicId, secret: bytes) -> bytes:
    """The key of a topic: a hash of its id (and so of its name) and of its shared secret, if there is one."""
    return sha256(b"gossamer topic\0" + _word(topic) + secret).digest()


def prove(key: bytes, what: bytes, sender: NodeId, receiver: NodeId, nonce: int = 0) -> bytes:
    """HMAC of the kind of message, sender and receiver: a node that overhears it cannot use it."""
    return digest(key, what + _word(sender) + _word(receiver) + _word(nonce), "sha256")[:PROOF_BYTES]


def _word(number: int) -> bytes:
    """Eight bytes of a number, which a peer may have sent and which may be out of range."""
    return (number & MASK).to_bytes(8, "big")
