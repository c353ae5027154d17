"""Reading a node's keys from a folder."""

import shutil

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from gossamer.live.security.certificates import peer_of
from gossamer.live.security.keys import Keys, identity_file, show
from gossamer.model.values.errors import InputError, PeerError
from gossamer.model.values.ids import identity


def copied(cluster, tmp_path, **files):
    """A copy of the folder of node a, with some of its files replaced."""
    folder = tmp_path / "copy"
    shutil.copytree(cluster / "a", folder)
    for name, source in files.items():
        shutil.copy(source, folder / name.replace("_", "."))
    return folder


def test_a_node_s_id_is_the_hash_of_its_public_key(cluster):
    keys = Keys.load(cluster / "a")
    public = keys.private_key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    assert (keys.name, keys.node) == ("a", identity(public))
    assert peer_of(keys.certificate_der) == (keys.node, "a")


def test_each_fault_of_a_folder_is_reported_in_one_sentence(cluster, tmp_path):
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
        "is not a node certificate",
        node_crt=cluster / "authority" / "authority.crt",
        node_key=cluster / "authority" / "authority.key",
    )
    with pytest.raises(InputError, match=r"there is no folder .*`gossamer keys issue`"):
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


def test_an_identity_file_is_made_once_and_then_read(tmp_path):
    node, key = identity_file(tmp_path / "new" / "identity.key")
    again, same = identity_file(tmp_path / "new" / "identity.key")
    assert (node, key.private_bytes_raw()) == (again, same.private_bytes_raw())
    assert (tmp_path / "new" / "identity.key").stat().st_mode & 0o777 == 0o600
    assert identity_file(tmp_path / "another.key")[0] != node


def test_a_damaged_identity_file_is_refused_and_not_overwritten(tmp_path):
    (tmp_path / "identity.key").write_bytes(b"-----BEGIN PRIVATE")
    with pytest.raises(InputError, match=r"identity\.key is damaged"):
        identity_file(tmp_path / "identity.key")
    assert (tmp_path / "identity.key").read_bytes() == b"-----BEGIN PRIVATE"


@pytest.mark.parametrize("certificate", [b"", b"hello", b"\x30\x03\x02\x01\x05"])
def test_an_unreadable_certificate_is_a_peer_error(certificate):
    with pytest.raises(PeerError, match="cannot be read"):
        peer_of(certificate)


def test_a_summary_names_the_kind_the_node_and_the_fault(cluster):
    node, authority, old = (show(cluster / name) for name in ("a", "authority", "old"))
    assert (node.kind, node.name, node.fault) == ("node", "a", None)
    assert node.id == f"{Keys.load(cluster / 'a').node:016x}"
    assert (authority.kind, authority.fault) == ("authority", None)
    assert authority.name.startswith("Gossamer authority ")
    assert old.days_left == 0
    assert old.fault.startswith("the certificate expired on")
