"""A scripted machine and transport for tests of the driver."""

from gossamer.protocols.contract.messages import Data
from gossamer.protocols.dissemination.flood import Flood
from tests.decoding import PART_CLASSES


class Scripted:
    """A machine that answers with given actions, and a transport that keeps the messages."""

    part_classes = (*PART_CLASSES, Flood)

    def __init__(self, answers, refuses=()):
        self.answers = iter(answers)
        self.refuses = refuses
        self.events = []
        self.sent = []
        # Whether the links flush at the end of the turn.
        self.gathers = True

    def handle(self, event, now_us):
        self.events.append((now_us, event))
        return next(self.answers, ())

    def send(self, sender, node, address, parcel, patient=True):
        self.sent += [(node, address, message) for message in parcel.messages]
        return "peer does not read" if node in self.refuses else None

    def end_event(self):
        pass

    def gather(self, nodes):
        pass

    def has_proved(self, node, address):
        return True

    def is_gathering(self, nodes):
        return self.gathers

    def disconnect(self, driver, node):
        self.sent.append((node, b"", "disconnected"))

    def open(self, driver):
        pass

    close = open


def data(number):
    return Data(7, 9, number, 0, 0, b"%d" % number)
