"""Ids, time, keyed randomness, roles, runs and errors: standard library and msgspec only."""
