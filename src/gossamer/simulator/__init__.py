"""Simulations in virtual time: event engine, cycle engine, lockstep driver, faults, checkers and measures."""
