"""A network of 24 processes under faults: no message is missing in silence, twice or out of order. Slow: takes minutes."""

import pytest

from tests.live.chaos.__main__ import command, report, run

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

SECONDS = 300.0


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_under_faults_every_message_is_delivered_once_and_in_order_or_reported(tmp_path, seed):
    verdict = run(tmp_path, seed, SECONDS)
    assert verdict.is_clean, f"{report(verdict)}\nrepeat: {command(seed, SECONDS)}"
    # The run had the faults that it is meant to have.
    assert min(verdict.faults[kind] for kind in ("killed", "cleanly stopped", "paused")) >= 20
    assert verdict.delivered > 50_000
    assert verdict.counts["reader too slow"] > 0
