"""Commands: they read flags, call one room, and print. Each imports its room only when it runs."""
