"""TLS between two nodes, and the sentence that explains a refused connection."""

import asyncio
import shutil
import ssl
from dataclasses import replace
from datetime import timedelta

import pytest

from gossamer.live.security.authority import issue
from gossamer.live.security.certificates import peer_of
from gossamer.live.security.keys import Keys
from gossamer.live.security.tls_errors import why_refused
from tests.unit.live.security.conftest import NOW, YEAR_AGO


def meet(server_context, client_context, first=b""):
    """What each end of a connection learns about the other: its id and name, or why there is no connection."""

    async def shake(reader, writer, context):
        try:
            async with asyncio.timeout(10):
                await writer.start_tls(context, server_hostname="")
                # A TLS 1.3 client finishes its handshake before the server checks it; only the first read shows a refusal.
                writer.write(b"!")
                await reader.readexactly(1)
            return peer_of(writer.get_extra_info("ssl_object").getpeercert(binary_form=True))
        except (OSError, EOFError) as error:
            return why_refused(error)
        finally:
            writer.close()

    async def scenario():
        served = asyncio.get_running_loop().create_future()

        async def serve(reader, writer):
            served.set_result(await shake(reader, writer, server_context))

        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            if client_context is None:
                writer.write(first)
                called = None
            else:
                called = await shake(reader, writer, client_context)
            answer = await asyncio.wait_for(served, 10), called
            writer.close()
            return answer

    return asyncio.run(scenario())


def alerts(server_context, client_context):
    """The same without sockets: each end reads the TLS alert of the other."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        server_context.wrap_bio(to_server, to_client, server_side=True),
        client_context.wrap_bio(to_client, to_server),
    ]
    sentences = [None, None]
    for step in range(20):
        end = step % 2
        if sentences[end] is None:
            try:
                ends[end].do_handshake()
                ends[end].read(1)
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                pass
            except ssl.SSLError as error:
                sentences[end] = why_refused(error)
    return tuple(sentences)


CLOSED = "it closed the connection; it may not use TLS, or it refuses our certificate (another authority, or expired)"


def test_two_nodes_of_one_authority_learn_each_other_s_id_and_name(cluster):
    a, b = Keys.load(cluster / "a"), Keys.load(cluster / "b")
    assert meet(a.server_context(), b.client_context()) == ((b.node, "b"), (a.node, "a"))


def test_a_node_of_another_authority_is_refused_as_client_and_as_server(cluster):
    a, stranger = Keys.load(cluster / "a"), Keys.load(cluster / "stranger")
    for server, client in ((a, stranger), (stranger, a)):
        seen_by_server, seen_by_client = meet(server.server_context(), client.client_context())
        assert seen_by_server == CLOSED
        assert seen_by_client == "its certificate is of another authority; both nodes need keys from the same authority"
        assert "it does not trust our authority" in alerts(server.server_context(), client.client_context())[0]


def test_a_client_of_another_authority_that_checks_nothing_is_refused(cluster):
    careless = Keys.load(cluster / "stranger").client_context()
    careless.verify_mode = ssl.CERT_NONE
    server = Keys.load(cluster / "a").server_context()
    seen_by_server, seen_by_client = meet(server, careless)
    assert seen_by_server == "its certificate is of another authority; both nodes need keys from the same authority"
    assert seen_by_client == CLOSED
    assert "it does not trust our authority" in alerts(server, careless)[1]


def test_a_certificate_that_expires_while_its_node_runs_is_refused(cluster):
    expired = "its certificate has expired; issue a new one with `gossamer keys issue`"
    old, a = Keys.load(cluster / "old", now=YEAR_AGO), Keys.load(cluster / "a")
    assert meet(a.server_context(), old.client_context()) == (expired, CLOSED)
    assert meet(old.server_context(), a.client_context()) == (CLOSED, expired)
    assert "it says that our certificate has expired" in alerts(a.server_context(), old.client_context())[1]


def test_a_certificate_that_is_not_valid_yet_is_refused(cluster):
    early = Keys.load(cluster / "early", now=NOW + timedelta(days=31))
    assert (
        "not valid yet; are both clocks right?"
        in meet(Keys.load(cluster / "a").server_context(), early.client_context())[0]
    )


def test_a_client_without_a_certificate_is_refused(cluster):
    bare = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    bare.check_hostname = False
    bare.load_verify_locations(cluster / "a" / "authority.crt")
    server = Keys.load(cluster / "a").server_context()
    assert meet(server, bare) == ("it sent no certificate; it needs keys from our authority", CLOSED)
    assert alerts(server, bare)[1] == "it requires a certificate and we sent none"


def test_tls_12_is_refused_at_both_ends(cluster):
    a, b = Keys.load(cluster / "a"), Keys.load(cluster / "b")
    older = b.client_context()
    older.minimum_version = older.maximum_version = ssl.TLSVersion.TLSv1_2
    assert meet(a.server_context(), older) == ("it uses a TLS version older than 1.3", CLOSED)
    assert "TLS 1.3 is required" in alerts(a.server_context(), older)[1]
    older = a.server_context()
    older.minimum_version = older.maximum_version = ssl.TLSVersion.TLSv1_2
    assert isinstance(meet(older, b.client_context())[1], str)
    assert "TLS 1.3 is required" in alerts(older, b.client_context())[1]


@pytest.mark.parametrize(
    ("first", "sentence"),
    [
        (b"\x00\x00\x00\x20 the first bytes of a node without TLS", "it does not use TLS; is TLS off there?"),
        (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "it sent an HTTP request, not Gossamer over TLS"),
    ],
)
def test_a_client_with_another_protocol_is_refused(cluster, first, sentence):
    assert meet(Keys.load(cluster / "a").server_context(), None, first)[0] == sentence


def test_a_node_cannot_make_certificates_for_others(cluster, tmp_path):
    """Node b signs a certificate for "boss" and adds its own certificate to the chain."""
    fake = tmp_path / "fake"
    fake.mkdir()
    shutil.copy(cluster / "b" / "node.key", fake / "authority.key")
    shutil.copy(cluster / "b" / "node.crt", fake / "authority.crt")
    issue(fake, "boss", tmp_path / "boss", days=30)
    boss = Keys.load(tmp_path / "boss")
    with (tmp_path / "boss" / "node.crt").open("ab") as file:
        file.write((cluster / "b" / "node.crt").read_bytes())
    a = Keys.load(cluster / "a")
    seen_by_server, _ = meet(a.server_context(), replace(boss, authorities=a.authorities).client_context())
    assert "its certificate is not a node certificate" in seen_by_server


def test_nodes_of_two_authorities_connect_while_both_are_trusted(cluster, tmp_path):
    """The change of authority in docs/security.md: nodes trust both authorities for a while."""
    both = tmp_path / "both.crt"
    both.write_bytes(b"".join((cluster / name / "authority.crt").read_bytes() for name in ("authority", "other")))
    for name in ("a", "stranger"):
        shutil.copytree(cluster / name, tmp_path / name)
        shutil.copy(both, tmp_path / name / "authority.crt")
    a, stranger = Keys.load(tmp_path / "a"), Keys.load(tmp_path / "stranger")
    assert meet(a.server_context(), stranger.client_context()) == ((stranger.node, "stranger"), (a.node, "a"))
