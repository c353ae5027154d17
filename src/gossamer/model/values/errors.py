"""Every exception that Gossamer raises on purpose.

GossamerError
|-- InputError          the user's flag, file or value is wrong: one sentence, exit code 2
|   `-- TableError      a table does not match its schema: lists missing and present columns
|-- NodeStateError      a live node was used before it was started, after it was stopped, or was started twice
|-- MissingExtra        the command needs an extra that is not installed: says which
|-- MachineMisuse       a driver broke the machine contract: a bug in Gossamer
|-- CheckFailed         a checker saw a simulation do what must never happen: a bug in a protocol
`-- PeerError           a peer misbehaved: never raised past `live`
"""


class GossamerError(Exception):
    """The root of the tree."""


class InputError(GossamerError):
    """What the user gave is wrong; the message says what was expected, what came, what to do."""


class TableError(InputError):
    """A table does not match its schema."""


class NodeStateError(GossamerError, RuntimeError):
    """A live node, or a subscription of it, is not in the state that the call needs; the message says which."""


class MissingExtra(GossamerError):
    """A command needs an optional dependency."""


class MachineMisuse(GossamerError):
    """A driver handed a machine something the contract does not allow."""


class CheckFailed(GossamerError):
    """A machine did what must never happen."""


class PeerError(GossamerError):
    """A peer sent what it must not; the live driver catches this and drops the peer."""
