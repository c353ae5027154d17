"""Nodes with a wrong secret, with none, and nodes that relay what they cannot read."""

import asyncio
import logging

import pytest

from gossamer import Security, testing
from gossamer.live.security.payloads import PayloadCipher
from gossamer.protocols.contract.messages import data_in

RIGHT = {"prices": b"between us"}


def publish(caplog, secrets_of_other, wait=60):
    """Publish on a topic with a secret to a node with these secrets: what that node got, and what both logged."""

    async def scenario(network):
        one = network.node(system="stan", security=Security(secrets=RIGHT))
        async with one:
            other = network.node(system="stan", join=[one.address], security=Security(secrets=secrets_of_other))
            async with other, other.subscribe("prices") as messages, one.publisher("prices") as publisher:
                await asyncio.sleep(wait / 2)
                await publisher.publish(b"107")
                await asyncio.sleep(wait / 2)
                counts = [node.status().counts for node in (one, other)]
                return messages.waiting, [{**each} for each in counts]

    with caplog.at_level(logging.WARNING, logger="gossamer.live"):
        return testing.run(scenario, seed=1)


def lonely(caplog):
    return [each for each in caplog.messages if "no other node with the same secret" in each]


def test_the_right_secret_gets_the_message_and_nothing_is_logged(caplog):
    waiting, _ = publish(caplog, RIGHT)
    assert waiting == 1
    assert not lonely(caplog)


@pytest.mark.parametrize("secrets", [{}, {"prices": b"another"}, {"other": b"between us"}])
def test_a_wrong_secret_gets_no_message_no_hint_and_one_line_in_its_own_log(caplog, secrets):
    waiting, counts = publish(caplog, secrets)
    assert waiting == 0
    # One line for each node that has a secret for the topic.
    assert len(lonely(caplog)) == 1 + ("prices" in secrets)
    for each in counts:
        assert not [reason for reason in each if "misbehaved" in reason or "not hold" in reason]


def test_a_node_without_tls_and_secrets_says_at_its_start_that_it_protects_nothing(caplog):
    async def scenario(network):
        async with network.node(system="stan"), network.node(system="stan", security=Security(secrets=RIGHT)):
            pass
        async with network.node(system="spidercast"):
            pass

    with caplog.at_level(logging.WARNING, logger="gossamer.live"):
        testing.run(scenario, seed=1)
    assert len([each for each in caplog.messages if "hides nothing" in each]) == 1


def test_what_travels_on_a_topic_with_a_secret_is_encrypted(monkeypatch):
    from gossamer.live.transport.driver import LiveDriver

    payloads = []
    sending = LiveDriver._send

    def watch(self, to, addresses, messages):
        payloads.extend(data.payload for message in messages for data in data_in(message))
        sending(self, to, addresses, messages)

    monkeypatch.setattr(LiveDriver, "_send", watch)

    async def scenario(network):
        stan = {"system": "stan", "security": Security(secrets=RIGHT)}
        async with network.node(**stan) as one, network.node(join=[one.address], **stan) as other:
            async with other.subscribe("prices") as secret, other.subscribe("open") as plain:
                for topic in ("prices", "open"):
                    await one.publish(topic, b"warm up")
                    await one.ready(topic)
                    await one.publish(topic, b"the price is 107")
                return [[(await anext(messages)).payload for _ in range(1)] for messages in (secret, plain)]

    testing.run(scenario, seed=1)
    assert any(b"107" in payload for payload in payloads), "the topic without a secret"
    assert any(len(payload) == 16 + 28 for payload in payloads)


def test_a_payload_that_was_changed_moved_or_made_without_the_secret_is_not_read():
    cipher = PayloadCipher(lambda topic: b"s" if topic == 4 else b"", bytes)
    sealed = cipher.encrypt(4, 1, 7, b"107")
    assert cipher.decrypt(4, 1, 7, sealed) == b"107"
    changed = sealed[:-1] + bytes([sealed[-1] ^ 1])
    other = PayloadCipher(lambda topic: b"t", bytes)
    for attempt in ((4, 1, 7, changed), (4, 2, 7, sealed), (4, 1, 8, sealed), (4, 1, 7, b"107"), (4, 1, 7, b"")):
        with pytest.raises(ValueError, match="not encrypted"):
            cipher.decrypt(*attempt)
    with pytest.raises(ValueError, match="not encrypted"):
        other.decrypt(4, 1, 7, sealed)
    assert cipher.encrypt(5, 1, 7, b"open") == b"open"


def test_a_topic_with_two_secrets_is_refused(gossamer, tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(b"secret " + name.encode())
    code, _, said = gossamer(
        "sub", "prices", "--join", "127.0.0.1:9", "--system", "stan", "--secret", "prices=a", "--secret", "prices=b"
    )
    assert code == 2
    assert "two secrets" in said
