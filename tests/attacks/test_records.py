"""Someone with an account on the machine of a node, or with its record."""

import os
import stat

from gossamer import Security, testing

SECRET, PAYLOAD = b"between us", b"the price is 107"


def recorded(path, **settings):
    """The record of a node that publishes on a topic with a secret."""

    async def scenario(network):
        security = Security(secrets={"prices": SECRET})
        stan = {"system": "stan", "security": security}
        async with network.node(record=path, **stan, **settings) as one:
            async with network.node(join=[one.address], **stan) as other, other.subscribe("prices") as messages:
                async with one.publisher("prices") as publisher, other.subscribe("open") as others:
                    await one.ready("prices")
                    await publisher.publish(b"encrypted")
                    assert (await anext(messages)).payload == b"encrypted"
                    async with one.publisher("open") as publisher:
                        await one.ready("open")
                        await publisher.publish(PAYLOAD)
                        assert (await anext(others)).payload == PAYLOAD

    testing.run(scenario, seed=1)
    return path.read_bytes()


def test_only_the_owner_can_read_a_record(tmp_path):
    path = tmp_path / "node.record"
    path.write_bytes(b"was here before")
    path.chmod(0o644)
    before = os.umask(0)
    try:
        content = recorded(path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert SECRET in content
    assert PAYLOAD in content


def test_a_record_without_content_has_neither_secrets_nor_payloads_and_is_audited(tmp_path, gossamer):
    path = tmp_path / "node.record"
    content = recorded(path, record_content=False)
    assert SECRET not in content
    assert PAYLOAD not in content
    code, said, _ = gossamer("replay", path)
    assert code == 0
    assert "recorded without content: it is audited and not replayed" in said
    assert "Audit" in said
