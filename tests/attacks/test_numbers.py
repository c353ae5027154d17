"""A subscriber that reads the numbers of the messages that it gets."""

from itertools import pairwise

import gossamer.testing
from gossamer.live.transport.numbers import SequenceNumbers


def numbers_on_one_topic(elsewhere, system="stan"):
    """The sequence numbers of ten messages on one topic, between which so many were published on another."""

    async def scenario(network):
        async with network.node(system=system) as one, network.node(system=system, join=[one.address]) as other:
            async with other.subscribe("prices") as messages:
                async with one.publisher("prices") as prices, one.publisher("elsewhere") as hidden:
                    await one.ready("prices")
                    found = []
                    for _ in range(10):
                        for _ in range(elsewhere):
                            await hidden.publish(b"x")
                        await prices.publish(b"y")
                        found.append((await anext(messages)).sequence)
                    return found

    found = gossamer.testing.run(scenario, seed=1)
    return [later - sooner for sooner, later in pairwise(found)]


def test_numbers_on_a_topic_do_not_show_what_was_published_on_others():
    assert numbers_on_one_topic(0) == numbers_on_one_topic(3) == [1] * 9


def test_a_system_that_discloses_interests_counts_over_all_topics():
    """The attack works where it may."""
    assert numbers_on_one_topic(3, "spidercast") == [4] * 9


def test_numbers_of_each_topic_go_on_after_a_restart_also_if_the_clock_went_back(tmp_path):
    base = {4: 2**50, 5: 2**55}.__getitem__
    first = SequenceNumbers(tmp_path / "sequence", base)
    before = [first.next(1_000, 4), first.next(1_000, 4), first.next(1_000, 5)]
    assert [number - base(topic) for number, topic in zip(before, (4, 4, 5), strict=True)] == [1_001, 1_002, 1_001]
    second = SequenceNumbers(tmp_path / "sequence", base)
    assert second.was_used(4, before[1])
    assert not second.was_used(5, before[1])
    assert second.next(500, 4) > before[1]
    assert second.next(500, 5) > before[2]
