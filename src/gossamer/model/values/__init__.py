"""Ids, time, keyed randomness, roles, runs, progress and errors; imports the standard library and msgspec only."""
