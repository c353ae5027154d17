"""Keys on disk, TLS between nodes on loopback, and the commands that make them."""

import asyncio
import json
import os
import shutil
import ssl
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from gossamer.live.security.keys import (
    Keys,
    identity_file,
    issue,
    make_authority,
    peer_of,
    why_refused,
)
from gossamer.model.values.errors import InputError, PeerError
from gossamer.model.values.ids import identity

NOW = datetime.now(UTC)
YEAR_AGO = NOW - timedelta(days=365)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """An authority of long ago with nodes a, b and old (expired), and a stranger of another authority."""
    root = tmp_path_factory.mktemp("cluster")
    make_authority(root / "authority", now=YEAR_AGO)
    for name in ("a", "b"):
        issue(root / "authority", name, root / name)
    issue(root / "authority", "old", root / "old", days=30, now=YEAR_AGO)
    issue(root / "authority", "early", root / "early", now=NOW + timedelta(days=30))
    make_authority(root / "other")
    issue(root / "other", "stranger", root / "stranger")
    return root


def copied(cluster, tmp_path, **files):
    """The folder of node a, with some of its files from elsewhere."""
    folder = tmp_path / "copy"
    shutil.copytree(cluster / "a", folder)
    for name, source in files.items():
        shutil.copy(source, folder / name.replace("_", "."))
    return folder


# Files.


def test_a_node_is_known_by_its_name_and_by_the_hash_of_its_public_key(cluster):
    keys = Keys.load(cluster / "a")
    public = keys.private_key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    assert (keys.name, keys.node) == ("a", identity(public))
    assert peer_of(keys.certificate_der) == (keys.node, "a")


def test_nobody_but_the_owner_can_read_what_is_written(cluster):
    for folder, names in (
        ("authority", {"authority.key", "authority.crt"}),
        ("a", {"node.key", "node.crt", "authority.crt"}),
    ):
        assert {path.name for path in (cluster / folder).iterdir()} == names
        assert (cluster / folder).stat().st_mode & 0o777 == 0o700
        for path in (cluster / folder).iterdir():
            assert path.stat().st_mode & 0o777 == 0o600


def test_keys_are_never_replaced_unless_asked(tmp_path):
    make_authority(tmp_path / "authority")
    before = (tmp_path / "authority" / "authority.key").read_bytes()
    with pytest.raises(InputError, match="exists; choose another folder, or --force"):
        make_authority(tmp_path / "authority")
    assert (tmp_path / "authority" / "authority.key").read_bytes() == before
    make_authority(tmp_path / "authority", force=True)
    assert (tmp_path / "authority" / "authority.key").read_bytes() != before


def test_a_write_that_fails_leaves_the_old_keys_and_nothing_else(tmp_path, monkeypatch):
    make_authority(tmp_path / "authority")
    before = {path.name: path.read_bytes() for path in (tmp_path / "authority").iterdir()}

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        make_authority(tmp_path / "authority", force=True)
    assert {path.name: path.read_bytes() for path in (tmp_path / "authority").iterdir()} == before


def test_an_authority_signs_for_nobody_beyond_its_own_end(tmp_path):
    make_authority(tmp_path / "authority", days=10)
    with pytest.raises(InputError, match="before 365 days are over"):
        issue(tmp_path / "authority", "a", tmp_path / "a")
    assert not (tmp_path / "a").exists()
    issue(tmp_path / "authority", "a", tmp_path / "a", days=9)


@pytest.mark.parametrize("name", ["", "*", "a b", "-a", "a/b", "a" * 65, "ä", "a\n"])
def test_a_name_that_rules_or_shells_could_misread_is_refused(cluster, tmp_path, name):
    with pytest.raises(InputError, match="a node's name must be"):
        issue(cluster / "authority", name, tmp_path / "out")


def test_a_node_never_gets_the_authoritys_own_folder(cluster):
    with pytest.raises(InputError, match="authority's own folder"):
        issue(cluster / "authority", "a", cluster / "authority", force=True)


def test_each_thing_wrong_with_a_folder_is_one_sentence(cluster, tmp_path):
    def load(sentence, **files):
        shutil.rmtree(tmp_path / "copy", ignore_errors=True)
        folder = copied(cluster, tmp_path, **files)
        with pytest.raises(InputError, match=sentence):
            Keys.load(folder)

    damaged = tmp_path / "damaged"
    damaged.write_bytes((cluster / "a" / "node.crt").read_bytes()[:100])
    curve = tmp_path / "curve"
    curve.write_bytes(
        generate_private_key(SECP256R1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    )
    load("node.key does not match", node_key=cluster / "b" / "node.key")
    load("issued by another authority", authority_crt=cluster / "other" / "authority.crt")
    load("node.crt is damaged or is not a certificate", node_crt=damaged)
    load("node.key is damaged or is not a private key", node_key=damaged)
    load("node.key is not an Ed25519 key", node_key=curve)
    load(
        "is not one for a node",
        node_crt=cluster / "authority" / "authority.crt",
        node_key=cluster / "authority" / "authority.key",
    )
    with pytest.raises(InputError, match=r"there is no folder .*gossamer keys issue NAME"):
        Keys.load(tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"expired on .*gossamer keys issue"):
        Keys.load(cluster / "old")
    with pytest.raises(InputError, match="not valid before"):
        Keys.load(cluster / "early")
    (tmp_path / "copy" / "node.key").unlink()
    with pytest.raises(InputError, match=r"there is no file .*node.key"):
        Keys.load(tmp_path / "copy")
    (tmp_path / "copy" / "node.key").mkdir()
    with pytest.raises(InputError, match=r"cannot read .*node.key: Is a directory"):
        Keys.load(tmp_path / "copy")


def test_an_authority_whose_parts_do_not_match_issues_nothing(cluster, tmp_path):
    shutil.copytree(cluster / "authority", tmp_path / "mixed")
    shutil.copy(cluster / "other" / "authority.key", tmp_path / "mixed" / "authority.key")
    with pytest.raises(InputError, match="does not match the certificate"):
        issue(tmp_path / "mixed", "a", tmp_path / "out")
    with pytest.raises(InputError, match="gossamer keys init"):
        issue(tmp_path / "nowhere", "a", tmp_path / "out")


def test_an_identity_is_made_once_and_kept(tmp_path):
    node, key = identity_file(tmp_path / "new" / "identity.key")
    again, same = identity_file(tmp_path / "new" / "identity.key")
    assert (node, key.private_bytes_raw()) == (again, same.private_bytes_raw())
    assert (tmp_path / "new" / "identity.key").stat().st_mode & 0o777 == 0o600
    assert identity_file(tmp_path / "another.key")[0] != node


def test_a_damaged_identity_is_refused_and_left_as_it_is(tmp_path):
    (tmp_path / "identity.key").write_bytes(b"-----BEGIN PRIVATE")
    with pytest.raises(InputError, match=r"identity\.key is damaged"):
        identity_file(tmp_path / "identity.key")
    assert (tmp_path / "identity.key").read_bytes() == b"-----BEGIN PRIVATE"


@pytest.mark.parametrize("certificate", [b"", b"hello", b"\x30\x03\x02\x01\x05"])
def test_a_certificate_that_cannot_be_read_is_the_peers_fault(certificate):
    with pytest.raises(PeerError, match="cannot be read"):
        peer_of(certificate)


# TLS.


def meet(server_context, client_context, first=b""):
    """What each end of a connection learns of the other: its id and name, or a sentence on why there is no link."""

    async def shake(reader, writer, context):
        try:
            async with asyncio.timeout(10):
                await writer.start_tls(context, server_hostname="")
                # A client of TLS 1.3 is done before it was judged; only the first read tells.
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


def told(server_context, client_context):
    """The same without sockets: what each end says where the other's last word arrives."""
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


CLOSED = "it ended the connection; it may have no TLS, or refuse our certificate: another authority, or expired"


def test_two_nodes_of_one_authority_learn_each_others_id_and_name(cluster):
    a, b = Keys.load(cluster / "a"), Keys.load(cluster / "b")
    assert meet(a.server_context(), b.client_context()) == ((b.node, "b"), (a.node, "a"))


def test_a_node_of_another_authority_is_refused_by_whoever_it_calls_or_answers(cluster):
    a, stranger = Keys.load(cluster / "a"), Keys.load(cluster / "stranger")
    for server, client in ((a, stranger), (stranger, a)):
        seen_by_server, seen_by_client = meet(server.server_context(), client.client_context())
        assert seen_by_server == CLOSED
        assert seen_by_client == "its certificate is of another authority; both ends need keys from the same one"
        assert "it does not trust our authority" in told(server.server_context(), client.client_context())[0]


def test_a_caller_of_another_authority_who_trusts_anybody_is_refused_all_the_same(cluster):
    careless = Keys.load(cluster / "stranger").client_context()
    careless.verify_mode = ssl.CERT_NONE
    server = Keys.load(cluster / "a").server_context()
    seen_by_server, seen_by_client = meet(server, careless)
    assert seen_by_server == "its certificate is of another authority; both ends need keys from the same one"
    assert seen_by_client == CLOSED
    assert "it does not trust our authority" in told(server, careless)[1]


def test_a_certificate_that_expires_while_its_node_runs_is_refused(cluster):
    expired = "its certificate has expired; issue a new one with: gossamer keys issue"
    old, a = Keys.load(cluster / "old", now=YEAR_AGO), Keys.load(cluster / "a")
    assert meet(a.server_context(), old.client_context()) == (expired, CLOSED)
    assert meet(old.server_context(), a.client_context()) == (CLOSED, expired)
    assert "it says that our certificate has expired" in told(a.server_context(), old.client_context())[1]


def test_a_certificate_of_the_future_is_refused(cluster):
    early = Keys.load(cluster / "early", now=NOW + timedelta(days=31))
    assert (
        "not valid yet; are both clocks right?"
        in meet(Keys.load(cluster / "a").server_context(), early.client_context())[0]
    )


def test_a_caller_without_a_certificate_is_refused(cluster):
    bare = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    bare.check_hostname = False
    bare.load_verify_locations(cluster / "a" / "authority.crt")
    server = Keys.load(cluster / "a").server_context()
    assert meet(server, bare) == ("it showed no certificate; it needs keys of our authority", CLOSED)
    assert told(server, bare)[1] == "it wants a certificate and we showed none"


def test_tls_12_is_refused_at_both_ends(cluster):
    a, b = Keys.load(cluster / "a"), Keys.load(cluster / "b")
    older = b.client_context()
    older.minimum_version = older.maximum_version = ssl.TLSVersion.TLSv1_2
    assert meet(a.server_context(), older) == ("it speaks a TLS older than 1.3", CLOSED)
    assert "TLS 1.3 is needed" in told(a.server_context(), older)[1]
    older = a.server_context()
    older.minimum_version = older.maximum_version = ssl.TLSVersion.TLSv1_2
    assert isinstance(meet(older, b.client_context())[1], str)
    assert "TLS 1.3 is needed" in told(older, b.client_context())[1]


@pytest.mark.parametrize(
    ("first", "sentence"),
    [
        (b"\x00\x00\x00\x20 what a node without TLS would send", "it does not speak TLS; is TLS off there?"),
        (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "it speaks HTTP, not Gossamer over TLS"),
    ],
)
def test_a_caller_that_speaks_something_else_is_refused(cluster, first, sentence):
    assert meet(Keys.load(cluster / "a").server_context(), None, first)[0] == sentence


def test_a_node_cannot_make_certificates_for_others(cluster, tmp_path):
    """Node b signs a certificate for "boss" and shows its own as a link in the chain."""
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
    assert "its certificate is not one for a node" in seen_by_server


def test_while_authorities_change_nodes_of_both_meet(cluster, tmp_path):
    """The rotation of docs/security.md: both authorities are trusted for a while."""
    both = tmp_path / "both.crt"
    both.write_bytes(b"".join((cluster / name / "authority.crt").read_bytes() for name in ("authority", "other")))
    for name in ("a", "stranger"):
        shutil.copytree(cluster / name, tmp_path / name)
        shutil.copy(both, tmp_path / name / "authority.crt")
    a, stranger = Keys.load(tmp_path / "a"), Keys.load(tmp_path / "stranger")
    assert meet(a.server_context(), stranger.client_context()) == ((stranger.node, "stranger"), (a.node, "a"))


def test_an_issued_folder_trusts_all_that_the_authoritys_folder_names(cluster, tmp_path):
    shutil.copytree(cluster / "other", tmp_path / "other")
    with (tmp_path / "other" / "authority.crt").open("ab") as file:
        file.write((cluster / "authority" / "authority.crt").read_bytes())
    issue(tmp_path / "other", "new", tmp_path / "new")
    assert len(Keys.load(tmp_path / "new").authorities) == 2


# Commands.


def test_the_commands_make_keys_that_load_and_show(gossamer, tmp_path):
    assert gossamer("keys", "init", "authority")[0] == 0
    code, out, _ = gossamer("keys", "issue", "feed-1", "--authority", "authority", "--out", "keys/feed-1", "--json")
    assert code == 0
    made = json.loads(out)
    keys = Keys.load(tmp_path / "keys" / "feed-1")
    assert (made["kind"], made["name"], made["id"], made["fault"]) == ("node", "feed-1", f"{keys.node:016x}", None)
    assert made["days_left"] == 364
    assert json.loads(gossamer("keys", "show", "keys/feed-1", "--json")[1]) == made
    assert "feed-1" in gossamer("keys", "show", "keys/feed-1")[1]
    shown = json.loads(gossamer("keys", "show", "authority", "--json")[1])
    assert (shown["kind"], shown["fault"]) == ("authority", None)


def test_show_says_what_is_wrong_with_keys(gossamer, cluster):
    shown = json.loads(gossamer("keys", "show", cluster / "old", "--json")[1])
    assert shown["days_left"] == 0
    assert shown["fault"].startswith("the certificate expired on")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("issue", "a", "--authority", "nowhere", "--out", "out"), "there is no file nowhere/authority.key"),
        (("issue", "a b", "--authority", "authority", "--out", "out"), "a node's name must be"),
        (("issue", "a", "--authority", "authority", "--out", "out", "--days", "0"), "days must lie between"),
        (("issue", "a", "--authority", "authority", "--out", "file"), "file is not a folder"),
        (("init", "authority"), "exists; choose another folder"),
        (("init", "new", "--days", "999999"), "days must lie between"),
        (("show", "nowhere"), "there is no folder nowhere"),
        (("show", "."), "there is no file authority.crt"),
    ],
)
def test_a_bad_flag_is_one_sentence_and_exit_code_2(gossamer, tmp_path, arguments, sentence):
    assert gossamer("keys", "init", "authority")[0] == 0
    (tmp_path / "file").write_text("")
    code, _, err = gossamer("keys", *arguments)
    assert code == 2
    assert sentence in err
    assert err.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_certificate_holds_what_other_tools_expect(cluster):
    certificate = x509.load_pem_x509_certificate((cluster / "a" / "node.crt").read_bytes())
    extensions = certificate.extensions
    assert not extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert extensions.get_extension_for_class(x509.KeyUsage).value.digital_signature
    authority = Keys.load(cluster / "a").authorities[0]
    assert authority.extensions.get_extension_for_class(x509.BasicConstraints).value.path_length == 0
