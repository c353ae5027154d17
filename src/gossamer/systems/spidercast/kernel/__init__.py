"""SpiderCast for a whole population. `state.py` says what is kept, `cycle.py` what a turn does."""
