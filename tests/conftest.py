"""Fixtures that several rooms share, and one Hypothesis profile: repeatable, and patient on slow machines."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "gossamer", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("gossamer")

REAL_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture
def real_data() -> Path:
    """The folder of real data; a test that needs it is skipped where it is not."""
    if not REAL_DATA.is_dir():
        pytest.skip("the real data sets are not on this machine")
    return REAL_DATA
