"""Addresses: HOST:PORT."""

import pytest

from gossamer import InputError
from gossamer.live.transport.addresses import is_loopback, join_address, split_address


@pytest.mark.parametrize(
    ("text", "parts"), [("127.0.0.1:7400", ("127.0.0.1", 7400)), ("[::1]:0", ("::1", 0)), ("host:1", ("host", 1))]
)
def test_an_address_is_split_and_joined_without_loss(text, parts):
    assert split_address(text) == parts
    assert join_address(*parts) == text


@pytest.mark.parametrize(
    "text", ["", "host", "host:", ":1", "host:x", "host:65536", "host:-1", "host:²", "h" * 255 + ":1"]
)
def test_a_wrong_address_is_an_error_that_names_the_field(text):
    with pytest.raises(InputError, match="`join` must be HOST:PORT"):
        split_address(text, "`join`")


@pytest.mark.parametrize(
    ("host", "answer"), [("localhost", True), ("127.9.9.9", True), ("::1", True), ("0.0.0.0", False), ("h", False)]
)
def test_loopback_hosts_are_those_that_other_machines_cannot_reach(host, answer):
    assert is_loopback(host) is answer
