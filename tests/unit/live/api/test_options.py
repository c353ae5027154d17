"""The options of a node: groups, and deprecated keywords."""

import json
import warnings

import pytest

from gossamer import InputError, Node, PlanEntry, Security, SyncNode

PLAN = {"n0": {"topics": ["t"], "peers": ["127.0.0.1:1"]}, "127.0.0.1:1": {"topics": ["t"], "peers": ["n0"]}}


@pytest.fixture
def plan(tmp_path):
    path = tmp_path / "peers.json"
    path.write_text(json.dumps(PLAN))
    return path


def warnings_of(make):
    """The messages of the warnings, all of which must name this file."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        make()
    assert all(warning.category is DeprecationWarning and warning.filename == __file__ for warning in caught)
    return [str(warning.message) for warning in caught]


def test_the_options_of_today_give_no_warning(plan):
    assert not warnings_of(lambda: Node("127.0.0.1:0", ["127.0.0.1:1"], security=Security(insecure=True)))
    assert not warnings_of(lambda: Node(system="planned", plan=PlanEntry(plan, name="n0")))


@pytest.mark.parametrize("make", [Node, SyncNode])
def test_seeds_is_deprecated_and_works_as_join(make):
    made = []
    told = warnings_of(lambda: made.append(make(seeds=["127.0.0.1:7400"])))
    assert told == ["Node(seeds=...) is deprecated; use Node(join=...)"]
    node = made[0]._node if make is SyncNode else made[0]
    assert node._discovery._join == ("127.0.0.1:7400",)


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("keys", "no-such-folder", "no-such-folder"),
        ("signatures", "strict", "`signatures` need a key"),
        ("rules", "rules.toml", "`rules` refer to the names in certificates"),
        ("secrets", {"t": b"s"}, "`secrets` needs system='stan'"),
    ],
)
def test_a_security_option_beside_the_group_is_deprecated_and_works(name, value, sentence):
    def make():
        with pytest.raises(InputError, match=sentence):
            Node(**{name: value})

    assert warnings_of(make) == [f"Node({name}=...) is deprecated; use Node(security=Security({name}=...))"]


def test_insecure_beside_the_group_is_deprecated_and_works():
    told = warnings_of(lambda: Node("0.0.0.0:0", insecure=True))
    assert told == ["Node(insecure=...) is deprecated; use Node(security=Security(insecure=...))"]


def test_a_plan_as_a_path_is_deprecated_and_works(plan):
    made = []
    told = warnings_of(lambda: made.append(Node(system="planned", plan=plan, name="n0", addresses={})))
    assert told == [
        "Node(name=...) is deprecated; use Node(plan=PlanEntry(path, name=...))",
        "Node(addresses=...) is deprecated; use Node(plan=PlanEntry(path, addresses=...))",
        "Node(plan=path) is deprecated; use Node(plan=PlanEntry(path, name=...))",
    ]
    assert made[0]._plan._addresses == {"127.0.0.1:1": "127.0.0.1:1"}


@pytest.mark.parametrize(
    "options",
    [
        {"join": ["127.0.0.1:1"], "seeds": ["127.0.0.1:1"]},
        {"security": Security(), "insecure": True},
        {"system": "planned", "plan": PlanEntry("peers.json"), "name": "n0"},
    ],
    ids=["join", "security", "plan"],
)
def test_an_option_in_its_old_and_its_new_place_is_refused(options):
    with pytest.warns(DeprecationWarning, match="is deprecated"), pytest.raises(InputError, match="give `"):
        Node(**options)


def test_an_unknown_keyword_is_a_type_error():
    with pytest.raises(TypeError, match="unexpected keyword argument 'sedes'"):
        Node(sedes=[])


def test_secrets_do_not_appear_in_the_text_of_a_value():
    assert "hidden" not in repr(Security(secrets={"t": b"hidden"}))
