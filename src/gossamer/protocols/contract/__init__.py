"""The machine contract: what a machine is told, what it answers, and how its parts meet.

    handle(event, now_us) -> actions
    same parameters + same seed + same (event, now_us) sequence  =>  same actions

Everything that crosses the line is a frozen value that msgpack can carry, so that a record of a run
replays into a fresh machine, and a message is its own wire format.
"""
