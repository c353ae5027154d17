"""Feverfew for a whole population: `state.py` has the state, `cycle.py` the three turns of a cycle."""
