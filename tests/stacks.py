"""All possible stacks of a node, for tests that cover all parts, messages and timers."""

import msgspec

from gossamer.protocols.contract.record import RecordedView
from gossamer.protocols.contract.system import read_parameters
from gossamer.systems import all_disseminations, all_systems, make_machine


def stacks():
    """A machine of every possible stack: each system with each membership, dissemination, and recovery if possible."""
    for system in all_systems().values():
        if system.is_central:
            continue
        known = {each.name for each in msgspec.structs.fields(system.parameters)}
        for membership in ("oracle", "cyclon") if "membership" in known else ("",):
            parameters = read_parameters(system, {"membership": membership} if membership else {})
            view = RecordedView() if system.takes_view(parameters) else None
            yield make_machine(system, parameters, 1, 1, view)
            for dissemination in all_disseminations().values():
                if system.carries(dissemination):
                    recovery = {} if system.recovers else None
                    yield make_machine(system, parameters, 1, 1, view, dissemination.name, {}, recovery)


def all_parts():
    """The class of every part of any stack."""
    return list(dict.fromkeys(part for machine in stacks() for part in machine.part_classes))
