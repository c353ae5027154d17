"""The machine contract: events that a machine receives, actions that it returns, and how its parts work together.

    handle(event, now_us) -> actions
    same parameters + same seed + same (event, now_us) sequence  =>  same actions

Events, actions and messages are immutable values that msgpack can encode. Therefore a recorded run can be replayed into
a new machine, and the message classes are also the wire format.
"""
