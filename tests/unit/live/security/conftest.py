"""Keys of a small cluster, made once for each test file."""

from datetime import UTC, datetime, timedelta

import pytest

from gossamer.live.security.authority import issue, make_authority

NOW = datetime.now(UTC)
YEAR_AGO = NOW - timedelta(days=365)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """An authority with nodes a, b, old (expired) and early (not valid yet), and a stranger with another authority."""
    root = tmp_path_factory.mktemp("cluster")
    make_authority(root / "authority", now=YEAR_AGO)
    for name in ("a", "b"):
        issue(root / "authority", name, root / name)
    issue(root / "authority", "old", root / "old", days=30, now=YEAR_AGO)
    issue(root / "authority", "early", root / "early", now=NOW + timedelta(days=30))
    make_authority(root / "other")
    issue(root / "other", "stranger", root / "stranger")
    return root
