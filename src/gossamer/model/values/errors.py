"""Every exception that Gossamer raises on purpose.

GossamerError
|-- InputError          (also a ValueError) a value, a file or an option given by the user is wrong: exit code 2
|   `-- TableError      a table does not match its schema: lists missing and present columns
|-- NodeStateError      a live node was used before it was started, after it was stopped, or was started twice
|-- NotAllowed          the rules, the certificate or a validator of a live node forbid a publication or a subscription
|-- NoReply             (also a TimeoutError) no node replied to a request in time
|-- MissingExtra        the command needs an extra that is not installed: says which
|-- MachineMisuse       a driver broke the machine contract: a bug in Gossamer
|-- CheckFailed         a checker saw a simulation break an invariant: a bug in a protocol
`-- PeerError           a peer misbehaved: never raised past `live`

InputWarning (a UserWarning) says what is odd about an input that is read all the same.

A message says what was expected, what was given and what to do. It names fields and arguments of the library (`loss`,
engine='event'), never command-line flags: the command line turns them into its own flags before it prints the message.
"""


class GossamerError(Exception):
    """The base class of every error that Gossamer raises on purpose."""


class InputError(GossamerError, ValueError):
    """A value, a file or an option that the user gave is wrong."""


class TableError(InputError):
    """A table does not match its schema."""


class InputWarning(UserWarning):
    """Something is odd about an input that is read all the same."""


class NodeStateError(GossamerError, RuntimeError):
    """A live node, or a subscription of it, is not in the state that the call needs; the message says which."""


class NotAllowed(GossamerError):
    """This node's own access rules, certificate or validators forbid a publication or a subscription."""


class NoReply(GossamerError, TimeoutError):
    """No node replied to a request in time; the message says whether the request was sent."""


class MissingExtra(GossamerError):
    """A command needs an optional dependency that is not installed."""


class MachineMisuse(GossamerError):
    """A driver called a machine in a way that the contract does not allow."""


class CheckFailed(GossamerError):
    """A simulation broke an invariant."""


class PeerError(GossamerError):
    """A peer sent something that it must not send; the live driver catches this error and drops the peer."""
