"""Push and pull on a static overlay, as a run."""

import pytest

import gossamer
from gossamer.model.values.errors import InputError
from gossamer.model.values.run import Run, WorkloadLaw
from gossamer.protocols.contract.system import load
from gossamer.systems import find_dissemination

LAW = WorkloadLaw(nodes=60, topics=6, subscriptions="3", popularity="uniform")


def run(event_count=30, **parameters):
    return gossamer.execute(
        Run(
            system="spidercast",
            parameters={"random_coverage": 1},
            seed=1,
            workload=LAW,
            dissemination="push-pull",
            dissemination_parameters=parameters,
            event_count=event_count,
        )
    ).metrics


def test_a_run_without_an_end_spreads_messages_over_the_built_overlay():
    found = run()
    assert found["published"] == 30
    assert found["holders_reached"] > 0.99
    assert found["rounds_used_most"] <= found["rounds_limit_mean"] + 1


def test_pushes_to_neighbours_that_have_the_message_change_only_the_number_of_copies():
    once, repeated = run(), run(repeat_pushes=True)
    counts = ("data_messages_per_event", "data_messages_per_holder")
    assert all(repeated[name] > 1.5 * once[name] for name in counts)
    same = ("holders_reached", "rounds_used_mean", "calls_per_holder", "wakes_per_holder")
    assert [once[name] for name in same] == [repeated[name] for name in same]


def test_a_shorter_life_reaches_fewer_nodes():
    reached = [run(spare_rounds=spare)["holders_reached"] for spare in (0.0, 1.0, 4.0)]
    assert reached == sorted(reached)
    assert reached[0] < 0.9


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"age_rule": False}, "without `age_rule` messages never stop"),
        ({"quiet_calls": True}, "with `quiet_calls` nodes never stop to call"),
        ({"period_us": 1}, "period_us is 1"),
    ],
)
def test_a_run_that_would_never_end_is_refused(parameters, sentence):
    with pytest.raises(InputError, match=sentence):
        run(**parameters)


def test_the_registry_names_the_class_that_spreads_by_rounds():
    assert load(find_dissemination("push-pull").by_rounds).__name__ == "SpreadByRounds"
