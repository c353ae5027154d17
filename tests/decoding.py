"""Decoders for tests that read messages of the stack that live nodes run by default."""

from gossamer.live.api.stacks import find_stack
from gossamer.live.transport import wire
from gossamer.protocols.contract.record import StackDecoder
from gossamer.systems import DEFAULT_SYSTEM, make_machine

_STACK = find_stack(DEFAULT_SYSTEM)
PART_CLASSES = make_machine(
    _STACK.system, _STACK.parameters, 1, 1, dissemination=_STACK.dissemination, recovery={}
).part_classes

decode_message = StackDecoder(PART_CLASSES).message
# As a live node reads frames after the first: messages of its stack, or a `Bye`.
decode_frame = wire.message_decoder(PART_CLASSES).decode
