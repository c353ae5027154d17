"""What the members of a topic see does not depend on what else anyone follows or publishes: not one message, not one time."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.protocols.delivery import apart
from gossamer.protocols.delivery.announcements import Announce
from tests.attacks.worlds import observe


@settings(max_examples=8, deadline=None)
@given(
    seed=st.integers(0, 2**32), world=st.integers(1, 4), dissemination=st.sampled_from(["tree", "flood", "push-pull"])
)
def test_two_worlds_that_differ_beside_a_topic_look_the_same_to_its_members(seed, world, dissemination):
    alone = observe(seed, 0, dissemination=dissemination)
    assert observe(seed, world, dissemination=dissemination) == alone


def test_the_observer_sees_probes_dissemination_and_recovery():
    kinds = {row[3] if isinstance(row[3], type) else type(row[3]) for row in observe(1, 1, nodes=16) if len(row) > 2}
    assert {"Probe", "ProbeReply", "Collect", "Hold", "Held", "TreeData"} <= {kind.__name__ for kind in kinds}
    assert Announce in kinds


@pytest.mark.parametrize("seed", [1, 2])
def test_a_timer_that_topics_share_is_caught(seed, monkeypatch):
    """The test above can fail: with a delay that depends on the number of topics, the two worlds differ."""
    carry = apart.ApartByTopic._carry

    def shared(self, topic, actions, out):
        later = [
            type(each)(each.at_us + len(self._open), each.timer) if isinstance(each, apart.SetTimer) else each
            for each in actions
        ]
        carry(self, topic, later, out)

    alone = observe(seed, 0)
    monkeypatch.setattr(apart.ApartByTopic, "_carry", shared)
    assert observe(seed, 1) != alone
    assert observe(seed, 1) != observe(seed, 0)
