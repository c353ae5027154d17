"""Signed bursts: one signature for all messages, and each message can be proved alone."""

import time

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gossamer.live.security import hash_tree, signed_bursts, signing
from gossamer.live.security.authority import issue, make_authority
from gossamer.live.security.keys import Keys
from gossamer.live.security.signed_bursts import KeptProofs, SignedBurst, is_complete, pack, proof_bytes, seal_burst
from gossamer.live.security.signing import SignaturePolicy, Signer, burst_text, content_of, publisher_name, unseal
from gossamer.protocols.contract.messages import BURST_MAX, Data, proof_of, proved
from gossamer.protocols.delivery.recovery.messages import Answer, Past
from gossamer.protocols.dissemination.tree_messages import Prune, TreeBurst, TreeData
from gossamer.systems.push_pull.messages import PushPullBurst

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
SIGNER = Signer(KEY)
TOPIC, FIRST = 7, 1_000
ITEMS = tuple((50 + number, b"content %d" % number) for number in range(20))
WRONG = (None, b"", "its signature is wrong")


@pytest.fixture
def policy():
    return SignaturePolicy("strict")


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    root = tmp_path_factory.mktemp("keys")
    make_authority(root / "authority")
    issue(root / "authority", "feed-1", root / "feed-1")
    return Keys.load(root / "feed-1")


def sealed(items=ITEMS, signer=SIGNER, topic=TOPIC, first=FIRST, kind=TreeBurst):
    """A burst as its publisher's machine has it."""
    proof = seal_burst(signer, topic, first, items, KeptProofs())
    return kind(topic, signer.node, first, 0, proved(proof.items, proof), first - 1)


def open_burst(policy, burst, kept=None):
    return signed_bursts.open_burst(policy, burst, kept or KeptProofs())


def travelled(message):
    """A message after the wire."""
    return msgspec.msgpack.decode(msgspec.msgpack.encode(pack(message)), type=type(message))


def checked(policy, data):
    """The content of a message that travels alone, or why it is refused."""
    return unseal(policy, data.publisher, data.topics, data.sequence, data.payload, data.published_us)


@given(items=st.lists(st.tuples(st.integers(0, 2**62), st.binary(max_size=40)), min_size=1, max_size=40))
def test_any_burst_arrives_with_its_contents(items):
    policy = SignaturePolicy("strict")
    burst, head, reason = open_burst(policy, travelled(sealed(items)))
    assert reason is None
    assert head == SIGNER.head
    assert [(at_us, content_of(payload)) for at_us, payload in burst.items] == items
    assert (burst.topic, burst.publisher, burst.sequence, burst.previous) == (TOPIC, SIGNER.node, FIRST, FIRST - 1)


def test_a_signature_travels_once_and_adds_few_bytes_to_a_burst():
    items = tuple((1_700_000_000_000_000, b"x" * 100) for _ in range(BURST_MAX))
    plain = msgspec.msgpack.encode(TreeBurst(TOPIC, SIGNER.node, FIRST, 0, items, FIRST - 1))
    signed = msgspec.msgpack.encode(pack(sealed(items)))
    assert len(signed) - len(plain) <= proof_bytes(SIGNER) + BURST_MAX


def altered(burst):
    """The burst after each change that a relay could make."""
    (at_us, first), *further = burst.items
    items = burst.items
    return {
        "content": replace(burst, items=(*items[:3], (items[3][0], b"\0other"), *items[4:])),
        "first content": replace(burst, items=((at_us, first + b"x"), *further)),
        "time": replace(burst, items=(*items[:3], (items[3][0] + 1, items[3][1]), *items[4:])),
        "first time": replace(burst, items=((at_us + 1, first), *further)),
        "order": replace(burst, items=(items[0], items[2], items[1], *items[3:])),
        "topic": replace(burst, topic=TOPIC + 1),
        "number": replace(burst, sequence=FIRST + 1),
        "last message removed": replace(burst, items=items[:-1]),
        "only the first message": replace(burst, items=items[:1]),
        "message added": replace(burst, items=(*items, items[-1])),
        "message repeated": replace(burst, items=(*items[:5], items[4], *items[5:])),
        "bytes moved": replace(burst, items=(*items[:2], (items[2][0], items[2][1] + b"a"), *items[3:])),
    }


@pytest.mark.parametrize("change", altered(pack(sealed())))
def test_an_altered_burst_is_refused(policy, change):
    burst = travelled(sealed())
    # Also when the true burst was accepted before.
    for _ in range(2):
        assert open_burst(policy, altered(burst)[change]) == WRONG
        assert open_burst(policy, burst)[2] is None


def test_a_burst_of_another_publisher_is_refused(policy):
    burst = travelled(sealed())
    other = Signer(Ed25519PrivateKey.generate())
    assert open_burst(policy, replace(burst, publisher=other.node))[2] == "its key is not its publisher's"
    # With the other publisher's key in front of the same signature.
    (at_us, first), *further = burst.items
    moved = replace(burst, publisher=other.node, items=((at_us, b"\4" + other.head + first[34:]), *further))
    assert open_burst(policy, moved) == WRONG


def test_no_byte_before_the_first_content_can_be_changed(policy):
    burst = travelled(sealed())
    (at_us, first), *further = burst.items
    for place in range(1, proof_bytes(SIGNER) + 1):
        changed = bytearray(first)
        changed[place] ^= 1
        assert open_burst(policy, replace(burst, items=((at_us, bytes(changed)), *further)))[0] is None
        assert open_burst(policy, replace(burst, items=((at_us, first[:place]), *further)))[0] is None
    assert not policy._bursts


@given(first=st.binary(max_size=200), head=st.sampled_from([b"\4", b"\4\1", b"\4\2", b"\4\2\0\x40", b"\4\2\xff\xff"]))
def test_random_bytes_are_refused_with_a_reason_and_never_raise(first, head):
    burst = TreeBurst(TOPIC, SIGNER.node, FIRST, 0, ((1, head + first), (2, b"\0x")))
    opened, _, reason = open_burst(SignaturePolicy("strict"), burst)
    assert opened is None
    assert reason


def test_a_time_that_no_signature_can_cover_is_refused(policy):
    burst = travelled(sealed())
    for at_us in (-1, 2**64):
        found = open_burst(policy, replace(burst, items=(burst.items[0], (at_us, b"\0x"))))
        assert found[2] == "its signature cannot be read"


def test_a_publisher_cannot_hide_an_envelope_in_a_burst(policy):
    """A reader takes the content behind the first byte, so every message must begin with the byte 0."""
    payloads = ((1, b"\0x"), (2, b"\3\xff\xff"), (3, b""))
    hashes = hash_tree.digest_of(payloads) + bytes(hash_tree.HASH_BYTES)
    text = burst_text(SIGNER.head, SIGNER.node, TOPIC, FIRST, 3, hashes)
    forged = SignedBurst(FIRST, payloads, SIGNER.head + SIGNER.sign(text) + hashes, KeptProofs())
    burst = TreeBurst(TOPIC, SIGNER.node, FIRST, 0, forged.packed)
    assert open_burst(policy, burst)[2] == "its envelope has an unknown kind"


# One message alone.


@pytest.mark.parametrize("count", [1, 2, 5, 20])
def test_each_message_of_a_received_burst_can_be_proved_alone(policy, count):
    burst, _, _ = open_burst(policy, travelled(sealed(ITEMS[:count])))
    elsewhere = SignaturePolicy("strict")
    for data, (_, content) in zip(burst.messages, ITEMS, strict=False):
        assert proof_of(data) is proof_of(burst)
        alone = travelled(data)
        assert type(alone) is TreeData
        assert checked(elsewhere, alone) == (content, None)
        assert content_of(alone.payload) == content
        # It goes on from there as it is.
        assert pack(alone) is alone
        assert len(alone.payload) <= len(content) + len(SIGNER.head) + signing.MEMBER_HEAD.size + 64 + 32 + 288


def test_answers_and_histories_carry_messages_that_can_be_checked(policy):
    burst, _, _ = open_burst(policy, travelled(sealed()))
    single = Data(TOPIC, SIGNER.node, 5, 0, 1, SIGNER.seal(TOPIC, 5, b"single", 1))
    kept = (single, *(Data(*msgspec.structs.astuple(data)) for data in burst.messages[3:6]))
    for message in (Answer(TOPIC, SIGNER.node, kept, 1, True), Past(TOPIC, kept, False, (1, 2, 3, 4))):
        found = travelled(message)
        assert [checked(policy, data)[0] for data in found.messages] == [b"single", *(item[1] for item in ITEMS[3:6])]
        assert replace(found, messages=()) == replace(message, messages=())
    assert all(proof_of(data) is not None for data in kept[1:]), "the history keeps its messages as they were"
    assert pack(Prune(TOPIC)) == Prune(TOPIC)


def test_a_part_of_a_burst_travels_as_messages_that_can_be_checked(policy):
    burst, _, _ = open_burst(policy, travelled(sealed(kind=PushPullBurst)))
    part = replace(burst, sequence=FIRST + 4, items=proved(burst.items[4:9], proof_of(burst)))
    found = travelled(part)
    assert not is_complete(found)
    assert [checked(policy, data)[0] for data in found.messages] == [content for _, content in ITEMS[4:9]]
    assert is_complete(travelled(burst))


def test_a_message_alone_cannot_be_altered_or_moved(policy):
    burst = sealed()
    third, fourth = (travelled(data) for data in burst.messages[3:5])
    wrong = (None, "its signature is wrong")
    for changes in (
        {"topic": TOPIC + 1},
        {"sequence": third.sequence + 1},
        {"published_us": third.published_us + 1},
        {"payload": third.payload + b"x"},
        {"payload": fourth.payload},
    ):
        assert checked(policy, replace(third, **changes)) == wrong
    assert checked(policy, replace(third, publisher=5)) == (None, "its key is not its publisher's")
    assert checked(policy, replace(third, also=((9, 0),)))[0] is None
    assert checked(policy, third)[1] is None


def test_no_byte_of_a_message_alone_can_be_changed(policy):
    data = travelled(sealed().messages[6])
    for place in range(len(data.payload)):
        for bits in (0x01, 0x10, 0x80):
            changed = bytearray(data.payload)
            changed[place] ^= bits
            assert checked(policy, replace(data, payload=bytes(changed)))[0] is None
        assert checked(policy, replace(data, payload=data.payload[:place]))[0] is None


def test_a_certified_burst_names_its_publisher_at_every_hop(keys):
    moment = [time.time()]
    policy = SignaturePolicy("strict", keys.authorities, lambda: moment[0])
    burst = travelled(sealed(signer=Signer(keys.private_key, keys.certificate_der)))
    opened, head, reason = open_burst(policy, burst)
    assert reason is None
    assert publisher_name(policy, head) == "feed-1"
    alone = travelled(opened.messages[2])
    assert checked(policy, alone)[1] is None
    assert publisher_name(policy, alone.payload) == "feed-1"
    bare = sealed(signer=Signer(keys.private_key))
    assert open_burst(policy, travelled(bare))[2] == "its key has no certificate"
    # A burst that was accepted is refused when the certificate has expired.
    moment[0] += 366 * 86_400
    assert open_burst(policy, burst)[2].startswith("the certificate expired on")
    assert checked(policy, alone)[1].startswith("the certificate expired on")


# The cache of accepted bursts.


def test_a_signature_is_checked_once_for_all_messages_of_a_burst(policy, monkeypatch):
    verified = []
    key = KEY.public_key()

    class Counting:
        def verify(self, signature, text):
            verified.append(text)
            key.verify(signature, text)

    monkeypatch.setattr(policy, "key_of", lambda publisher, head: Counting())
    burst = travelled(sealed())
    opened, _, _ = open_burst(policy, burst)
    for data in opened.messages:
        assert checked(policy, travelled(data))[1] is None
    assert open_burst(policy, burst)[2] is None
    assert len(verified) == 1


def test_a_forged_root_is_not_remembered_and_helps_nobody(policy):
    honest = sealed()
    opened, _, _ = open_burst(policy, travelled(honest))
    accepted = set(policy._bursts)
    # The attacker makes a tree of its own messages, behind the head and the signature of the honest burst.
    forged = seal_burst(Signer(Ed25519PrivateKey.generate()), TOPIC, FIRST, ((1, b"forged"), (2, b"too")), KeptProofs())
    proof = proof_of(honest)._proof[: len(SIGNER.head) + 64] + forged._proof[len(SIGNER.head) + 64 :]
    forged = SignedBurst(FIRST, forged.items, proof, KeptProofs())
    burst = TreeBurst(TOPIC, SIGNER.node, FIRST, 0, forged.packed)
    for _ in range(2):
        assert open_burst(policy, burst) == WRONG
        alone = TreeData(TOPIC, SIGNER.node, FIRST, 0, 1, forged.member(FIRST))
        assert checked(policy, alone) == (None, "its signature is wrong")
    # A right root that belongs to another topic, or to other numbers, does not help either.
    alone = travelled(opened.messages[0])
    assert checked(policy, replace(alone, topic=TOPIC + 1))[0] is None
    assert set(policy._bursts) == accepted


def test_the_cache_of_bursts_is_bounded_and_an_evicted_burst_is_checked_again(policy, monkeypatch):
    monkeypatch.setattr(signing, "BURSTS_MAX", 3)
    bursts = [travelled(sealed(first=FIRST + 100 * number)) for number in range(8)]
    for burst in bursts * 2:
        assert open_burst(policy, burst)[2] is None
        assert len(policy._bursts) <= 3
    for number in range(50):
        assert open_burst(policy, replace(bursts[0], sequence=number))[0] is None
    assert len(policy._bursts) == 3
    assert open_burst(policy, bursts[-1])[2] is None
    assert open_burst(policy, altered(bursts[0])["content"]) == WRONG


def test_messages_of_a_publisher_that_signed_a_wrong_root_are_not_sent_alone(policy):
    """The neighbour would refuse them, and count an offence of this node."""
    hashes = hash_tree.digest_of(sealed().items) + bytes(hash_tree.HASH_BYTES)
    text = burst_text(SIGNER.head, SIGNER.node, TOPIC, FIRST, len(ITEMS), hashes)
    wrong = SignedBurst(FIRST, sealed().items, SIGNER.head + SIGNER.sign(text) + hashes, KeptProofs())
    opened, _, reason = open_burst(policy, TreeBurst(TOPIC, SIGNER.node, FIRST, 0, wrong.packed))
    assert reason is None
    assert pack(opened.messages[0]) is None
    assert pack(Answer(TOPIC, SIGNER.node, tuple(opened.messages))) is None
    assert pack(replace(opened, items=proved(opened.items[:3], proof_of(opened)))) is None
    assert is_complete(pack(opened))


def test_what_a_node_keeps_as_proofs_is_bounded_whatever_a_publisher_sends(policy, monkeypatch):
    """A publisher repeats almost all of each burst, so that one message of it is new and keeps the whole burst."""
    monkeypatch.setattr(signed_bursts, "PROOFS_BYTES_MAX", 20_000)
    kept, history = KeptProofs(), []
    for first in range(FIRST, FIRST + 30):
        items = tuple((1, b"%1000d" % (first + number)) for number in range(10))
        burst, _, reason = open_burst(policy, travelled(sealed(items, first=first)), kept)
        assert reason is None
        history.append(burst.messages[-1])
        del burst
        assert 0 < kept.size_bytes < 20_000
    assert [proof_of(data) is None for data in history] == [False] + [True] * 29
    # Messages with and without a kept burst can all be proved, also to a node that has none of the bursts.
    for data in history:
        assert checked(SignaturePolicy("strict"), travelled(data))[1] is None
    history.clear()
    del data
    assert kept.size_bytes == 0


def test_a_single_message_is_sealed_as_before_bursts_were_signed():
    envelope = bytes.fromhex(
        "0103a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b874cdd6dd125b0b2cb5c6755a5451e698cb3b3248cd31"
        "b6f37cbe6fbed58980c835066d30c73e000eb62b28c99d456b5ae006ebcf840dbed2074112e1cdca7e0d636f6e74656e74"
    )
    assert SIGNER.seal((3, 4), 9, b"content", 5) == envelope
    assert unseal(SignaturePolicy("strict"), SIGNER.node, (3, 4), 9, envelope, 5) == (b"content", None)
