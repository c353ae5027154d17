"""Signed envelopes: nobody can change a message, move it to another topic or forge its publisher."""

import time

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from gossamer.live.security import signing
from gossamer.live.security.authority import issue, make_authority
from gossamer.live.security.keys import Keys
from gossamer.live.security.signing import (
    SignaturePolicy,
    Signer,
    content_of,
    publisher_name,
    unseal,
)
from gossamer.model.values.errors import InputError

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
SIGNER = Signer(KEY)
STRICT = SignaturePolicy("strict")
ID = st.integers(0, 2**64 - 1)


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    root = tmp_path_factory.mktemp("keys")
    make_authority(root / "authority")
    issue(root / "authority", "feed-1", root / "feed-1")
    make_authority(root / "other")
    issue(root / "other", "feed-1", root / "stranger")
    return {name: Keys.load(root / name) for name in ("feed-1", "stranger")}


def certified(keys, name="feed-1"):
    return Signer(keys[name].private_key, keys[name].certificate_der)


@given(topics=st.lists(ID, min_size=1, max_size=5), sequence=ID, published=ID, content=st.binary(max_size=200))
def test_any_content_can_be_sealed_and_unsealed(topics, sequence, published, content):
    envelope = SIGNER.seal(topics, sequence, content, published)
    assert unseal(STRICT, SIGNER.node, topics[::-1], sequence, envelope, published) == (content, None)
    assert content_of(envelope) == content
    assert publisher_name(STRICT, envelope) is None


@given(
    topics=st.lists(ID, min_size=1, max_size=3, unique=True),
    others=st.lists(ID, min_size=1, max_size=3, unique=True),
    numbers=st.tuples(ID, ID),
    other_numbers=st.tuples(ID, ID),
    content=st.binary(max_size=40),
    more=st.binary(min_size=1, max_size=9),
)
def test_no_field_of_a_signed_message_can_be_changed(topics, others, numbers, other_numbers, content, more):
    sequence, published = numbers
    envelope = SIGNER.seal(topics, sequence, content, published)
    wrong = (None, "its signature is wrong")
    if set(topics) != set(others):
        assert unseal(STRICT, SIGNER.node, others, sequence, envelope, published) == wrong
    if sequence != other_numbers[0]:
        assert unseal(STRICT, SIGNER.node, topics, other_numbers[0], envelope, published) == wrong
    if published != other_numbers[1]:
        assert unseal(STRICT, SIGNER.node, topics, sequence, envelope, other_numbers[1]) == wrong
    assert unseal(STRICT, SIGNER.node, topics, sequence, envelope + more, published) == wrong


def test_bytes_cannot_move_between_topics_and_content():
    """The bytes of an omitted topic must not count as the beginning of the content, nor the other way round."""
    envelope = SIGNER.seal((1, 2), 7, b"content", 0)
    moved = envelope[:-7] + (2).to_bytes(8, "big") + b"content"
    assert unseal(STRICT, SIGNER.node, 1, 7, moved, 0) == (None, "its signature is wrong")


@pytest.mark.parametrize("kind", ["signed", "certified"])
@pytest.mark.parametrize("mode", ["strict", "accept"])
def test_no_byte_of_an_envelope_can_be_changed(keys, kind, mode):
    signer = certified(keys) if kind == "certified" else SIGNER
    policy = SignaturePolicy(mode, keys["feed-1"].authorities if kind == "certified" else ())
    envelope = signer.seal((3, 4), 9, b"content", 5)
    assert unseal(policy, signer.node, (3, 4), 9, envelope, 5) == (b"content", None)
    for place in range(len(envelope)):
        for bits in (0x01, 0x02, 0x10, 0x80):
            changed = bytearray(envelope)
            changed[place] ^= bits
            content, reason = unseal(policy, signer.node, (3, 4), 9, bytes(changed), 5)
            if mode == "accept" and changed[0] == signing.PLAIN:
                # Where unsigned messages are accepted, a relay can remove a signature; "strict" prevents that.
                assert (content, reason) == (bytes(changed[1:]), None)
            else:
                assert content is None
                assert reason
        assert unseal(policy, signer.node, (3, 4), 9, envelope[:place], 5)[0] is None


@given(envelope=st.binary(max_size=300), head=st.sampled_from([b"", b"\1", b"\2", b"\2\1\x40", b"\2\xff\xff"]))
def test_random_bytes_are_refused_with_a_reason_and_never_raise(envelope, head):
    content, reason = unseal(STRICT, 1, 2, 3, head + envelope, 0)
    assert content is None
    assert reason


@pytest.mark.parametrize(
    "numbers", [(-1, 1, 1, 1), (1, -1, 1, 1), (1, 1, -1, 1), (1, 1, 1, -1), (2**64, 1, 1, 1), (1, 2**70, 1, 1)]
)
def test_numbers_that_no_signature_can_cover_are_refused(numbers):
    publisher, topic, sequence, published = numbers
    envelope = SIGNER.seal(1, 1, b"x", 1)
    publisher = SIGNER.node if publisher == 1 else publisher
    assert unseal(STRICT, publisher, topic, sequence, envelope, published)[0] is None


def test_a_node_cannot_publish_under_another_node_s_id():
    other = Signer(Ed25519PrivateKey.generate())
    assert unseal(STRICT, SIGNER.node, 1, 2, other.seal(1, 2, b"x", 0), 0) == (None, "its key is not its publisher's")


def test_each_policy_accepts_what_it_should():
    signed, plain = SIGNER.seal(1, 2, b"x", 0), b"\0x"
    assert unseal(SignaturePolicy("off"), SIGNER.node, 1, 2, b"x", 0) == (b"x", None)
    assert unseal(SignaturePolicy("off"), SIGNER.node, 1, 2, b"", 0) == (b"", None)
    assert unseal(SignaturePolicy("accept"), SIGNER.node, 1, 2, plain, 0) == (b"x", None)
    assert unseal(SignaturePolicy("accept"), SIGNER.node, 1, 2, signed, 0) == (b"x", None)
    assert unseal(SignaturePolicy("accept"), SIGNER.node, 1, 3, signed, 0) == (None, "its signature is wrong")
    assert unseal(STRICT, SIGNER.node, 1, 2, plain, 0) == (None, "it is not signed")
    assert content_of(plain) == b"x"
    with pytest.raises(InputError, match="`signatures` must be one of off, accept, strict, got 'on'"):
        SignaturePolicy("on")


def test_a_certified_message_names_its_publisher_at_every_hop(keys):
    policy, signer = SignaturePolicy("strict", keys["feed-1"].authorities), certified(keys)
    envelope = signer.seal(1, 2, b"x", 0)
    assert unseal(policy, keys["feed-1"].node, 1, 2, envelope, 0) == (b"x", None)
    assert publisher_name(policy, envelope) == "feed-1"
    assert content_of(envelope) == b"x"


def test_a_name_certified_by_another_authority_or_by_no_authority_is_refused(keys):
    policy = SignaturePolicy("strict", keys["feed-1"].authorities)
    stranger = certified(keys, "stranger")
    assert unseal(policy, stranger.node, 1, 2, stranger.seal(1, 2, b"x", 0), 0) == (
        None,
        "the certificate was issued by another authority",
    )
    bare = Signer(keys["feed-1"].private_key)
    assert unseal(policy, bare.node, 1, 2, bare.seal(1, 2, b"x", 0), 0) == (None, "its key has no certificate")
    with pytest.raises(InputError, match="not for this key"):
        Signer(KEY, keys["feed-1"].certificate_der)


def test_a_cached_certificate_is_refused_after_it_has_expired(keys):
    moment = [time.time()]
    policy, signer = SignaturePolicy("strict", keys["feed-1"].authorities, lambda: moment[0]), certified(keys)
    envelope = signer.seal(1, 2, b"x", 0)
    assert unseal(policy, signer.node, 1, 2, envelope, 0)[1] is None
    moment[0] += 366 * 86_400
    assert unseal(policy, signer.node, 1, 2, envelope, 0)[1].startswith("the certificate expired on")


def test_the_cache_of_certificates_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(signing, "CACHED_MAX", 3)
    make_authority(tmp_path / "authority")
    policy = None
    for number in range(8):
        issue(tmp_path / "authority", f"n{number}", tmp_path / f"n{number}")
        node = Keys.load(tmp_path / f"n{number}")
        policy = policy or SignaturePolicy("strict", node.authorities)
        envelope = Signer(node.private_key, node.certificate_der).seal(1, 2, b"x", 0)
        assert unseal(policy, node.node, 1, 2, envelope, 0)[1] is None
        assert publisher_name(policy, envelope) == f"n{number}"
    assert len(policy._cached) == 3
    for kind in range(50):
        assert unseal(policy, 1, 1, 1, b"\2\0\x08" + bytes([kind]) * 80, 0)[0] is None
    assert len(policy._cached) == 3
