"""SpiderCast for a whole population: `state.py` has the state, `cycle.py` a maintenance turn."""
