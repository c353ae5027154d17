"""Making an authority and issuing keys to nodes."""

import os
import shutil

import pytest
from cryptography import x509

from gossamer.live.security.authority import issue, make_authority
from gossamer.live.security.keys import Keys
from gossamer.model.values.errors import InputError


def test_only_the_owner_can_read_the_files(cluster):
    for folder, names in (
        ("authority", {"authority.key", "authority.crt"}),
        ("a", {"node.key", "node.crt", "authority.crt"}),
    ):
        assert {path.name for path in (cluster / folder).iterdir()} == names
        assert (cluster / folder).stat().st_mode & 0o777 == 0o700
        for path in (cluster / folder).iterdir():
            assert path.stat().st_mode & 0o777 == 0o600


def test_keys_are_replaced_only_with_force(tmp_path):
    make_authority(tmp_path / "authority")
    before = (tmp_path / "authority" / "authority.key").read_bytes()
    with pytest.raises(InputError, match="exists; choose another folder, or set `force`"):
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


def test_no_certificate_outlives_its_authority(tmp_path):
    make_authority(tmp_path / "authority", days=10)
    with pytest.raises(InputError, match="before 365 days are over"):
        issue(tmp_path / "authority", "a", tmp_path / "a")
    assert not (tmp_path / "a").exists()
    certificate = issue(tmp_path / "authority", "a", tmp_path / "a", days=9)
    assert Keys.load(tmp_path / "a").certificate == certificate


@pytest.mark.parametrize("name", ["", "*", "a b", "-a", "a/b", "a" * 65, "ä", "a\n"])
def test_a_name_that_rules_or_shells_could_misread_is_refused(cluster, tmp_path, name):
    with pytest.raises(InputError, match="a node's name must be"):
        issue(cluster / "authority", name, tmp_path / "out")


def test_a_node_never_gets_the_authority_s_own_folder(cluster):
    with pytest.raises(InputError, match="authority's own folder"):
        issue(cluster / "authority", "a", cluster / "authority", force=True)


def test_an_authority_whose_files_do_not_match_issues_nothing(cluster, tmp_path):
    shutil.copytree(cluster / "authority", tmp_path / "mixed")
    shutil.copy(cluster / "other" / "authority.key", tmp_path / "mixed" / "authority.key")
    with pytest.raises(InputError, match="does not match the certificate"):
        issue(tmp_path / "mixed", "a", tmp_path / "out")
    with pytest.raises(InputError, match="gossamer keys init"):
        issue(tmp_path / "nowhere", "a", tmp_path / "out")


def test_a_new_node_trusts_all_authorities_in_the_authority_s_folder(cluster, tmp_path):
    shutil.copytree(cluster / "other", tmp_path / "other")
    with (tmp_path / "other" / "authority.crt").open("ab") as file:
        file.write((cluster / "authority" / "authority.crt").read_bytes())
    issue(tmp_path / "other", "new", tmp_path / "new")
    assert len(Keys.load(tmp_path / "new").authorities) == 2


def test_a_certificate_has_the_extensions_that_other_tools_expect(cluster):
    certificate = x509.load_pem_x509_certificate((cluster / "a" / "node.crt").read_bytes())
    extensions = certificate.extensions
    assert not extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert extensions.get_extension_for_class(x509.KeyUsage).value.digital_signature
    authority = Keys.load(cluster / "a").authorities[0]
    assert authority.extensions.get_extension_for_class(x509.BasicConstraints).value.path_length == 0
