"""Compiled code of the central planners: `state.py` has the components of topics, `greedy.py` chooses links."""
