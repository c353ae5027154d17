"""Compiled parts of the central planners. `state.py` says what is kept, `greedy.py` decides."""
