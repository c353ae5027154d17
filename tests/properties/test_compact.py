"""The compact form of every message class: exact in both directions, whatever was defined before on the link."""

from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Union, get_args, get_origin

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.live.transport import wire
from gossamer.live.transport.queues import Parcel, SendQueue
from gossamer.model.values.errors import MachineMisuse
from gossamer.model.values.ids import Meaning
from gossamer.protocols.contract import compact
from gossamer.protocols.contract.compact import NUMBERS, Writer
from gossamer.protocols.contract.forms import TAGS, tag_of
from gossamer.protocols.contract.messages import WireMessage
from gossamer.protocols.delivery.announcements import MessageRun
from gossamer.protocols.dissemination.tree_messages import Prune, TreeData
from tests.stacks import all_parts

CLASSES = tuple(dict.fromkeys(message for part in all_parts() for message in part.MESSAGES))
# Few ids, so that they repeat, among them those that look like numbers.
IDS = st.sampled_from([0, 1, 5, NUMBERS - 1, NUMBERS, 2**32, 2**63, 2**64 - 1]) | st.integers(0, 2**64 - 1)
PLAIN = {
    int: st.integers(0, 2**62),
    float: st.floats(allow_nan=False),
    bytes: st.binary(max_size=5),
    bool: st.booleans(),
    NoneType: st.none(),
}
NEAR = [0, 1, 127, 2**16, 2**32, 2**50, 2**50 + 1, 2**50 + 2**32, 2**50 + 2**33]


def values(annotation):
    """Values of a type that a field of a message may have."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return restricted(arguments[0], arguments[1:])
    if origin in (Union, UnionType):
        return st.one_of(*map(values, arguments))
    if origin is tuple and arguments[-1] is Ellipsis:
        return st.lists(values(arguments[0]), max_size=3).map(tuple)
    if origin is tuple:
        return st.tuples(*map(values, arguments))
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        return st.builds(annotation, *(values(field.type) for field in msgspec.structs.fields(annotation)))
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return st.sampled_from(annotation)
    return PLAIN[annotation]


def restricted(kind, marks):
    if Meaning.NODE in marks or Meaning.TOPIC in marks:
        return IDS
    [meta] = [each for each in marks if isinstance(each, msgspec.Meta)]
    if kind is int:
        least, most = meta.ge or 0, meta.le if meta.le is not None else 2**62
        near = [each for each in (*NEAR, most) if least <= each <= most]
        return st.sampled_from(near) | st.integers(least, most)
    if get_origin(kind) is tuple:
        inner = values(get_args(kind)[0])
        return st.lists(inner, min_size=meta.min_length or 0, max_size=min(meta.max_length, 3)).map(tuple)
    return values(kind)


class Ends:
    """A writer, and links from it that come and go, each with its own reader."""

    def __init__(self, links, numbered=True):
        self.writer = Writer(numbered)
        self.links = [self.connect() for _ in range(links)]

    def connect(self):
        queue = SendQueue(2**20, self.writer)
        queue.version = 3
        return queue, compact.make_reader(CLASSES)

    def carry(self, link, messages):
        """The messages that arrive when these are sent on a link."""
        queue, read = self.links[link]
        queue.add(Parcel(messages))
        content, arrived = queue.take(), []
        while content:
            end = 4 + int.from_bytes(content[:4], "big")
            arrived += [message for message in read(content[4:end]) if message is not None]
            content = content[end:]
        return arrived


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
@given(data=st.data())
@settings(max_examples=10, deadline=None)
def test_every_message_arrives_as_it_was_sent(kind, data):
    ends = Ends(2, numbered=data.draw(st.booleans()))
    for _ in range(3):
        messages = data.draw(st.lists(values(kind), min_size=1, max_size=4))
        assert ends.carry(data.draw(st.integers(0, 1)), messages) == messages


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_links_that_come_and_go_and_a_writer_that_begins_anew_change_no_message(data):
    ends = Ends(3)
    kinds = st.one_of(values(TreeData), values(TreeData), *(values(kind) for kind in CLASSES[:8]))
    for _ in range(data.draw(st.integers(1, 12))):
        link = data.draw(st.integers(0, 2))
        step = data.draw(st.sampled_from(["send", "send", "send", "reconnect", "begin anew"]))
        if step == "reconnect":
            ends.links[link] = ends.connect()
        elif step == "begin anew":
            ends.writer._begin_anew()
        else:
            messages = data.draw(st.lists(kinds, min_size=1, max_size=3))
            assert ends.carry(link, messages) == messages


def message(index, topics, publishers):
    return TreeData(
        2**40 + index % topics, 2**50 + index % publishers, 2**50 + index, 0, 2**50, b"x", 2**50 + index - 1
    )


def test_ids_beyond_the_bound_are_written_in_full_until_the_writer_begins_anew():
    ends = Ends(1)
    for index in range(3 * NUMBERS):
        sent = [message(index, 2 * NUMBERS, 2 * NUMBERS)]
        assert ends.carry(0, sent) == sent
    assert (len(ends.writer.topics), ends.writer.era) == (NUMBERS, 0)
    for index in range(compact.MESSAGES_BETWEEN):
        ends.writer.encode([message(index, 10, 10)])
    assert ends.writer.era == 1
    assert len(ends.writer.topics) == 10
    sent = [message(3, 10, 10)]
    assert ends.carry(0, sent) == sent


def test_a_number_that_is_defined_again_has_its_new_meaning():
    ends = Ends(1)
    for era in range(3):
        for index in range(5):
            sent = [TreeData(2**40 + era, 2**50 + era, 2**50 + index, 0, 2**50, b"x")]
            assert ends.carry(0, sent) == sent
        assert len(ends.links[0][0]._told) == 2
        ends.writer._begin_anew()


def test_a_publisher_gets_a_new_base_when_a_number_or_a_time_no_longer_fits_four_bytes():
    writer = Writer()
    for sequence, time_us in ((100, 100), (2**32, 100), (2**33, 100), (2**33, 2**33), (5, 2**33), (2**33 + 7, 5)):
        writer.encode([TreeData(2**40, 2**50, sequence, 0, time_us, b"")])
    assert (writer.publishers[2**50].sequence, writer.publishers[2**50].time_us) == (2**33, 2**33)
    assert writer._publisher_count == 3


def test_names_of_messages_are_short():
    writer = Writer()
    names = tuple(MessageRun(2**63 + each % 40, 2**64 - 1 - each % 50, 2**50 + each) for each in range(1, 100))
    writer.encode(names)
    assert len(b"".join(writer.encode(names)[0])) <= 7 * len(names)
    assert len(wire.encode(names)) > 28 * len(names)


def test_two_messages_of_a_stack_never_have_the_same_tag():
    class Other(WireMessage, frozen=True, array_like=True, gc=False, tag="tree_prune"):
        pass

    with pytest.raises(MachineMisuse, match="Other and Prune have the same tag number"):
        compact.make_reader((Prune, Other))


def test_every_message_class_has_a_tag_of_its_own():
    tags = [tag_of(kind.__struct_config__.tag) for kind in CLASSES]
    assert len(set(tags)) == len(tags)
    assert len(set(TAGS.values())) == len(TAGS)
    assert set(TAGS) <= {kind.__struct_config__.tag for kind in CLASSES} | {"bye"}
    assert {0, 1}.isdisjoint(tags)
