"""The proofs that StAN's messages carry: the sender knows the topic's key."""

from hashlib import sha256
from hmac import digest

from gossamer.model.values.draw import MASK
from gossamer.model.values.ids import NodeId, TopicId

# Chosen: 128 bits of a proof are enough against guessing, and short on the wire.
PROOF_BYTES = 16


def topic_key(topic: TopicId, secret: bytes) -> bytes:
    """The key of a topic: from its shared secret where there is one, else from its id, and so from its name."""
    return sha256(b"gossamer topic\0" + _word(topic) + secret).digest()


def prove(key: bytes, what: bytes, sender: NodeId, receiver: NodeId, nonce: int = 0) -> bytes:
    """HMAC of what is said by whom to whom: of no use to anybody who hears it."""
    return digest(key, what + _word(sender) + _word(receiver) + _word(nonce), "sha256")[:PROOF_BYTES]


def _word(number: int) -> bytes:
    """Eight bytes of any number: a peer may have sent one that is no id."""
    return (number & MASK).to_bytes(8, "big")
