"""`data_in` finds the application messages in every protocol message that can carry them."""

from typing import Annotated, Any

import msgspec
import pytest
from msgspec import Meta, inspect

from gossamer.protocols.contract.messages import Burst, Data, WireMessage, data_in
from gossamer.protocols.delivery.recovery.messages import AgedAnswer, Answer, Ask, Past
from gossamer.protocols.dissemination.tree import TreeBurst, TreeData
from gossamer.systems.gossip.machine import GossipData
from gossamer.systems.push_pull.messages import PushPullBurst, PushPullData
from tests.stacks import all_parts

MESSAGES = [message for part in all_parts() for message in part.MESSAGES]
# A value, and the application messages in it.
Carrier = tuple[Any, list[Data]]


def data(sequence=1):
    return Data(7, 1, sequence, 0, 0, b"x")


def carriers(info: Any) -> list[Carrier]:
    """Values of an annotated type, each with application messages in one of the places that the annotations allow."""
    match info:
        case inspect.StructType(cls=kind, fields=fields):
            return [*_carried_by_itself(kind), *_carried_in_fields(kind, fields)]
        case inspect.VarTupleType() | inspect.CollectionType():
            return [((value,), found) for value, found in carriers(info.item_type)]
        case inspect.TupleType(item_types=items):
            return [
                ((*map(filler, items[:place]), value, *map(filler, items[place + 1 :])), found)
                for place, item in enumerate(items)
                for value, found in carriers(item)
            ]
        case inspect.DictType(key_type=key, value_type=item):
            return [({filler(key): value}, found) for value, found in carriers(item)]
        case inspect.UnionType(types=types):
            return [carrier for each in types for carrier in carriers(each)]
        case inspect.Metadata(type=inner):
            return carriers(inner)
    filler(info)
    return []


def _carried_by_itself(kind: type) -> list[Carrier]:
    if issubclass(kind, Data):
        message = kind(7, 1, 1, 0, 0, b"x")
        return [(message, [message])]
    if issubclass(kind, Burst):
        burst = kind(7, 1, 1, 0, ((0, b"x"), (0, b"y")))
        return [(burst, [burst.KIND(7, 1, 1, 0, 0, b"x"), burst.KIND(7, 1, 2, 0, 0, b"y", 1)])]
    return []


def _carried_in_fields(kind: type, fields: tuple[Any, ...]) -> list[Carrier]:
    fillers = {field.name: filler(field.type) for field in fields}
    return [(kind(**fillers | {field.name: value}), found) for field in fields for value, found in carriers(field.type)]


def filler(info: Any) -> Any:
    """A value of an annotated type without application messages."""
    match info:
        case inspect.IntType() | inspect.FloatType() | inspect.BoolType():
            return 0
        case inspect.BytesType() | inspect.StrType() | inspect.NoneType():
            return None
        case inspect.VarTupleType() | inspect.CollectionType() | inspect.DictType():
            return ()
        case inspect.TupleType(item_types=items):
            return tuple(map(filler, items))
        case inspect.UnionType(types=types):
            return filler(types[0])
        case inspect.StructType(cls=kind, fields=fields):
            return kind(*(filler(field.type) for field in fields))
        case inspect.Metadata(type=inner):
            return filler(inner)
        case inspect.EnumType(cls=kind):
            return next(iter(kind))
    raise AssertionError(f"a message field annotated with {info} hides what it carries; use another annotation")


def missed(kind: type) -> list[Any]:
    """Messages of a class in which `data_in` does not find all application messages."""
    return [message for message, found in carriers(inspect.type_info(kind)) if list(data_in(message)) != found]


@pytest.mark.parametrize("kind", MESSAGES, ids=lambda kind: kind.__name__)
def test_data_in_finds_all_that_a_message_class_can_carry(kind):
    assert not missed(kind)


def test_the_message_classes_that_carry_data_are_the_known_ones():
    carrying = {kind for kind in MESSAGES if carriers(inspect.type_info(kind))}
    assert carrying == {Data, TreeData, TreeBurst, GossipData, PushPullData, PushPullBurst, AgedAnswer, Answer, Past}


def test_messages_come_in_order_and_in_their_own_class():
    burst = TreeBurst(7, 1, 3, 0, ((0, b"x"), (0, b"y")), 1)
    assert [(each.sequence, each.previous, type(each)) for each in data_in(burst)] == [
        (3, 1, TreeData),
        (4, 3, TreeData),
    ]
    assert [each.sequence for each in data_in(Answer(7, 1, (data(1), data(2))))] == [1, 2]
    assert not data_in(Ask(7, 1, 0, 5))


class Pair(msgspec.Struct):
    number: int
    carried: Data | None = None


class Deep(WireMessage, frozen=True, array_like=True, tag="test_deep"):
    """Carries application messages in every way that annotations can say."""

    number: int
    direct: Data | int = 0
    bounded: Annotated[tuple[tuple[int, Data], ...], Meta(max_length=5)] = ()
    pairs: tuple[Pair, ...] = ()
    by_topic: dict[int, Burst] = msgspec.field(default_factory=dict)
    anything: Any = None


class Disguised(Data, frozen=True, array_like=True, tag="test_disguised"):
    """An application message with another one inside."""

    inner: Data | None = None


def test_data_is_found_at_any_depth():
    burst = TreeBurst(7, 1, 4, 0, ((0, b"x"), (0, b"y")))
    deep = Deep(0, data(1), ((5, data(2)),), (Pair(0, data(3)), Pair(0)), {7: burst}, [(data(6),)])
    assert [each.sequence for each in data_in(deep)] == [1, 2, 3, 4, 5, 6]


def test_the_check_of_message_classes_detects_a_class_that_escapes():
    assert [type(message) for message in missed(Disguised)] == [Disguised]
    with pytest.raises(AssertionError, match="hides what it carries"):
        missed(Deep)
