"""When a node sends heartbeats, asks a silent neighbour for an answer, and takes it for dead."""

import pytest

from gossamer.model.values.time import SECOND_US
from gossamer.systems.spidercast.keep_alive import KeepAlive
from gossamer.systems.spidercast.parameters import Departures, Timing
from gossamer.systems.spidercast.task import Neighbour, NeighbourTask, Rule

LIVE = Timing(keep_alive_us=7 * SECOND_US // 2, suspect_after=6)


def start(timing):
    """One neighbour, 7, that was added at second 10."""
    task = NeighbourTask(Rule.COVER_GREEDILY, 3, 5, Departures())
    neighbour = Neighbour(1, 1, (), (1, 1))
    neighbour.spoken_us = neighbour.told_us = 10 * SECOND_US
    task.neighbours[7] = neighbour
    keep_alive = KeepAlive(timing)
    keep_alive.start(10 * SECOND_US)
    return keep_alive, task


def turns(keep_alive, task, seconds, each=None):
    """What happens to the neighbour in the turns of some seconds: the second since the start, and what is done."""
    found = []
    for number in range(1, int(seconds * SECOND_US) // keep_alive.period_us + 1):
        now_us = 10 * SECOND_US + number * keep_alive.period_us
        if each is not None:
            each(keep_alive, now_us)
        keep_alive.begin_turn(now_us)
        turn = keep_alive.turn(task, now_us)
        done = [name for name in ("dead", "told", "asked") if getattr(turn, name)]
        if "told" in done or "asked" in done:
            # The node machine notes every message.
            task.neighbours[7].spoken_us = task.neighbours[7].told_us = now_us
        found += [((now_us - 10 * SECOND_US) / SECOND_US, name) for name in done]
        keep_alive.end_turn()
        if "dead" in done:
            break
    return found


def test_without_keep_alive_every_neighbour_gets_a_heartbeat_in_every_period_and_is_dead_after_three():
    assert turns(*start(Timing()), 10) == [(1, "told"), (2, "told"), (3, "dead")]


def test_a_neighbour_that_was_sent_nothing_for_a_while_gets_a_heartbeat():
    def hear(keep_alive, now_us):
        keep_alive.heard[7] = now_us

    assert turns(*start(LIVE), 13, hear) == [(3.5, "told"), (7, "told"), (10.5, "told")]


def test_a_neighbour_that_is_sent_other_messages_gets_a_heartbeat_four_times_more_rarely():
    def talk(keep_alive, now_us):
        keep_alive.heard[7] = keep_alive.spoken[7] = now_us

    assert turns(*start(LIVE), 40, talk) == [(14, "told"), (28, "told")]


def test_a_silent_neighbour_is_asked_twice_and_dead_after_six_seconds():
    done = turns(*start(LIVE), 10)
    assert [row for row in done if row[1] != "told"] == [(4.5, "asked"), (5, "asked"), (5.5, "dead")]


@pytest.mark.parametrize("answers_at", [4.5, 5])
def test_a_neighbour_that_answers_lives(answers_at):
    def answer(keep_alive, now_us):
        if now_us == 10 * SECOND_US + int(answers_at * SECOND_US):
            keep_alive.heard[7] = now_us

    done = turns(*start(LIVE), 9, answer)
    assert not [row for row in done if row[1] == "dead"]


def test_late_turns_of_a_busy_node_count_for_less():
    keep_alive, task = start(LIVE)
    now_us = 10 * SECOND_US
    for _ in range(20):
        now_us += 3 * SECOND_US
        keep_alive.begin_turn(now_us)
        assert keep_alive.turn(task, now_us).dead == []
        keep_alive.end_turn()
