"""Virtual time: the event engine, the lockstep driver, the cycle engine, and all that watches or disturbs them."""
