"""How often a newcomer is introduced."""

from gossamer.live.transport.newcomers import INTERVAL_US, NEWCOMERS_MAX, Newcomers


def test_a_newcomer_is_introduced_once_in_an_interval():
    newcomers = Newcomers()
    assert [newcomers.may_introduce(9, now_us) for now_us in (5, 6, INTERVAL_US + 4, INTERVAL_US + 5)] == [
        True,
        False,
        False,
        True,
    ]
    assert newcomers.may_introduce(8, 6)


def test_the_number_of_newcomers_that_a_node_remembers_is_bounded():
    newcomers = Newcomers()
    assert all(newcomers.may_introduce(node, 0) for node in range(2 * NEWCOMERS_MAX))
    assert len(newcomers.introduced_us) == NEWCOMERS_MAX
