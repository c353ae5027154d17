"""Simulations in virtual time: the event engine, the cycle engine, the lockstep driver, faults, checkers and measures."""
